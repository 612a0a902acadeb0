#include "generator/planner/stream.h"

#include <algorithm>
#include <iterator>

#include "generator/planner/bulk.h"
#include "generator/planner/default_tile.h"
#include "generator/planner/next_start.h"
#include "generator/planner/scale_mode.h"
#include "generator/planner/stage.h"
#include "generator/planner/stream_many_warps.h"
#include "generator/planner/stream_shape.h"
#include "generator/planner/stream_warps.h"
#include "generator/planner/wgmma.h"
#include "generator/planner/wgmma_shares.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

// Upper ends of the M ranges that get a kernel of their own.
constexpr std::int64_t kRangeEnds[] = {2, 4, 8, 16};
// Of an SM, of more than kDirectTokens tokens: tiles of 16 tokens may be faster from there on.
constexpr int kFewRowBlocks = 3;
constexpr int kMostSplit = 8;  // blocks of a cluster, on every GPU that has them
// Four blocks with so many chunks each are faster than two: exchanging sums costs less than the
// more tokens of each.
constexpr int kLongChunks = 28;
// Chunks of a row that tiles are faster with: a stream has as many warps at most.
constexpr int kTinyRow = 8;
// Of a block, where blocks share K because there are SMs without a row block.
constexpr int kFewestChunks = 12;

bool same(const std::optional<int>& wanted, int value) { return !wanted || *wanted == value; }

bool honours(const TileSpec& tile, const GemmVariant& v) {
  return same(tile.m, v.tile_m) && same(tile.n, v.tile_n) && same(tile.k, v.stage_k) &&
         same(tile.stages, v.stages) && same(tile.split_k, v.split_k) &&
         same(tile.warps_m, v.warps_m) && same(tile.warps_n, v.warps_n) &&
         same(tile.warps_k, v.warps_k);
}

// One for each SM, that of the next kernel each gets one block, too, none two. GPCs have even
// numbers of SMs, but not multiples of four: some SMs no larger cluster reaches.
int workers(const Target& target, const WeightLayout& layout, const GemmVariant& v) {
  if (v.cluster <= kSharers) return target.sm_count / v.cluster * v.cluster;
  const std::int64_t sms = target.sm_count * 10 / 11;
  return static_cast<int>(std::min(sms, layout.row_blocks * v.split_k)) / v.cluster * v.cluster;
}

// K among `split` blocks of a cluster.
bool share_out(const GemmSpec& spec, const Target& target, const WeightLayout& layout, int split,
               GemmVariant& v) {
  const bool has_clusters = has_multicast(target);
  const int chunks = layout.chunks_per_row_block / split;
  if (chunks < 1 || split > kMostSplit || (split > 1 && !has_clusters)) return false;
  v.split_k = split;
  const WarpStages stages = choose_stream_warps(spec.tile, layout, split);
  v.warps_k = stages.warps;
  v.stage_chunks = stages.chunks;
  const bool share = v.tile_m > kDirectTokens && has_clusters && layout.row_blocks >= kSharers;
  v.cluster = split > 1 ? split : share ? kSharers : 1;
  v.workers = workers(target, layout, v);
  if (v.workers == 0) return false;
  v.tile_n = WeightLayout::kRowBlock;
  v.stage_k = v.stage_chunks * WeightLayout::kChunkK * v.warps_k;
  if (take_many_warps(spec, target, layout, v)) return true;
  return fit_stream(spec, target, layout, v);
}

// Shorter stages, or K among two blocks, if only then the next kernel may start: three to eight
// tokens lose nothing by it, one or two up to 13 %.
void leave_room(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                GemmVariant& v) {
  if (v.m_max <= 2 || v.m_max > kDirectTokens || sets_any(spec.tile)) return;
  const auto leaves = [&](const GemmVariant& way) {
    if (!lets_next_start(way, layout, target)) return false;
    v = way;
    return true;
  };
  for (int split = v.split_k; split <= kSharers; ++split) {
    GemmVariant way = v;
    if (split != v.split_k && !share_out(spec, target, layout, split, way)) return;
    if (leaves(way)) return;
    if (way.stage_chunks % 2 != 0) continue;
    way.stage_chunks /= 2;
    way.stage_k /= 2;
    if (fit_stream(spec, target, layout, way) && leaves(way)) return;
  }
}

// Of the ways to share K among the blocks of a cluster the first whose tokens fit; more blocks
// where there would be SMs without a row block.
bool choose_split(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                  GemmVariant& v) {
  if (spec.tile.split_k) return share_out(spec, target, layout, *spec.tile.split_k, v);
  for (int split = 1; split <= kMostSplit; split *= 2) {
    const int twice = 2 * split;
    const bool idle = twice * layout.row_blocks <= target.sm_count && twice <= kMostSplit &&
                      twice * kFewestChunks <= layout.chunks_per_row_block;
    const bool small = split == 2 && layout.chunks_per_row_block >= 4 * kLongChunks;
    if (idle || small || !share_out(spec, target, layout, split, v)) continue;
    if (split <= kSharers) leave_room(spec, target, layout, v);
    return true;
  }
  return false;
}

// What a stream of more than kDirectTokens tokens takes, in clocks of an SM of an H200 and in
// excess of a launch, as wgmma_clocks() counts; fitted to 4-bit weights in
// docs/measurements/streams.md, others taken to be decoded no faster. Blocks that share K exchange
// sums.
double stream_clocks(const GemmVariant& v, const WeightLayout& layout) {
  constexpr double kStart = 1500, kExchange = 2600, kBytes = 13.3, kWeights = 25.8;  // a clock
  const double bytes = static_cast<double>(layout.total_bytes);
  const double weights = static_cast<double>(layout.row_blocks * WeightLayout::kRowBlock) *
                         layout.chunks_per_row_block * WeightLayout::kChunkK;
  const double of_launch = std::max(bytes / kBytes, weights / kWeights);
  const auto busy =
      static_cast<double>(std::min<std::int64_t>(v.workers, layout.row_blocks * v.split_k));
  return kStart + of_launch / busy + (v.split_k > 1 ? kExchange : 0);
}

// More tokens take longer to come than those of tiles, which have no need of all at once; and eight
// at a time, decoding does not keep up with tiles that multiply beside it. But rows do not always
// make whole rounds of tiles.
bool tiles_are_faster(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                      const GemmVariant& v) {
  if (v.m_max <= kDirectTokens || sets_any(spec.tile)) return false;
  if (!wgmma_serves(spec, target, v.m_min)) return false;
  if (wgmma_pairs_fill(spec, target, layout, v.m_min, v.m_max)) return true;
  // Scales that multiply the weights keep tiles from mma.sync.
  if (v.scale_mode == ScaleMode::kWeight) return v.split_k > 1;
  const std::int64_t row_blocks = ceil_div(layout.row_blocks, v.workers);
  if (v.split_k == 1 && row_blocks <= kFewRowBlocks) return false;
  const GemmVariant tiles = wgmma_variant(spec, target, layout, v.m_min, v.m_max);
  return wgmma_clocks(tiles, layout) < stream_clocks(v, layout);
}

}  // namespace

std::optional<GemmVariant> stream_variant(const GemmSpec& spec, const Target& target,
                                          const WeightLayout& layout, std::int64_t m_min) {
  const bool asked = spec.path == Path::kHopper;
  // A tile of the user's is one of those that walk the output, unless the path says otherwise.
  const bool fitting = spec.path == Path::kAuto && has_bulk_copies(target) && !sets_any(spec.tile);
  if ((!asked && !fitting) || spec.weight.zero_point == ZeroPoint::kFloat) return std::nullopt;
  const auto* const end = std::lower_bound(std::begin(kRangeEnds), std::end(kRangeEnds), m_min);
  if (end == std::end(kRangeEnds)) return std::nullopt;
  GemmVariant v;
  v.m_min = m_min;
  v.m_max = std::min(*end, spec.shape.m_max);
  const bool tiny = layout.chunks_per_row_block <= kTinyRow && v.m_max <= kDirectTokens;
  if (tiny && !asked) return std::nullopt;
  v.path = Path::kHopper;
  v.kernel = GemmKernel::kStream;
  v.tile_m = static_cast<int>(ceil_div(v.m_max, kTokenTile)) * kTokenTile;
  settle_scale(spec, layout, v);
  if (!choose_split(spec, target, layout, v) || !honours(spec.tile, v)) return std::nullopt;
  const std::int64_t range_end = std::min(m_range_end(m_min), spec.shape.m_max);
  const auto bulk = bulk_variant(spec, target, layout, m_min, range_end);
  if (bulk && !many_warps_beat_bulk(spec, v, *bulk)) return std::nullopt;
  if (tiles_are_faster(spec, target, layout, v)) return std::nullopt;
  return v;
}

}  // namespace heddle

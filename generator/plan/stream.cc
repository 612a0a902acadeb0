#include "generator/plan/stream.h"

#include <algorithm>
#include <iterator>

#include "generator/plan/bulk.h"
#include "generator/plan/default_tile.h"
#include "generator/plan/scale_mode.h"
#include "generator/plan/stage.h"
#include "generator/plan/stream_shape.h"
#include "generator/plan/wgmma.h"
#include "generator/plan/wgmma_shares.h"

namespace heddle {
namespace {

// Upper ends of the M ranges that get a kernel of their own.
constexpr std::int64_t kRangeEnds[] = {2, 4, 8, 16};
constexpr int kFewestWarps = 6;
// Where instructions set the pace: twice as many hide what each waits for. They fill an SM.
constexpr int kMostWarps = 16;
// Copies of this size reach the full rate of the memory, smaller ones do not.
constexpr int kStageBytes = 4224;
constexpr int kMostStageChunks = 8;   // they are unrolled
constexpr int kShortStageChunks = 4;  // the least of many warps
// Row blocks from which on many warps gain more than the next kernel loses, which starts no block
// beside theirs.
constexpr int kManyRowBlocks = 8;
constexpr int kSharers = 2;  // blocks that read more than kDirectTokens tokens for each other
// Of an SM, of more than kDirectTokens tokens: tiles of 16 tokens may be faster from there on.
constexpr int kFewRowBlocks = 3;
constexpr int kMostSplit = 8;  // blocks of a cluster, on every GPU that has them
// Four blocks with so many chunks each are faster than two: exchanging sums costs less than the
// more tokens of each.
constexpr int kLongChunks = 28;
// Rows of more chunks than this are followed by kernels of shorter ones, a block of which takes so
// much shared memory with up to kFewTokens tokens.
constexpr int kLongRow = 64;
// Where short stages and short copies cost more than what bulk needs to start; nothing shorter was
// measured.
constexpr int kLongestRow = 224;
constexpr int kFewTokens = 4;
constexpr int kNextBytes = 106 * 1024;

bool same(const std::optional<int>& wanted, int value) { return !wanted || *wanted == value; }

bool honours(const TileSpec& tile, const GemmVariant& v) {
  return same(tile.m, v.tile_m) && same(tile.n, v.tile_n) && same(tile.k, v.stage_k) &&
         same(tile.stages, v.stages) && same(tile.split_k, v.split_k) &&
         same(tile.warps_m, v.warps_m) && same(tile.warps_n, v.warps_n) &&
         same(tile.warps_k, v.warps_k);
}

// Chunks of a stage: the nearest to a good copy.
int good_stage_chunks(const WeightLayout& layout, int of_warp) {
  const int nearest = (kStageBytes + layout.chunk_bytes / 2) / layout.chunk_bytes;
  return std::clamp(nearest, 1, std::min(of_warp, kMostStageChunks));
}

// The same, fewer by one where that leaves no short stage.
int choose_stage_chunks(const WeightLayout& layout, int of_warp) {
  const int chunks = good_stage_chunks(layout, of_warp);
  return of_warp % chunks != 0 && chunks > 1 && of_warp % (chunks - 1) == 0 ? chunks - 1 : chunks;
}

// The most warps that have equal shares of so many chunks; 0 if none have.
int even_warps(int chunks) {
  int warps = kUsualStreamWarps;
  while (warps >= kFewestWarps && chunks % warps != 0) --warps;
  return warps >= kFewestWarps ? warps : 0;
}

// As many warps as have equal shares of a block's chunks, in whole stages if any can.
int choose_warps(const TileSpec& tile, const WeightLayout& layout, int chunks) {
  if (tile.warps_k) return std::min({*tile.warps_k, chunks, kMostWarps});
  for (int warps = kUsualStreamWarps; warps >= kFewestWarps; --warps) {
    if (chunks % warps != 0) continue;
    if (chunks / warps % choose_stage_chunks(layout, chunks / warps) == 0) return warps;
  }
  const int even = even_warps(chunks);
  return even > 0 ? even : std::min(kUsualStreamWarps, chunks);
}

// Instructions set the pace of scales of 8 bits in small groups.
bool wants_many_warps(const GemmSpec& spec, const WeightLayout& layout, const GemmVariant& v) {
  return !spec.tile.warps_k && v.split_k == 1 && has_small_scales(spec.weight) &&
         layout.meta_group <= 32 && ceil_div(layout.row_blocks, v.workers) >= kManyRowBlocks;
}

// All of them with as many whole stages of a good length, if that is possible.
bool fit_many_warps(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                    GemmVariant& v) {
  if (layout.chunks_per_row_block % kMostWarps != 0) return false;
  const int of_warp = layout.chunks_per_row_block / kMostWarps;
  const int longest = std::min(of_warp, kStageBytes / layout.chunk_bytes + 1);
  for (int chunks = longest; chunks >= kShortStageChunks; --chunks) {
    if (of_warp % chunks != 0) continue;
    GemmVariant many = v;
    many.warps_k = kMostWarps;
    many.stage_chunks = chunks;
    many.stage_k = chunks * WeightLayout::kChunkK * kMostWarps;
    if (!fit_stream(spec, target, layout, many)) continue;
    v = many;
    return true;
  }
  return false;
}

// Whether every SM has room for a block of the next kernel beside this one's.
bool leaves_room(const GemmVariant& v, const Target& target) {
  return v.cluster <= kSharers &&
         v.shared_bytes + kNextBytes + 2 * kBlockReserve <= target.shared_per_sm;
}

// K among `split` blocks of a cluster.
bool share_out(const GemmSpec& spec, const Target& target, const WeightLayout& layout, int split,
               GemmVariant& v) {
  const bool has_clusters = target.arch() < 120;  // that copy to all of their blocks at once
  const int chunks = layout.chunks_per_row_block / split;
  if (chunks < 1 || split > kMostSplit || (split > 1 && !has_clusters)) return false;
  v.split_k = split;
  v.warps_k = choose_warps(spec.tile, layout, chunks);
  v.stage_chunks = choose_stage_chunks(layout, stream_chunks_of_warp(layout, v));
  const bool share = v.tile_m > kDirectTokens && has_clusters && layout.row_blocks >= kSharers;
  v.cluster = split > 1 ? split : share ? kSharers : 1;
  // GPCs have even numbers of SMs, but not multiples of four: some SMs no larger cluster reaches.
  const int sms = v.cluster > 2 ? target.sm_count * 10 / 11 : target.sm_count;
  v.workers = static_cast<int>(std::min<std::int64_t>(sms, layout.row_blocks * split)) / v.cluster *
              v.cluster;
  if (v.workers == 0) return false;
  v.tile_n = WeightLayout::kRowBlock;
  v.stage_k = v.stage_chunks * WeightLayout::kChunkK * v.warps_k;
  if (wants_many_warps(spec, layout, v) && fit_many_warps(spec, target, layout, v)) return true;
  return fit_stream(spec, target, layout, v);
}

// K among two blocks, if only then the next kernel may start: three or four tokens lose nothing by
// it, one or two up to 13 %.
void leave_room(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                GemmVariant& v) {
  if (v.m_max <= 2 || lets_next_start(v, layout, target)) return;
  GemmVariant shared = v;
  const bool fits = share_out(spec, target, layout, 2, shared);
  if (fits && lets_next_start(shared, layout, target)) v = shared;
}

// Of the ways to share K among the blocks of a cluster the first whose tokens fit; more blocks
// where there would be SMs without a row block.
bool choose_split(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                  GemmVariant& v) {
  if (spec.tile.split_k) return share_out(spec, target, layout, *spec.tile.split_k, v);
  for (int split = 1; split <= kMostSplit; split *= 2) {
    const int twice = 2 * split;
    const bool idle = twice * layout.row_blocks <= target.sm_count && twice <= kMostSplit &&
                      twice * kUsualStreamWarps <= layout.chunks_per_row_block;
    const bool small = split == 2 && layout.chunks_per_row_block >= 4 * kLongChunks;
    if (idle || small || !share_out(spec, target, layout, split, v)) continue;
    if (split == 1) leave_room(spec, target, layout, v);
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
  return kStart + of_launch / v.workers + (v.split_k > 1 ? kExchange : 0);
}

// More tokens take longer to come than those of tiles, which have no need of all at once; and eight
// at a time, decoding does not keep up with tiles that multiply beside it. But rows do not always
// make whole rounds of tiles.
bool tiles_are_faster(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                      const GemmVariant& v) {
  if (v.m_max <= kDirectTokens || sets_any(spec.tile)) return false;
  if (!wgmma_serves(spec, target, v.m_min)) return false;
  // Scales that multiply the weights keep tiles from mma.sync.
  if (v.scale_mode == ScaleMode::kWeight) return v.split_k > 1;
  const std::int64_t row_blocks = ceil_div(layout.row_blocks, v.workers);
  if (v.split_k == 1 && row_blocks <= kFewRowBlocks) return false;
  const GemmVariant tiles = wgmma_variant(spec, target, layout, v.m_min, v.m_max);
  return wgmma_clocks(tiles, layout) < stream_clocks(v, layout);
}

}  // namespace

bool stream_shares_evenly(const WeightLayout& layout) {
  const int chunks = layout.chunks_per_row_block;
  if (chunks < kLongestRow) return even_warps(chunks) > 0;
  for (int warps = kUsualStreamWarps; warps >= kFewestWarps; --warps) {
    const int of_warp = chunks / warps;
    if (chunks % warps == 0 && of_warp % good_stage_chunks(layout, of_warp) == 0) return true;
  }
  return false;
}

bool lets_next_start(const GemmVariant& v, const WeightLayout& layout, const Target& target) {
  return v.m_max > kFewTokens || layout.chunks_per_row_block <= kLongRow || leaves_room(v, target);
}

std::optional<GemmVariant> stream_variant(const GemmSpec& spec, const Target& target,
                                          const WeightLayout& layout, std::int64_t m_min) {
  const bool asked = spec.path == Path::kHopper;
  // A tile of the user's is one of those that walk the output, unless the path says otherwise.
  const bool fitting = spec.path == Path::kAuto && target.arch() >= 90 && !sets_any(spec.tile);
  if ((!asked && !fitting) || spec.weight.zero_point == ZeroPoint::kFloat) return std::nullopt;
  const auto* const end = std::lower_bound(std::begin(kRangeEnds), std::end(kRangeEnds), m_min);
  if (end == std::end(kRangeEnds)) return std::nullopt;
  GemmVariant v;
  v.m_min = m_min;
  v.m_max = std::min(*end, spec.shape.m_max);
  v.path = Path::kHopper;
  v.kernel = GemmKernel::kStream;
  v.tile_m = static_cast<int>(ceil_div(v.m_max, kTokenTile)) * kTokenTile;
  settle_scale(spec, layout, v);
  if (!choose_split(spec, target, layout, v) || !honours(spec.tile, v)) return std::nullopt;
  const std::int64_t range_end = std::min(m_range_end(m_min), spec.shape.m_max);
  if (bulk_variant(spec, target, layout, m_min, range_end)) return std::nullopt;
  if (tiles_are_faster(spec, target, layout, v)) return std::nullopt;
  return v;
}

}  // namespace heddle

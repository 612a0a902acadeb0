#include "generator/plan/stream.h"

#include <algorithm>
#include <iterator>

#include "generator/plan/default_tile.h"
#include "generator/plan/stage.h"

namespace heddle {
namespace {

// Upper ends of the M ranges that get a kernel of their own.
constexpr std::int64_t kRangeEnds[] = {2, 4, 8};
// Two for each part of an SM: with two blocks on an SM, as many registers as a thread can want.
constexpr int kMostWarps = 8;
constexpr int kFewestWarps = 6;
// Copies of this size reach the full rate of the memory, smaller ones do not.
constexpr int kStageBytes = 4224;
constexpr int kMostStageChunks = 8;  // they are unrolled
// More on its way than this makes the tokens come later.
constexpr int kRingBytes = 72 * 1024;
constexpr int kMostStages = 8;
// Two blocks read the tokens together. GPCs have even numbers of SMs, but not multiples of four.
constexpr int kCluster = 2;
// From so many row blocks of a block on, what folding the bias saves in each outweighs the sums of
// the tokens that it needs at the start.
constexpr int kManyBlocks = 8;
constexpr int kBlockReserve = 1024;  // bytes of shared memory that the system takes of each block

// The same arithmetic as templates/gemm/stream_shape.cuh, which checks the result.
int shared_bytes_of(const GemmSpec& spec, const GemmVariant& v, const WeightLayout& layout,
                    int of_warp) {
  constexpr int kSlots = 2;
  const int tokens = static_cast<int>(v.m_max);
  const int sums = 128 * ((tokens + 1) / 2);
  const int rows = tokens + (spec.pre_scale && !spec.act_order ? 1 : 0);
  const int units =
      v.piece_chunks * WeightLayout::kChunkK / std::min(layout.meta_group, WeightLayout::kChunkK);
  const int token_bytes =
      rows * (v.piece_chunks * WeightLayout::kChunkK * 2 + 16) + (v.fold_bias ? units * 64 : 0);
  const int barriers = ((v.warps_k * (v.stages + 1) + 2 * kSlots) * 8 + 127) / 128 * 128;
  const int kept = of_warp > v.piece_chunks ? v.most_blocks * sums : 0;
  return barriers + kept +
         v.warps_k * (kSlots * sums + token_bytes + v.stages * v.stage_chunks * layout.chunk_bytes);
}

bool same(const std::optional<int>& wanted, int value) { return !wanted || *wanted == value; }

bool honours(const TileSpec& tile, const GemmVariant& v) {
  return same(tile.m, v.tile_m) && same(tile.n, v.tile_n) && same(tile.k, v.stage_k) &&
         same(tile.stages, v.stages) && same(tile.split_k, v.split_k) &&
         same(tile.warps_m, v.warps_m) && same(tile.warps_n, v.warps_n) &&
         same(tile.warps_k, v.warps_k);
}

// As many warps as have equal shares of K.
int choose_warps(const TileSpec& tile, int chunks) {
  if (tile.warps_k) return std::min({*tile.warps_k, chunks, kMostWarps});
  for (int warps = kMostWarps; warps >= kFewestWarps; --warps) {
    if (chunks % warps == 0) return warps;
  }
  return std::min(kMostWarps, chunks);
}

// Of the warp that has the most.
int chunks_of_warp(const WeightLayout& layout, const GemmVariant& v) {
  return static_cast<int>(ceil_div(ceil_div(layout.chunks_per_row_block, v.split_k), v.warps_k));
}

// Chunks of a stage: the nearest to a good copy, fewer by one where that leaves no short stage.
int choose_stage_chunks(const WeightLayout& layout, int of_warp) {
  const int nearest = (kStageBytes + layout.chunk_bytes / 2) / layout.chunk_bytes;
  const int chunks = std::clamp(nearest, 1, std::min(of_warp, kMostStageChunks));
  return of_warp % chunks != 0 && chunks > 1 && of_warp % (chunks - 1) == 0 ? chunks - 1 : chunks;
}

// Stages and pieces that the shared memory holds: all tokens at once if it can, and half an SM, so
// that the next kernel's blocks can start beside this one's.
bool fit(const GemmSpec& spec, const Target& target, const WeightLayout& layout, GemmVariant& v) {
  const int of_warp = chunks_of_warp(layout, v);
  const int stage = v.warps_k * v.stage_chunks * layout.chunk_bytes;
  const int whole = static_cast<int>(ceil_div(of_warp, v.stage_chunks));  // stages of a row block
  const int wanted = spec.tile.stages.value_or(
      std::clamp(kRingBytes / stage, 2, std::min(kMostStages, std::max(2, whole * v.most_blocks))));
  for (int pieces = 1; pieces <= whole; ++pieces) {
    v.piece_chunks = static_cast<int>(ceil_div(whole, pieces)) * v.stage_chunks;
    for (v.blocks_per_sm = 2; v.blocks_per_sm > 0; --v.blocks_per_sm) {
      const int room =
          v.blocks_per_sm == 1 ? target.shared_per_block : target.shared_per_sm / 2 - kBlockReserve;
      for (v.stages = wanted; v.stages >= spec.tile.stages.value_or(2); --v.stages) {
        v.shared_bytes = shared_bytes_of(spec, v, layout, of_warp);
        if (v.shared_bytes <= room) return true;
      }
    }
  }
  return false;
}

bool share_out(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
               GemmVariant& v) {
  const int chunks = static_cast<int>(layout.chunks_per_row_block / v.split_k);
  if (chunks < 1) return false;
  // A split has a counter for each row block.
  if (v.split_k > 1 && 4 * layout.row_blocks > kWorkspaceCounterBytes) return false;
  v.warps_k = choose_warps(spec.tile, chunks);
  v.stage_chunks = choose_stage_chunks(layout, chunks_of_warp(layout, v));
  const bool has_clusters = target.arch() < 120;  // that copy to all of their blocks at once
  v.cluster = has_clusters && layout.row_blocks >= kCluster ? kCluster : 1;
  const std::int64_t workers =
      std::min<std::int64_t>(target.sm_count / v.split_k, layout.row_blocks);
  v.workers = static_cast<int>(std::max<std::int64_t>(workers / v.cluster, 1)) * v.cluster;
  v.most_blocks = static_cast<int>(ceil_div(layout.row_blocks, v.workers));
  v.tile_n = WeightLayout::kRowBlock;
  v.stage_k = v.stage_chunks * WeightLayout::kChunkK * v.warps_k;
  v.first_stages = 1;
  return fit(spec, target, layout, v);
}

// A piece more makes all warps of two blocks wait for each other and for its tokens; from then on
// tiles are as fast. Narrow codes are bound by instructions, of which tiles take fewer for a token.
bool is_worth_it(const GemmSpec& spec, const GemmVariant& v, const WeightLayout& layout) {
  if (spec.weight.bits < 4 && v.m_max > 2) return false;
  return ceil_div(chunks_of_warp(layout, v), v.piece_chunks) <= (v.m_max <= 4 ? 2 : 1);
}

// Row blocks for every SM, as far as K lasts.
int choose_split(const GemmSpec& spec, const Target& target, const WeightLayout& layout) {
  int split = 1;
  while ((split + 1) * layout.row_blocks <= target.sm_count &&
         (split + 1) * kMostWarps <= layout.chunks_per_row_block) {
    ++split;
  }
  return spec.tile.split_k.value_or(split);
}

}  // namespace

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
  v.tile_m = 8;
  v.split_k = choose_split(spec, target, layout);
  v.scale_mode = choose_scale_mode(spec, layout, v);
  v.fold_power = folds_power(spec, v.scale_mode);
  v.fold_bias = folds_bias(spec, v.scale_mode);
  if (!share_out(spec, target, layout, v) || !honours(spec.tile, v)) return std::nullopt;
  if (!asked && !is_worth_it(spec, v, layout)) return std::nullopt;
  v.fold_bias = v.fold_bias && v.most_blocks >= kManyBlocks;
  return v;
}

}  // namespace heddle

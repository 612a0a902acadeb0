#include "generator/plan/slices.h"

#include <algorithm>

#include "generator/plan/default_tile.h"
#include "generator/plan/stage.h"

namespace heddle {
namespace {

// Every SM reads all tokens before it multiplies: from three on, tiles are as fast or faster. See
// docs/measurements.md.
constexpr std::int64_t kGoodTokens = 2;
constexpr std::int64_t kMostTokens = 8;  // one token tile
constexpr int kGoodBits = 4;             // the width that was measured
constexpr int kShortSlice = 3;
constexpr std::int64_t kManyRuns = 5;
// With the one that adds, four to each part of an SM: 128 registers for each thread. A slice's
// tokens take 16 of them for each chunk.
constexpr int kMostWarps = 15;
constexpr int kMostSliceChunks = 5;
// More bytes on their way at a time only make the first ones come later.
constexpr int kStages = 2;
constexpr int kSumRow = 20;  // floats, as in templates/gemm/slice_shape.cuh

// The same arithmetic as templates/gemm/slice_shape.cuh, which checks the result.
int shared_bytes_of(const GemmVariant& v, const WeightLayout& layout) {
  const int warps = v.warps_k * v.warps_n;
  const int stage = v.stage_chunks * layout.chunk_bytes;
  const int tokens = static_cast<int>(v.m_max) * (v.slice_chunks * WeightLayout::kChunkK * 2 + 16);
  const int barriers = ((warps * v.stages + 4) * 8 + 127) / 128 * 128;
  return barriers + 2 * warps * 4 * v.tile_m * kSumRow +
         warps * std::max(v.stages * stage, v.first_stages * stage + tokens);
}

bool has_tile(const TileSpec& tile) {
  return tile.m || tile.n || tile.k || tile.stages || tile.split_k || tile.warps_m ||
         tile.warps_n || tile.warps_k;
}

bool same(const std::optional<int>& wanted, int value) { return !wanted || *wanted == value; }

bool honours(const TileSpec& tile, const GemmVariant& v) {
  return same(tile.m, v.tile_m) && same(tile.n, v.tile_n) && same(tile.k, v.stage_k) &&
         same(tile.stages, v.stages) && same(tile.split_k, v.split_k) &&
         same(tile.warps_m, v.warps_m) && same(tile.warps_n, v.warps_n) &&
         same(tile.warps_k, v.warps_k);
}

// K over as many warps as there are, in the shortest slices; the warps that are left take other row
// blocks. False if K is too long for one block.
bool share_out(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
               GemmVariant& v) {
  const std::int64_t chunks = ceil_div(layout.chunks_per_row_block, v.split_k);
  v.slice_chunks = 1;
  while (v.slice_chunks * kMostWarps < chunks) ++v.slice_chunks;
  if (v.slice_chunks > kMostSliceChunks) return false;
  v.warps_k = static_cast<int>(ceil_div(chunks, v.slice_chunks));
  v.warps_n = kMostWarps / v.warps_k;
  v.tile_n = WeightLayout::kRowBlock * v.warps_n;
  v.stage_k = v.slice_chunks * WeightLayout::kChunkK * v.warps_k;
  v.stage_chunks = v.slice_chunks;
  v.stages = spec.tile.stages.value_or(kStages);
  if (v.stages < 2) return false;
  v.workers = static_cast<int>(
      std::min<std::int64_t>(target.sm_count / v.split_k, ceil_div(layout.row_blocks, v.warps_n)));
  for (v.first_stages = v.stages; v.first_stages > 0; --v.first_stages) {
    v.shared_bytes = shared_bytes_of(v, layout);
    if (v.shared_bytes <= target.shared_per_block) return true;
  }
  return false;
}

// Long slices are large stages, whose first bytes come late: that takes some runs to make up for.
bool is_worth_it(const WeightLayout& layout, const GemmVariant& v) {
  const std::int64_t runs = ceil_div(ceil_div(layout.row_blocks, v.warps_n), v.workers);
  return v.slice_chunks <= kShortSlice || runs >= kManyRuns;
}

}  // namespace

std::optional<GemmVariant> slice_variant(const GemmSpec& spec, const Target& target,
                                         const WeightLayout& layout, std::int64_t m_min) {
  const bool asked = spec.path == Path::kHopper;
  // A tile of the user's is one of those that walk the output, unless the path says otherwise.
  const bool fitting = spec.path == Path::kAuto && target.arch() >= 90 && !has_tile(spec.tile);
  const std::int64_t most = std::min(asked ? kMostTokens : kGoodTokens, spec.shape.m_max);
  if ((!asked && !fitting) || m_min > most || spec.weight.zero_point == ZeroPoint::kFloat) {
    return std::nullopt;
  }
  if (!asked && spec.weight.bits != kGoodBits) return std::nullopt;
  GemmVariant v;
  v.m_min = m_min;
  v.m_max = most;
  v.path = Path::kHopper;
  v.kernel = GemmKernel::kSlices;
  v.tile_m = 8;
  for (v.split_k = 1; v.split_k <= target.sm_count; ++v.split_k) {
    if (!share_out(spec, target, layout, v) || !honours(spec.tile, v)) continue;
    v.scale_mode = choose_scale_mode(spec, layout, v);
    v.fold_power = folds_power(spec, v.scale_mode);
    if (!asked && !is_worth_it(layout, v)) return std::nullopt;
    return v;
  }
  return std::nullopt;
}

}  // namespace heddle

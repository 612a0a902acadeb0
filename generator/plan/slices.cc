#include "generator/plan/slices.h"

#include <algorithm>

#include "generator/plan/default_tile.h"
#include "generator/plan/stage.h"

namespace heddle {
namespace {

constexpr int kMostTokens = 16;
constexpr int kMostWarps = 16;    // with 64 registers of tokens each, and one warp that adds
constexpr int kSliceTokens = 32;  // chunks x tokens of a slice: 64 registers
constexpr int kMostSplits = 16;
constexpr int kMostStages = 8;
constexpr int kSumRow = 20;  // floats, as in templates/gemm/slice_shape.cuh

// The same arithmetic as templates/gemm/slice_shape.cuh, which checks the result.
int shared_bytes_of(const GemmVariant& v, const WeightLayout& layout) {
  const int warps = v.warps_k * v.warps_n;
  const int stage = v.stage_chunks * layout.chunk_bytes;
  const int tokens = v.tile_m * (v.slice_chunks * WeightLayout::kChunkK * 2 + 16);
  const int barriers = ((warps * v.stages + 4) * 8 + 127) / 128 * 128;
  return barriers + 2 * warps * 4 * v.tile_m * kSumRow +
         warps * std::max(v.stages * stage, v.first_stages * stage + tokens);
}

// Bytes that are on their way to an SM at a time. Fewer leave the memory idle; with many more the
// first ones come late, since the memory serves all of them at once.
constexpr int kFlightBytes = 128 << 10;

// As many stages as are wanted on their way, as many of them at the start as fit beside the tokens.
bool set_stages(const TileSpec& tile, const Target& target, const WeightLayout& layout,
                GemmVariant& v) {
  const int stage = v.stage_chunks * layout.chunk_bytes;
  const int wanted = static_cast<int>(ceil_div(kFlightBytes, v.warps_k * v.warps_n * stage));
  for (v.stages = tile.stages.value_or(std::clamp(wanted, 2, kMostStages)); v.stages > 1;
       --v.stages) {
    for (v.first_stages = v.stages - 1; v.first_stages > 0; --v.first_stages) {
      v.shared_bytes = shared_bytes_of(v, layout);
      if (v.shared_bytes <= target.shared_per_block) return true;
    }
  }
  return false;
}

// Nanoseconds, roughly: every SM streams its share at its part of the memory's rate; before that
// come the start and the tokens, after it the exchange between the blocks of a split.
double cost(const GemmVariant& v, const WeightLayout& layout) {
  constexpr double kBytesPerNs = 34.5, kTokenBytesPerNs = 100, kSplit = 800;
  constexpr double kEnough = 65536;  // bytes on their way that keep the memory busy
  const std::int64_t groups = ceil_div(layout.row_blocks, v.warps_n);
  const auto runs = static_cast<double>(ceil_div(groups, v.workers));
  const auto chunks = static_cast<double>(ceil_div(layout.chunks_per_row_block, v.split_k));
  const double bytes = runs * v.warps_n * chunks * layout.chunk_bytes;
  const double ring =
      static_cast<double>(v.warps_k) * v.warps_n * v.stages * v.slice_chunks * layout.chunk_bytes;
  const double tokens = 2 * chunks * WeightLayout::kChunkK * v.tile_m;
  return bytes / kBytesPerNs * std::max(1.0, kEnough / std::min(ring, bytes)) +
         tokens / kTokenBytesPerNs + (v.split_k > 1 ? kSplit + 20 * v.split_k : 0);
}

bool same(const std::optional<int>& wanted, int value) { return !wanted || *wanted == value; }

bool honours(const TileSpec& tile, const GemmVariant& v) {
  return same(tile.m, v.tile_m) && same(tile.n, v.tile_n) && same(tile.k, v.stage_k) &&
         same(tile.stages, v.stages) && same(tile.split_k, v.split_k) &&
         same(tile.warps_m, v.warps_m) && same(tile.warps_n, v.warps_n) &&
         same(tile.warps_k, v.warps_k);
}

}  // namespace

bool has_tile(const TileSpec& tile) {
  return tile.m || tile.n || tile.k || tile.stages || tile.split_k || tile.warps_m ||
         tile.warps_n || tile.warps_k;
}

std::optional<GemmVariant> slice_variant(const GemmSpec& spec, const Target& target,
                                         const WeightLayout& layout, std::int64_t m_min,
                                         std::int64_t m_max) {
  // A tile of the user's is one of those that walk the output, unless the path says otherwise.
  const bool path = spec.path == Path::kHopper ||
                    (spec.path == Path::kAuto && target.arch() >= 90 && !has_tile(spec.tile));
  if (!path || m_max > kMostTokens || spec.weight.zero_point == ZeroPoint::kFloat) {
    return std::nullopt;
  }
  GemmVariant v;
  v.m_min = m_min;
  v.m_max = m_max;
  v.path = Path::kHopper;
  v.tile_m = m_max <= 8 ? 8 : 16;
  std::optional<GemmVariant> best;
  double best_cost = 0;
  for (v.split_k = 1; v.split_k <= kMostSplits; ++v.split_k) {
    const auto chunks = static_cast<int>(ceil_div(layout.chunks_per_row_block, v.split_k));
    v.workers = target.sm_count / v.split_k;
    if (v.workers == 0) break;
    for (v.slice_chunks = 1; v.slice_chunks * v.tile_m <= kSliceTokens; ++v.slice_chunks) {
      v.warps_k = static_cast<int>(ceil_div(chunks, v.slice_chunks));
      if (v.warps_k > kMostWarps) continue;
      for (v.warps_n = 1; v.warps_k * v.warps_n <= kMostWarps; ++v.warps_n) {
        v.tile_n = WeightLayout::kRowBlock * v.warps_n;
        v.stage_k = v.slice_chunks * WeightLayout::kChunkK * v.warps_k;
        v.stage_chunks = v.slice_chunks % 2 == 0 ? 2 : 1;
        if (!set_stages(spec.tile, target, layout, v) || !honours(spec.tile, v)) continue;
        if (!best || cost(v, layout) < best_cost) {
          best = v;
          best_cost = cost(v, layout);
        }
      }
    }
  }
  if (!best) return best;
  best->workers = static_cast<int>(
      std::min<std::int64_t>(best->workers, ceil_div(layout.row_blocks, best->warps_n)));
  best->scale_mode = choose_scale_mode(spec, layout, *best);
  best->fold_power = folds_power(spec, best->scale_mode);
  return best;
}

}  // namespace heddle

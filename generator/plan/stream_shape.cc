#include "generator/plan/stream_shape.h"

#include <algorithm>

#include "generator/plan/stage.h"

namespace heddle {
namespace {

constexpr int kFewestStages = 2, kMostStages = 8;
// More on its way than this makes the tokens come later.
constexpr int kRingBytes = 72 * 1024;

// Of a warp's columns.
int token_bytes(const GemmSpec& spec, const GemmVariant& v, int of_warp) {
  const int rows = stream_tokens(v) + (spec.pre_scale && !spec.act_order ? 1 : 0);
  return rows * (of_warp * WeightLayout::kChunkK * 2 + 16);
}

// Of a warp, of as many chunks as are widened at once: scales of 8 bits.
int wide_scale_bytes(const GemmSpec& spec, const GemmVariant& v, const WeightLayout& layout) {
  if (v.scale_mode == ScaleMode::kChannel || !has_small_scales(spec.weight)) return 0;
  const int entries = std::max(1, WeightLayout::kChunkK / layout.meta_group);
  const int chunks = entries <= 4 ? v.stage_chunks : v.stage_chunks % 2 == 0 ? 2 : 1;
  return chunks * 8 * entries * (v.scale_mode == ScaleMode::kWeight ? 4 : 8);
}

int shared_bytes_of(const GemmSpec& spec, const GemmVariant& v, const WeightLayout& layout,
                    int of_warp) {
  constexpr int kSlots = 2, kMostPieces = 2;
  const int meetings = v.split_k > 1 ? 2 : 1;
  const int meeting_barriers = v.split_k > 1 ? meetings * (1 + v.split_k) : 0;
  const int sums = 128 * ((stream_tokens(v) + 1) / 2);
  const int unit = of_warp <= v.stage_chunks ? 1 : v.stage_chunks;
  const int piece = static_cast<int>(ceil_div(of_warp, kMostPieces * unit)) * unit;
  const int pieces =
      stream_tokens(v) > kDirectTokens ? static_cast<int>(ceil_div(of_warp, piece)) : 0;
  const int barriers = v.warps_k * (v.stages + pieces) + 2 * kSlots + meeting_barriers;
  const int front = (8 * barriers + 127) / 128 * 128;
  const int of_one = token_bytes(spec, v, of_warp) +
                     v.stages * v.stage_chunks * layout.chunk_bytes +
                     wide_scale_bytes(spec, v, layout);
  return front + (kSlots * v.warps_k + meetings * v.split_k) * sums +
         v.warps_k * ((of_one + 127) / 128 * 128);
}

}  // namespace

int stream_tokens(const GemmVariant& v) {
  return v.m_max < kTokenTile ? static_cast<int>(v.m_max) : v.tile_m;
}

int stream_chunks_of_warp(const WeightLayout& layout, const GemmVariant& v) {
  return static_cast<int>(ceil_div(ceil_div(layout.chunks_per_row_block, v.split_k), v.warps_k));
}

bool has_small_scales(const WeightSpec& weight) {
  return weight.scale_dtype == DType::kE4m3 || weight.scale_dtype == DType::kE8m0;
}

bool fit_stream(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                GemmVariant& v) {
  const int of_warp = stream_chunks_of_warp(layout, v);
  const int ring = v.warps_k * v.stage_chunks * layout.chunk_bytes;  // one stage of all warps
  const std::int64_t row_blocks = ceil_div(layout.row_blocks, v.workers / v.split_k);
  const int work = static_cast<int>(ceil_div(of_warp, v.stage_chunks) * row_blocks);  // in stages
  const int fewest = spec.tile.stages.value_or(kFewestStages);
  if (fewest < kFewestStages) return false;
  const int wanted = spec.tile.stages.value_or(std::clamp(
      kRingBytes / ring, kFewestStages, std::min(kMostStages, std::max(kFewestStages, work))));
  const int half = target.shared_per_sm / 2;
  const int third = target.shared_per_sm / 3 - kReservedSharedBytes + kLineBytes;
  const bool alone = v.cluster > 2 || v.warps_k > kMostStreamWarpsOfTwo;
  for (v.blocks_per_sm = alone ? 1 : 2; v.blocks_per_sm > 0; --v.blocks_per_sm) {
    const int of_sm = v.blocks_per_sm == 1 ? target.shared_per_sm : half - kReservedSharedBytes;
    const int room = std::min(of_sm, target.shared_per_block);
    for (v.stages = wanted; v.stages >= fewest; --v.stages) {
      v.shared_bytes = shared_bytes_of(spec, v, layout, of_warp);
      if (v.shared_bytes > room) continue;
      // So many blocks to an SM and no more, as far as a block may have as much.
      const int least = std::min(v.cluster > 2 ? half : third, target.shared_per_block);
      v.shared_bytes = std::max(v.shared_bytes, least);
      return true;
    }
  }
  return false;
}

}  // namespace heddle

#include "generator/families/stream/shape.h"

#include <algorithm>

#include "generator/families/shared_memory.h"
#include "generator/families/stream/config.h"

namespace heddle {
namespace {

constexpr int kFewestStages = 2, kMostStages = 8;
// More on its way than this makes the tokens come later.
constexpr int kRingBytes = 72 * 1024;

}  // namespace

int stream_chunks_of_warp(const WeightLayout& layout, const GemmVariant& v) {
  return static_cast<int>(ceil_div(ceil_div(layout.chunks_per_row_block, v.split_k), v.warps_k));
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
      v.shared_bytes = stream_config(spec, layout, v).used_shared_bytes();
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

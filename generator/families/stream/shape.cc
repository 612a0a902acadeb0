#include "generator/families/stream/shape.h"

#include <algorithm>

#include "generator/families/shared_memory.h"

namespace heddle {
namespace {

constexpr int kFewestStages = 2, kMostStages = 8;
// More on its way than this makes the tokens come later.
constexpr int kRingBytes = 72 * 1024;

}  // namespace

int fit_stream(const TileSpec& tile, const Target& target, device::StreamConfig& c) {
  const int ring = c.warps_k * c.stage_bytes();  // one stage of all warps
  const int row_blocks = ceil_div(c.weights.row_blocks, c.workers / c.split_k);
  const int work = ceil_div(c.most_chunks(), c.stage_chunks) * row_blocks;  // in stages
  const int fewest = tile.stages.value_or(kFewestStages);
  if (fewest < kFewestStages) return 0;
  const int wanted = tile.stages.value_or(std::clamp(
      kRingBytes / ring, kFewestStages, std::min(kMostStages, std::max(kFewestStages, work))));
  const int half = target.shared_per_sm / 2;
  const int third = target.shared_per_sm / 3 - kReservedSharedBytes + kLineBytes;
  const bool alone = c.cluster > 2 || c.warps_k > kMostStreamWarpsOfTwo;
  for (int blocks_per_sm = alone ? 1 : 2; blocks_per_sm > 0; --blocks_per_sm) {
    const int of_sm = blocks_per_sm == 1 ? target.shared_per_sm : half - kReservedSharedBytes;
    const int room = std::min(of_sm, target.shared_per_block);
    for (c.stages = wanted; c.stages >= fewest; --c.stages) {
      if (c.used_shared_bytes() > room) continue;
      // So many blocks to an SM and no more, as far as a block may have as much.
      const int least = std::min(c.cluster > 2 ? half : third, target.shared_per_block);
      c.least_shared_bytes = std::max(c.used_shared_bytes(), least);
      return blocks_per_sm;
    }
  }
  return 0;
}

}  // namespace heddle

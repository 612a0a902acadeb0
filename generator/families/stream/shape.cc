#include "generator/families/stream/shape.h"

#include <algorithm>

#include "generator/families/shared_memory.h"

namespace heddle {
namespace {

constexpr int kFewestStages = 2;
// More on its way than this makes the tokens come later.
constexpr int kRingBytes = 72 * 1024;

}  // namespace

bool fit_stream(const TileSpec& tile, const Target& target, device::StreamConfig& c) {
  const int ring = c.warps_k * c.stage_bytes();  // one stage of all warps
  const int row_blocks = ceil_div(c.shape.row_blocks, c.workers / c.split_k);
  const int work = ceil_div(c.most_chunks(), c.stage_chunks) * row_blocks;  // in stages
  const int fewest = tile.stages.value_or(kFewestStages);
  if (fewest < kFewestStages) return false;
  c.stages = tile.stages.value_or(std::clamp(
      kRingBytes / ring, kFewestStages, std::min(kMostBulkStages, std::max(kFewestStages, work))));
  while (c.used_shared_bytes() > target.shared_per_block) {
    if (--c.stages < fewest) return false;
  }
  c.least_shared_bytes = std::max(c.used_shared_bytes(), shared_bytes_of_own_sm(target));
  return true;
}

}  // namespace heddle

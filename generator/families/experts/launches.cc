#include "generator/families/experts/launches.h"

#include <algorithm>

#include "generator/families/configuration.h"
#include "generator/families/shared_memory.h"

namespace heddle {
namespace {

using device::ExpertsConfig;
using device::MoePhase;
using device::TilesConfig;

// The most tiles that the rows of all experts can have: each expert has one that is not full.
std::int64_t most_tiles(const TilesConfig& tile, const ExpertsConfig& config,
                        std::int64_t tokens) noexcept {
  const std::int64_t rows = config.assignments(tokens);
  const std::int64_t of_rows = std::min(rows, config.local_experts + rows / tile.tile_m);
  return of_rows * ceil_div(tile.shape.n, tile.tile_n);
}

}  // namespace

KernelLaunch moe_launch(const Plan& plan, const PlannedKernel& kernel, std::int64_t tokens,
                        MoePhase phase) noexcept {
  const auto& config = config_of<ExpertsConfig>(kernel);
  const std::int64_t sms = plan.target.sm_count;
  std::int64_t blocks = 1;
  int shared_bytes = 0;
  switch (phase) {
    case MoePhase::kRoute:
      blocks = ceil_div(config.local_experts, config.warps());
      break;
    case MoePhase::kGateUp:
      blocks = std::min(sms * kernel.blocks_per_sm, most_tiles(config.gate_up, config, tokens));
      shared_bytes = config.gate_up_shared_bytes();
      break;
    case MoePhase::kDown:
      blocks = std::min(sms * kernel.blocks_per_sm, most_tiles(config.down, config, tokens));
      shared_bytes = config.down.shared_bytes();
      break;
    case MoePhase::kSum: {
      constexpr int kSumBlocksPerSm = 8;
      constexpr int kVectorColumns = 8;
      blocks = std::min(sms * kSumBlocksPerSm,
                        ceil_div(tokens * (config.hidden / kVectorColumns), config.threads()));
      break;
    }
  }
  KernelLaunch launch;
  launch.grid_x = static_cast<unsigned>(blocks);
  launch.schedule = static_cast<int>(phase);
  launch.shared_bytes = shared_bytes;
  return launch;
}

}  // namespace heddle

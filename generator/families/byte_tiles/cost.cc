// How long a stage of tiles of bytes takes, by counted clocks. The parameters have the values of
// tiles of 16 bits.
#include <algorithm>

#include "generator/families/byte_tiles/candidates.h"
#include "generator/families/configuration.h"
#include "generator/families/mma_cost.h"
#include "generator/target/capabilities.h"

namespace heddle {
namespace {

using device::ByteTilesConfig;

constexpr double kSteps = WeightLayout::kChunkK / 32.0;  // of a chunk

// ldmatrix of a warp for a chunk of each of its row tiles, each of 512 bytes.
double fragment_loads(const ByteTilesConfig& c) {
  return kSteps * (c.row_tiles() + c.token_tiles() / 2.0);
}

// Instructions of a warp for that.
double chunk_instructions(const ByteTilesConfig& c) {
  constexpr double kOthers = 20;  // addresses and the loop
  const double tiles = kSteps * c.row_tiles() * c.token_tiles();
  const double products = (c.by_registers ? 4 : c.converts ? 2 : 1) * tiles;
  const double conversions = c.converts ? 8 * fragment_loads(c) : 0;
  return fragment_loads(c) + conversions + products + (c.promotes ? tiles : 0) + kOthers;
}

}  // namespace

const std::vector<CostParameter>& byte_tiles_cost_parameters() { return mma_cost_parameters(); }

double byte_tiles_us(const GemmRequest& gemm, const PlannedKernel& kernel, std::int64_t m,
                     Costs costs) {
  constexpr double kSharedBytes = 128;  // a clock
  constexpr double kLoadBytes = 512;    // of an ldmatrix
  constexpr double kCopySlots = 8;      // instructions for a warp's copy of 16 bytes a lane
  const auto& c = config_of<ByteTilesConfig>(kernel);
  const std::int64_t blocks = mma_blocks(c, m);
  // Blocks that share an SM run one after the other.
  const int sharers = blocks > gemm.target.sm_count ? kernel.blocks_per_sm : 1;
  const auto rounds =
      static_cast<double>(ceil_div(blocks, std::int64_t{gemm.target.sm_count} * sharers));

  const double chunks = 1.0 * c.stage_chunks() * c.warps_m * c.warps_n;  // of all warps
  const double instructions =
      chunks * chunk_instructions(c) + kCopySlots * c.stage_bytes() / kLoadBytes;
  const double issue = instructions / costs[kMmaIssue];
  const double rate = (c.converts ? 1 : 2) * mma_products(gemm.target);
  const double multiply = 1.0 * c.tile_n * c.stage_k * c.tile_m / rate;
  const double shared = (chunks * fragment_loads(c) * kLoadBytes + c.stage_bytes()) / kSharedBytes;
  const double fetch = fetch_clocks(c.stage_bytes(), costs[kMmaSmBytes], costs[kMmaLatency],
                                    c.stages, mma_stages(c));
  // Fragments are loaded and sums promoted while the tensor cores multiply.
  const double compute = side_by_side(multiply, std::max(issue, shared), costs[kMmaOverlap]);
  const double step =
      sharers * side_by_side(compute, fetch, costs[kMmaOverlap]) + 2 * costs[kMmaStage];

  // Blocks that share K write their sums, count each other, and read.
  constexpr double kTrips = 3;
  return mma_us(gemm, c, m, {rounds, sharers, step, kTrips}, costs);
}

}  // namespace heddle

// How long the stages and the exchanges of a GEMM with wgmma take, and the parameters of that.
#ifndef HEDDLE_GENERATOR_FAMILIES_WARPGROUP_COST_H_
#define HEDDLE_GENERATOR_FAMILIES_WARPGROUP_COST_H_

#include <cstdint>
#include <vector>

#include "generator/families/costs.h"
#include "generator/families/gemm_request.h"
#include "generator/families/warpgroup/kernel.h"
#include "heddle/inspect/plan.h"

namespace heddle {

// Clocks of one thread block of a launch with m tokens.
class WgmmaClocks {
 public:
  WgmmaClocks(const GemmRequest& plan, const WarpgroupKernel& config, std::int64_t m,
              Costs costs) noexcept
      : plan_(plan), c_(config), m_(m), costs_(costs) {}

  // A stage, or both halves of a chunk: computing, or the copies of its weights and tokens.
  double stage() const;
  // The sums of a tile whose K so many blocks share, by way of the workspace.
  double exchange(double blocks) const;
  // The exchange where blocks have parts of two tiles: what a block gives to the first tile is late
  // for those that wait for it, and what it waits for in the second comes late, too.
  double late_exchange(double blocks) const;
  // Clocks that a pair of blocks in a cluster takes to exchange its sums.
  double pair_exchange() const;
  // Clocks to find the scales of a tile's outputs, on top of what outputs of 16 bits take.
  double finding() const;
  // The tokens of so many tiles whose blocks are not in step along K: what the L2 cache does not
  // keep of them comes from memory for each tile. `tokens`: of all these tiles, each counted once.
  double reading_tokens_apart(std::int64_t tiles, std::int64_t tokens) const;

 private:
  double unit() const;
  double byte_unit() const;
  double tile_bytes() const { return 4.0 * c_.tile_m * c_.tile_n; }

  const GemmRequest& plan_;
  const WarpgroupKernel& c_;
  const std::int64_t m_;
  const Costs costs_;
};

// As GemmFamily::cost_parameters().
const std::vector<CostParameter>& warpgroup_cost_parameters();

// Microseconds of a launch with m tokens whose SMs work for so many clocks, while the memory brings
// weights and tokens.
double wgmma_launch_us(const GemmRequest& plan, const WarpgroupKernel& config, std::int64_t m,
                       Costs costs, double work_clocks);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_WARPGROUP_COST_H_

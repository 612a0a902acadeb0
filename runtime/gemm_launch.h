// What a launch of a GEMM is: its arguments' contract and its grid. Pure, so it needs no GPU.
#ifndef HEDDLE_RUNTIME_GEMM_LAUNCH_H_
#define HEDDLE_RUNTIME_GEMM_LAUNCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/kernel.h"
#include "heddle/plan.h"
#include "runtime/launch_checks.h"

namespace heddle {

// Throws Error(kUsage) with the code "launch.op", "launch.m", "launch.missing",
// "launch.unexpected", "launch.misaligned" or "launch.workspace" if `args` break the contract of
// Kernel::launch. `workspace_bytes` is what the launch needs. Reads the pointers' values only.
// Allocates nothing unless it throws.
void validate(const Plan& plan, std::size_t workspace_bytes, const GemmArgs& args);

// The blocks of a launch with M. Of tiles: x: tiles of M, the one count that may pass 65535; y:
// tiles of N; z: parts of K.
struct GemmBlocks {
  LaunchGrid grid;
  int shared_tiles = 0;  // kWgmma: how many tiles several blocks share
};
GemmBlocks gemm_blocks(const Plan& plan, const GemmVariant& variant, std::int64_t m) noexcept;

// Whether the kernel may start before the one before it has ended, for which it waits itself:
// templates/primitives/dependent_launch.cuh. Where an SM has room for two blocks of a kernel that
// does, the first SMs to be free take two of them, and others none (8192 x 8192, M = 1, 128 blocks:
// 17.7 us, not 12.4), so that kernels of tiles have an SM to each block then.
inline bool starts_early(const Plan& plan, const GemmVariant& variant) noexcept {
  return variant.path == Path::kHopper || (plan.target.arch() >= 90 && variant.blocks_per_sm == 1);
}

// gemm_blocks() of one variant of a plan, which take a while to tell where tiles are shared: of the
// M that launches usually have, told before.
class GemmBlocksTable {
 public:
  GemmBlocksTable(const Plan& plan, const GemmVariant& variant);
  // Of the same plan and variant. Precondition: the variant serves M.
  GemmBlocks at(const Plan& plan, const GemmVariant& variant, std::int64_t m) const noexcept;

 private:
  int step_;            // tokens of a tile, or of half of one, which a narrow tile has
  unsigned int first_;  // steps of the least M
  // They depend on M by the number of its steps.
  std::vector<GemmBlocks> blocks_;
};

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_GEMM_LAUNCH_H_

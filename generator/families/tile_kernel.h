// Kernels that walk a matrix in tiles, one thread block to a tile.
#ifndef HEDDLE_GENERATOR_FAMILIES_TILE_KERNEL_H_
#define HEDDLE_GENERATOR_FAMILIES_TILE_KERNEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "generator/families/family.h"

namespace heddle {

// The configuration of such a kernel. Of kv_append the matrix is [tokens][kv_heads * head_dim].
struct TileKernel {
  std::string name;  // the entry point's name
  int tile_rows = 0;
  int tile_columns = 0;
  int threads = 256;
  int shared_bytes = 0;   // dynamic
  int blocks_per_sm = 1;  // what the register budget is set for
};

// What the families of such kernels share.
class TileKernelFamily : public Family {
 public:
  std::string describe(const PlannedKernel& kernel) const override;
  std::string tile_text(const PlannedKernel& kernel) const override;
  nlohmann::ordered_json json(const PlannedKernel& kernel) const override;
  // The size that a launch covers is W's.
  KernelLaunch launch(const Plan& plan, const PlannedKernel& kernel,
                      const LaunchSize& size) const noexcept override;

 protected:
  PlannedKernel planned(const TileKernel& kernel, std::vector<KernelArgument> arguments) const;
};

const TileKernel& tile_kernel_of(const PlannedKernel& kernel) noexcept;

// One thread block to a tile: x counts tiles of rows, y tiles of columns.
KernelLaunch tile_grid(const TileKernel& kernel, std::int64_t rows, std::int64_t columns) noexcept;

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_TILE_KERNEL_H_

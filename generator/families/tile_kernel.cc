#include "generator/families/tile_kernel.h"

#include <fmt/format.h>

#include <utility>

#include "generator/families/configuration.h"

namespace heddle {

std::string TileKernelFamily::describe(const PlannedKernel& kernel) const {
  const TileKernel& tile = tile_kernel_of(kernel);
  return fmt::format("tiles of {} rows x {} columns", tile.tile_rows, tile.tile_columns);
}

std::string TileKernelFamily::tile_text(const PlannedKernel& kernel) const {
  const TileKernel& tile = tile_kernel_of(kernel);
  return fmt::format("{}x{}", tile.tile_rows, tile.tile_columns);
}

nlohmann::ordered_json TileKernelFamily::json(const PlannedKernel& kernel) const {
  const TileKernel& tile = tile_kernel_of(kernel);
  return {{"rows", tile.tile_rows}, {"columns", tile.tile_columns}};
}

KernelLaunch TileKernelFamily::launch(const Plan& plan, const PlannedKernel& kernel,
                                      const LaunchSize& /*size*/) const noexcept {
  const MatrixShape& shape = plan.spec.weight_op().shape;
  return tile_grid(tile_kernel_of(kernel), shape.n, shape.k);
}

PlannedKernel TileKernelFamily::planned(const TileKernel& kernel,
                                        std::vector<KernelArgument> arguments) const {
  PlannedKernel planned;
  planned.name = kernel.name;
  planned.family = this;
  planned.configuration = make_configuration(kernel);
  planned.threads = kernel.threads;
  planned.shared_bytes = kernel.shared_bytes;
  planned.blocks_per_sm = kernel.blocks_per_sm;
  planned.arguments = std::move(arguments);
  return planned;
}

const TileKernel& tile_kernel_of(const PlannedKernel& kernel) noexcept {
  return config_of<TileKernel>(kernel);
}

KernelLaunch tile_grid(const TileKernel& kernel, std::int64_t rows, std::int64_t columns) noexcept {
  const auto tiles_of = [](std::int64_t size, int tile) {
    return static_cast<unsigned int>((size + tile - 1) / tile);
  };
  return {tiles_of(rows, kernel.tile_rows), tiles_of(columns, kernel.tile_columns)};
}

}  // namespace heddle

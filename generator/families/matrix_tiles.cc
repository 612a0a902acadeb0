#include "generator/families/matrix_tiles.h"

#include <fmt/format.h>

namespace heddle::families {

KernelLaunch tile_grid(const device::MatrixTiles& tiles) noexcept {
  KernelLaunch launch;
  launch.grid_x = static_cast<unsigned>(tiles.row_tiles());
  launch.grid_y = static_cast<unsigned>(tiles.column_tiles());
  return launch;
}

std::string describe(const device::MatrixTiles& tiles) {
  return fmt::format("tiles of {} rows x {} columns", tiles.rows, tiles.columns);
}

std::string tile_text(const device::MatrixTiles& tiles) {
  return fmt::format("{}x{}", tiles.rows, tiles.columns);
}

}  // namespace heddle::families

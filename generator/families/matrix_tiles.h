// Kernels that walk a matrix in tiles, one thread block to a tile: their grid and their text.
#ifndef HEDDLE_GENERATOR_FAMILIES_MATRIX_TILES_H_
#define HEDDLE_GENERATOR_FAMILIES_MATRIX_TILES_H_

#include <string>

#include "config/matrix_tiles.h"
#include "generator/families/configuration.h"
#include "generator/families/family.h"
#include "generator/families/fields_json.h"
#include "heddle/inspect/plan.h"

namespace heddle::families {

// x counts tiles of rows, y tiles of columns.
KernelLaunch tile_grid(const device::MatrixTiles& tiles) noexcept;

// "tiles of 16 rows x 512 columns".
std::string describe(const device::MatrixTiles& tiles);

// "16x512".
std::string tile_text(const device::MatrixTiles& tiles);

// What the families of such kernels share; `Config` has the tiles as its member of that name. The
// thread blocks of a launch cover W.
template <class Config>
class MatrixTilesFamily : public Family {
 public:
  KernelLaunch launch(const Plan& /*plan*/, const PlannedKernel& kernel,
                      const LaunchSize& /*size*/) const noexcept override {
    return tile_grid(config_of<Config>(kernel).tiles);
  }
  std::string describe(const PlannedKernel& kernel) const override {
    return families::describe(config_of<Config>(kernel).tiles);
  }
  std::string tile_text(const PlannedKernel& kernel) const override {
    return families::tile_text(config_of<Config>(kernel).tiles);
  }
  nlohmann::ordered_json json(const PlannedKernel& kernel) const override {
    return fields_json(config_of<Config>(kernel));
  }
};

}  // namespace heddle::families

#endif  // HEDDLE_GENERATOR_FAMILIES_MATRIX_TILES_H_

// Kernels that walk a matrix in tiles, one thread block to a tile: their grid and their text.
#ifndef HEDDLE_GENERATOR_FAMILIES_MATRIX_TILES_H_
#define HEDDLE_GENERATOR_FAMILIES_MATRIX_TILES_H_

#include <string>

#include "config/matrix_tiles.h"
#include "generator/families/fields.h"
#include "heddle/plan.h"

namespace heddle::families {

// x counts tiles of rows, y tiles of columns.
KernelLaunch tile_grid(const device::MatrixTiles& tiles) noexcept;

// "tiles of 16 rows x 512 columns".
std::string describe(const device::MatrixTiles& tiles);

// "16x512".
std::string tile_text(const device::MatrixTiles& tiles);

}  // namespace heddle::families

#endif  // HEDDLE_GENERATOR_FAMILIES_MATRIX_TILES_H_

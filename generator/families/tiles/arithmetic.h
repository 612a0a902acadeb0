// What the bits of an output depend on in a tile of mma.sync.
#ifndef HEDDLE_GENERATOR_FAMILIES_TILES_ARITHMETIC_H_
#define HEDDLE_GENERATOR_FAMILIES_TILES_ARITHMETIC_H_

#include <string>

#include "generator/families/fields.h"
#include "tiles/config.h"

namespace heddle {

// As Family::arithmetic(). Whatever feeds them, tiles multiply and add alike: a launch's tokens
// decide how many tiles there are, and nothing of what one of them does.
std::string tiles_arithmetic(const device::TilesConfig& config);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_TILES_ARITHMETIC_H_

// The text of kernels that write packed weights.
#ifndef HEDDLE_GENERATOR_FAMILIES_PACKING_TEXT_H_
#define HEDDLE_GENERATOR_FAMILIES_PACKING_TEXT_H_

#include <string>

#include "generator/families/family.h"
#include "generator/families/matrix_tiles.h"

namespace heddle::families {

// The decisions, and the definitions of Config, as it is given here, and of Encode, which packs
// codes.
KernelText packing_text(const Plan& plan, const device::MatrixTiles& tiles,
                        const std::string& config);

}  // namespace heddle::families

#endif  // HEDDLE_GENERATOR_FAMILIES_PACKING_TEXT_H_

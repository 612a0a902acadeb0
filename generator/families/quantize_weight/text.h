#ifndef HEDDLE_GENERATOR_FAMILIES_QUANTIZE_WEIGHT_TEXT_H_
#define HEDDLE_GENERATOR_FAMILIES_QUANTIZE_WEIGHT_TEXT_H_

#include "generator/families/tile_kernel.h"

namespace heddle {

KernelText quantize_weight_text(const Plan& plan, const TileKernel& kernel);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_QUANTIZE_WEIGHT_TEXT_H_

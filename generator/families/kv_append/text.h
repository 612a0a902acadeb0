#ifndef HEDDLE_GENERATOR_FAMILIES_KV_APPEND_TEXT_H_
#define HEDDLE_GENERATOR_FAMILIES_KV_APPEND_TEXT_H_

#include "generator/families/tile_kernel.h"

namespace heddle {

KernelText kv_append_text(const Plan& plan, const TileKernel& kernel);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_KV_APPEND_TEXT_H_

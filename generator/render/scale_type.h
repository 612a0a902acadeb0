// The templates' names of types of scales.
#ifndef HEDDLE_GENERATOR_RENDER_SCALE_TYPE_H_
#define HEDDLE_GENERATOR_RENDER_SCALE_TYPE_H_

#include <string>

#include "heddle/spec.h"

namespace heddle {

// The enumerator of ScaleType in steps/scale_type.h.
std::string scale_type_name(DType dtype);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_RENDER_SCALE_TYPE_H_

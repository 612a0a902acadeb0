#ifndef HEDDLE_GENERATOR_FAMILIES_VALUE_TYPE_H_
#define HEDDLE_GENERATOR_FAMILIES_VALUE_TYPE_H_

#include <string>

#include "heddle/spec.h"

namespace heddle {

// "Fp16" or "Bf16", the templates' classes of 16-bit arithmetic; of a type without 16 bits nothing
// is ever computed in it: "Fp16".
inline std::string value_type(DType dtype) { return dtype == DType::kBf16 ? "Bf16" : "Fp16"; }

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_VALUE_TYPE_H_

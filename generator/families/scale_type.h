#ifndef HEDDLE_GENERATOR_FAMILIES_SCALE_TYPE_H_
#define HEDDLE_GENERATOR_FAMILIES_SCALE_TYPE_H_

#include "generator/families/fields.h"
#include "heddle/spec.h"
#include "steps/scale_type.h"

namespace heddle {

// The type of stored scales, as the templates have it.
constexpr device::ScaleType scale_type(DType dtype) {
  switch (dtype) {
    case DType::kFp16:
      return device::ScaleType::kFp16;
    case DType::kBf16:
      return device::ScaleType::kBf16;
    case DType::kFp32:
      return device::ScaleType::kFp32;
    case DType::kE8m0:
      return device::ScaleType::kE8m0;
    case DType::kE4m3:
    case DType::kInt8:
    case DType::kFp8E4m3:
    case DType::kFp8E5m2:
      break;
  }
  return device::ScaleType::kE4m3;
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_SCALE_TYPE_H_

// DType: the types of X, Y and scales.
#pragma once

#include "heddle/export.h"

namespace heddle {

// kE8m0 and kE4m3 are of scales only: e8m0 is 2^(code - 127), 255 is NaN; e4m3 as in OCP FP8. The
// last three are of X and Y, with scales of their own; FP8 is OCP's, too. kInt8 is also of scales
// in two levels (WeightSpec::channel_scale).
enum class DType { kFp16, kBf16, kFp32, kE8m0, kE4m3, kInt8, kFp8E4m3, kFp8E5m2 };
// 1 for e8m0, e4m3 and what has eight bits by name, 2, or 4.
HEDDLE_EXPORT int bytes_of(DType dtype) noexcept;
// Codes of X and Y.
constexpr bool is_byte(DType dtype) noexcept {
  return dtype == DType::kInt8 || dtype == DType::kFp8E4m3 || dtype == DType::kFp8E5m2;
}

}  // namespace heddle

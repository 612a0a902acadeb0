// templates/primitives/float.cuh in C++: what attention uses of it.
#pragma once

#include <cmath>

#include "primitives/types.cuh"

namespace heddle {

// Subnormal numbers are zero.
inline float exp2_fast(float a) {
  const float d = std::exp2(a);
  return d < 0x1p-126f ? 0.0f : d;
}
inline float log2_fast(float a) { return std::log2(a); }
inline float reciprocal_fast(float a) { return 1.0f / a; }
inline float larger(float a, float b) { return std::fmax(a, b); }

}  // namespace heddle

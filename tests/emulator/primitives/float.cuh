// templates/primitives/float.cuh in C++: what attention and kv_append use of it.
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
inline float reciprocal_root_fast(float a) { return 1.0f / std::sqrt(a); }
inline float larger(float a, float b) { return std::fmax(a, b); }

inline float multiply(float a, float b) { return a * b; }
inline float multiply_add(float a, float b, float c) { return std::fma(a, b, c); }
inline float divide(float a, float b) { return a / b; }
inline float square_root(float a) { return std::sqrt(a); }
inline float reciprocal(float a) { return 1.0f / a; }
inline float round_to_integer(float a) { return std::nearbyint(a); }
inline float max_or_nan(float a, float b) { return a < b || b != b ? b : a; }
inline float clamp(float a, float low, float high) { return std::fmin(std::fmax(a, low), high); }

}  // namespace heddle

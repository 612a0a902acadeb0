// templates/primitives/float.cuh in C++: what the emulated kernels use of it.
#pragma once

#include <cmath>
#include <limits>

#include "primitives/types.cuh"
#include "tests/emulator/cuda_words.h"

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

// FP64 holds the product exactly; of its two neighbours the one whose last bit is set.
inline float mul_to_odd(float a, float b) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const auto nearest = static_cast<float>(product);
  if (static_cast<double>(nearest) == product || nearest != nearest) return nearest;
  const float below = static_cast<double>(nearest) < product
                          ? nearest
                          : std::nextafter(nearest, -std::numeric_limits<float>::infinity());
  if ((__float_as_uint(below) & 1) != 0) return below;
  return std::nextafter(below, std::numeric_limits<float>::infinity());
}

inline float multiply(float a, float b) { return a * b; }
inline float multiply_add(float a, float b, float c) { return std::fma(a, b, c); }
inline float divide(float a, float b) { return a / b; }
inline float square_root(float a) { return std::sqrt(a); }
inline float reciprocal(float a) { return 1.0f / a; }
inline float round_to_integer(float a) { return std::nearbyint(a); }
inline float max_or_nan(float a, float b) { return a < b || b != b ? b : a; }
inline float clamp(float a, float low, float high) { return std::fmin(std::fmax(a, low), high); }

}  // namespace heddle

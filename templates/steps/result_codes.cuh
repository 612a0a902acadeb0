// Y in codes of eight bits: as row_transform writes them, from the FP32 outputs.
#pragma once

#include "primitives/sync.cuh"
#include "steps/byte_codes.cuh"
#include "steps/result.cuh"

namespace heddle {

// Code: Int8Code, E4m3Code or E5m2Code.
template <class Code>
struct CodesByScale {
  static __device__ __forceinline__ u32 pair(float low, float high, const CodeScale& scale) {
    return Code::pair(multiply(low, scale.inverse), multiply(high, scale.inverse)) & scale.mask;
  }
  static __device__ __forceinline__ u32 four(const float* v, const CodeScale& scale) {
    return pair(v[0], v[1], scale) | pair(v[2], v[3], scale) << 16;
  }
  static __device__ __forceinline__ void store(u8* y, const Sums8& sum, const CodeScale& scale) {
    store_global_8(y, four(sum.v, scale), four(sum.v + 4, scale));
  }
};

// By a scale that the launch gives. OfResidual: Result16 or ResultFp32.
template <class Code, class OfResidual>
struct ResultCodes {
  using Codes = CodesByScale<Code>;
  static constexpr int kBytes = 1;
  using Residual = OfResidual;
  using Scale = CodeScale;
  static __device__ __forceinline__ Scale load_scale(const u8* y_scales) {
    return given_scale(float_from_bits(load_global_4(y_scales)));
  }

  // Two outputs, as 16 bits each.
  static __device__ __forceinline__ u32 rounded(float low, float high, const Scale& scale) {
    return prmt<0x4140>(Codes::pair(low, high, scale), 0);
  }
  static __device__ __forceinline__ void store_rounded(u8* y, u32x4 v) {
    store_global_8(y, prmt<0x6420>(v.x, v.y), prmt<0x6420>(v.z, v.w));
  }
  static __device__ __forceinline__ void store(u8* y, const Sums8& sum, const u8* y_scales) {
    Codes::store(y, sum, load_scale(y_scales));
  }
};

// By scales that are found, each of 128 outputs of a token, and written as the next GEMM reads
// them: a line for each group, of e8m0 for each four, with a word for each token.
template <class Code, class OfResidual, bool kE8m0>
struct ResultGroups {
  static constexpr int kBytes = 1;
  static constexpr int kColumns = 128;  // of a group
  using Residual = OfResidual;
  using Scale = NoScale;
  using Codes = CodesByScale<Code>;

  // Two outputs by the inverse of their scale, which is finite, in the low half. Of sums that have
  // not been added to zeros, as other ways to Y do, kAddsZero makes a zero of either sign code 0.
  template <bool kAddsZero>
  static __device__ __forceinline__ u32 pair(float low, float high, float inverse) {
    if constexpr (kAddsZero) {
      return Code::pair(multiply_add(low, inverse, 0.0f), multiply_add(high, inverse, 0.0f));
    } else {
      return Code::pair(low * inverse, high * inverse);
    }
  }

  static __device__ __forceinline__ FoundScale scale_of(float largest_magnitude) {
    return found_scale<kE8m0>(largest_magnitude, Code::kLargest);
  }
  // `groups`: of a token.
  static __device__ __forceinline__ void store_scale(u8* scales, int token, int m, int group,
                                                     int groups, u32 bits) {
    const i64 stride = (static_cast<i64>(m) + 3) / 4 * 4;
    if constexpr (!kE8m0) {
      store_global_4(scales + 4 * (group * stride + token), bits);
    } else {
      u8* const word = scales + 4 * (group / 4 * stride + token);
      store_global_1(word + group % 4, bits);
      // No scale of the last word is left as it was.
      if (group != groups - 1) return;
      for (int i = group % 4 + 1; i < 4; ++i) store_global_1(word + i, 0);
    }
  }
};

__device__ __forceinline__ float largest_magnitude(const Sums8& sum) {
  float most = 0.0f;
#pragma unroll
  for (const float v : sum.v) most = max_or_nan(most, fabsf(v));
  return most;
}
// The largest of each of kCount values, a power of two, of the lanes that differ in the bits
// kLowest to kHighest of their number. Of two lanes that share, each keeps a half of the values and
// gives away the other one; once a value is left, both keep it. It ends up in most[0]: the value
// whose number the bits of the lane spell, the highest first, as far as kCount goes.
template <int kHighest, int kLowest, int kCount>
__device__ __forceinline__ void share_largest(float (&most)[kCount], int lane) {
#pragma unroll
  for (int mask = kHighest, half = kCount / 2; mask >= kLowest; mask /= 2, half /= 2) {
    const bool upper = (lane & mask) != 0;
#pragma unroll
    for (int i = 0; i < (half > 0 ? half : 1); ++i) {
      const float given = half > 0 && !upper ? most[i + half] : most[i];
      const float kept = half > 0 && upper ? most[i + half] : most[i];
      most[i] = max_or_nan(kept, shuffle_xor(given, mask));
    }
  }
}
// The largest magnitude of kLanes neighbouring lanes, a power of two, all of which call it.
template <int kLanes>
__device__ __forceinline__ float largest_of_lanes(float most) {
#pragma unroll
  for (int mask = 1; mask < kLanes; mask *= 2) most = max_or_nan(most, shuffle_xor(most, mask));
  return most;
}

}  // namespace heddle

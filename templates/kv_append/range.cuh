// The range of the values that share a scale.
#pragma once

#include "kv/granularity.cuh"
#include "primitives/bits.cuh"
#include "primitives/float.cuh"
#include "primitives/half.cuh"
#include "primitives/memory.cuh"
#include "primitives/sync.cuh"

namespace heddle {

// The largest magnitudes on both sides of zero; a NaN if there is one. Without zero points only
// `positive` counts, which is that of both.
struct KvRange {
  float positive = 0.0f;
  float negative = 0.0f;

  template <class Tensor>
  __device__ __forceinline__ void add(float x) {
    if constexpr (Tensor::kAsymmetric) {
      positive = max_or_nan(positive, x);
      negative = max_or_nan(negative, -x);
    } else {
      positive = max_or_nan(positive, fabsf(x));
    }
  }

  // Eight pairs of 16-bit floats, two at a time.
  template <class Tensor, class Value>
  __device__ __forceinline__ void add_pairs(const u32 (&pairs)[8]) {
#if __CUDA_ARCH__ >= 800
    u32 most = 0;
    u32 least = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      most = Value::max2_or_nan(most, Tensor::kAsymmetric ? pairs[i] : pairs[i] & 0x7fff7fffu);
      if constexpr (Tensor::kAsymmetric) {
        least = Value::max2_or_nan(least, pairs[i] ^ 0x80008000u);
      }
    }
    positive = max_or_nan(Value::low_to_float(most), Value::high_to_float(most));
    if constexpr (Tensor::kAsymmetric) {
      negative = max_or_nan(Value::low_to_float(least), Value::high_to_float(least));
    }
#else
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      add<Tensor>(Value::low_to_float(pairs[i]));
      add<Tensor>(Value::high_to_float(pairs[i]));
    }
#endif
  }

  // Among kLanes neighbouring lanes.
  template <class Tensor, int kLanes>
  __device__ __forceinline__ void reduce() {
#pragma unroll
    for (int mask = 1; mask < kLanes; mask *= 2) take_larger<Tensor>(mask);
  }
  // Of the lane whose number differs by `mask`.
  template <class Tensor>
  __device__ __forceinline__ void take_larger(int mask) {
    positive = max_or_nan(positive, shuffle_xor(positive, mask));
    if constexpr (Tensor::kAsymmetric) {
      negative = max_or_nan(negative, shuffle_xor(negative, mask));
    }
  }

  // Into two words of shared memory, and from there: numbers that are not negative order like their
  // bits, NaN above all.
  __device__ __forceinline__ void give(u32 entry) const {
    shared_max(entry, bits_of_float(positive));
    shared_max(entry + 4, bits_of_float(negative));
  }
  __device__ __forceinline__ void take(u32 entry) {
    positive = float_from_bits(load_shared_4(entry));
    negative = float_from_bits(load_shared_4(entry + 4));
  }
};

}  // namespace heddle

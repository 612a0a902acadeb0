// What a matrix instruction makes of decoded weights in registers and of tokens in shared memory.
//
// Config::Products is HalfProducts or, of tokens of eight bits, ByteProducts.
#pragma once

#include "primitives/wgmma_bytes.cuh"

namespace heddle {

// The first kCount values of an array in registers, as an array of their own.
template <int kCount, class T, int kAll>
__device__ __forceinline__ T (&first_values(T (&values)[kAll]))[kCount] {
  static_assert(kCount <= kAll, "as many as there are");
  if constexpr (kCount == kAll) {
    return values;
  } else {
    return reinterpret_cast<T(&)[kCount]>(values);
  }
}

// Products of 16 bits.
template <class Value>
struct HalfProducts {
  using Sum = float;
  template <int kSums>
  static __device__ __forceinline__ void multiply(float (&sums)[kSums], const u32 (&weights)[4],
                                                  u64 tokens, bool add) {
    wgmma(Value{}, sums, weights, tokens, add);
  }
  static __device__ __forceinline__ float as_float(float sum) { return sum; }
};

// Products of codes of eight bits; sums of INT8 are integers, of which those of 1024 columns are
// exact in FP32.
template <class Weights, class Tokens>
struct ByteProducts {
  using Sum = typename Weights::Sum;
  template <int kSums>
  static __device__ __forceinline__ void multiply(Sum (&sums)[kSums], const u32 (&weights)[4],
                                                  u64 tokens, bool add) {
    wgmma(Weights{}, Tokens{}, sums, weights, tokens, add);
  }
  static __device__ __forceinline__ float as_float(float sum) { return sum; }
  static __device__ __forceinline__ float as_float(u32 sum) {
    return static_cast<float>(static_cast<int>(sum));
  }
};

}  // namespace heddle

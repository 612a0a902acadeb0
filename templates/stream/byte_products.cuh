// What the matrix instruction makes of weights of four bits and tokens of eight: Config::Products.
#pragma once

#include "primitives/mma_bytes.cuh"
#include "stream/products.cuh"

namespace heddle {

// 32 columns of INT8, whose sums are integers: those of a group become FP32 to be scaled, exactly.
struct StreamInt8Products {
  using Sum = u32;
  static constexpr int kTileColumns = 32;
  static __device__ __forceinline__ void multiply(u32 (&sums)[4], const u32 (&a)[4], u32 b0,
                                                  u32 b1) {
    mma16832(Int8Codes{}, Int8Codes{}, sums, a, b0, b1);
  }
  static __device__ __forceinline__ void add(RowPair scales, const u32 (&part)[4],
                                             float (&sums)[4]) {
    float floats[4];
#pragma unroll
    for (int v = 0; v < 4; ++v) floats[v] = static_cast<float>(static_cast<int>(part[v]));
    add_scaled(scales, floats, sums);
  }
  static __device__ __forceinline__ void add(RowPair /*scales*/, const u32 (&part)[4],
                                             u32 (&sums)[4]) {
#pragma unroll
    for (int v = 0; v < 4; ++v) sums[v] += part[v];
  }
};

// Codes of FP8 become FP16, which holds all of them, and so do weights. Decoded as those of the
// order fragment, words of byte_fragment have columns 4t, 4t + 2 of a tile of 16 in a[0] and a[1],
// columns 4t + 1, 4t + 3 in a[2] and a[3]: `even` and `odd` are the same columns of a token.
template <class Codes>
struct StreamFp8Products : StreamHalfProducts<Fp16> {
  static __device__ __forceinline__ void widen(u32 four, u32& even, u32& odd) {
    widen_as(Codes{}, four, even, odd);
  }

 private:
  static __device__ __forceinline__ void widen_as(E4m3Codes, u32 four, u32& even, u32& odd) {
    const u32 in_order = prmt<0x3120>(four, 0);
    even = fp16_from_e4m3(in_order);
    odd = fp16_from_high_e4m3(in_order);
  }
  // An e5m2 is the upper byte of an FP16.
  static __device__ __forceinline__ void widen_as(E5m2Codes, u32 four, u32& even, u32& odd) {
    even = prmt<0x2404>(four, 0);
    odd = prmt<0x3414>(four, 0);
  }
};

}  // namespace heddle

// What the matrix instruction makes of a stream's weights and tokens: Config::Products.
#pragma once

#include "primitives/mma.cuh"
#include "steps/decode_scale.cuh"

namespace heddle {

// 16 columns of 16 bits.
template <class Value>
struct StreamHalfProducts {
  using Sum = float;
  static constexpr int kTileColumns = 16;
  static __device__ __forceinline__ void multiply(float (&sums)[4], const u32 (&a)[4], u32 b0,
                                                  u32 b1) {
    MmaAmpere::mma16816(Value{}, sums, a, b0, b1);
  }
  // Adds the sums of a group, scaled, or those of a stage.
  static __device__ __forceinline__ void add(RowPair scales, const float (&part)[4],
                                             float (&sums)[4]) {
    add_scaled(scales, part, sums);
  }
};

}  // namespace heddle

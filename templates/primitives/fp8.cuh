// FP32 to 8-bit floats. Where HEDDLE_CONVERTS_FP8 is false there is no instruction for it; see
// SmallFloat.
#pragma once

#include "primitives/types.cuh"
#include "primitives/versions.cuh"

namespace heddle {

#if HEDDLE_CONVERTS_FP8

// cvt.rn.satfinite.e4m3x2.f32: two codes in the low half, `low` in its low byte. To the nearest,
// ties to even, not above the largest finite value; a NaN becomes 0x7f.
__device__ __forceinline__ u32 e4m3_pair(float low, float high) {
  u32 d;
  asm("{ .reg .b16 t; cvt.rn.satfinite.e4m3x2.f32 t, %1, %2; cvt.u32.u16 %0, t; }"
      : "=r"(d)
      : "f"(high), "f"(low));
  return d;
}

// cvt.rn.satfinite.e5m2x2.f32: the same.
__device__ __forceinline__ u32 e5m2_pair(float low, float high) {
  u32 d;
  asm("{ .reg .b16 t; cvt.rn.satfinite.e5m2x2.f32 t, %1, %2; cvt.u32.u16 %0, t; }"
      : "=r"(d)
      : "f"(high), "f"(low));
  return d;
}

#endif

}  // namespace heddle

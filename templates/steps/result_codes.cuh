// Y in codes of eight bits, whose scale the launch gives: as row_transform writes them, from the
// FP32 outputs.
#pragma once

#include "steps/byte_codes.cuh"
#include "steps/result.cuh"

namespace heddle {

// Code: Int8Code, E4m3Code or E5m2Code. OfResidual: Result16 or ResultFp32.
template <class Code, class OfResidual>
struct ResultCodes {
  static constexpr int kBytes = 1;
  using Residual = OfResidual;
  using Scale = CodeScale;
  static __device__ __forceinline__ Scale load_scale(const u8* y_scales) {
    return given_scale(float_from_bits(load_global_4(y_scales)));
  }

  // Two outputs, as 16 bits each.
  static __device__ __forceinline__ u32 rounded(float low, float high, const Scale& scale) {
    return prmt<0x4140>(pair(low, high, scale), 0);
  }
  static __device__ __forceinline__ void store_rounded(u8* y, u32x4 v) {
    store_global_8(y, prmt<0x6420>(v.x, v.y), prmt<0x6420>(v.z, v.w));
  }
  static __device__ __forceinline__ void store(u8* y, const Sums8& sum, const u8* y_scales) {
    const Scale scale = load_scale(y_scales);
    store_global_8(y, four(sum.v, scale), four(sum.v + 4, scale));
  }

 private:
  static __device__ __forceinline__ u32 pair(float low, float high, const Scale& scale) {
    return Code::pair(multiply(low, scale.inverse), multiply(high, scale.inverse)) & scale.mask;
  }
  static __device__ __forceinline__ u32 four(const float* v, const Scale& scale) {
    return pair(v[0], v[1], scale) | pair(v[2], v[3], scale) << 16;
  }
};

}  // namespace heddle

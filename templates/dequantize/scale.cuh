// From decoded codes to weights: the product with the scale, rounded once.
//
// (q - zero) is exact in 16 bits. With a scale of the same type one packed product is the only
// rounding. Any other product is made in FP32: those of a code and of a scale with at most 11 bits
// of mantissa fit it, the others are rounded to odd, so that the conversion to 16 bits is again the
// only rounding.
#pragma once

#include "dequantize/config.h"
#include "primitives/bits.cuh"
#include "primitives/float.cuh"
#include "primitives/half.cuh"
#include "primitives/memory.cuh"

namespace heddle {

// How a scale is stored, and its value.
struct ScaleFp16 {
  static constexpr int kBytes = 2;
  static __device__ __forceinline__ float value(u32 bits) { return Fp16::low_to_float(bits); }
};
struct ScaleBf16 {
  static constexpr int kBytes = 2;
  static __device__ __forceinline__ float value(u32 bits) { return Bf16::low_to_float(bits); }
};
struct ScaleFp32 {
  static constexpr int kBytes = 4;
  static __device__ __forceinline__ float value(u32 bits) { return float_from_bits(bits); }
};
constexpr u32 kNanBits = 0x7fc00000u;
// 2^(code - 127): the code is the exponent's bits, but zero is 2^-127 and 255 is NaN.
struct ScaleE8m0 {
  static constexpr int kBytes = 1;
  static __device__ __forceinline__ float value(u32 bits) {
    const u32 power = bits == 0 ? 0x00400000u : bits << 23;
    return float_from_bits(bits == 0xff ? kNanBits : power);
  }
};
// Exponent and mantissa go where FP32 has them; 2^120 corrects the bias and repairs subnormals.
struct ScaleE4m3 {
  static constexpr int kBytes = 1;
  static __device__ __forceinline__ float value(u32 bits) {
    const u32 magnitude = bits & 0x7f;
    const float moved = float_from_bits((bits & 0x80) << 24 | magnitude << 20) * 0x1p120f;
    return magnitude == 0x7f ? float_from_bits(kNanBits) : moved;
  }
};

// Raw scales of `kCount` neighbours: as many 32-bit words as they fill.
template <class Scale, int kCount>
struct RawScales {
  static constexpr int kWords = kCount * Scale::kBytes / 4;
  u32 words[kWords];

  // `at` is aligned to the smaller of 16 bytes and the size of all.
  __device__ __forceinline__ void load(const u8* at) {
#pragma unroll
    for (int i = 0; i < kWords; i += kWords < 4 ? kWords : 4) {
      if constexpr (kWords >= 4) {
        const u32x4 v = load_global_16(at + 4 * i);
        words[i] = v.x;
        words[i + 1] = v.y;
        words[i + 2] = v.z;
        words[i + 3] = v.w;
      } else if constexpr (kWords == 2) {
        const u64 v = *reinterpret_cast<const u64*>(at);
        words[0] = static_cast<u32>(v);
        words[1] = static_cast<u32>(v >> 32);
      } else {
        words[0] = *reinterpret_cast<const u32*>(at);
      }
    }
  }
  __device__ __forceinline__ u32 operator[](int i) const {
    if constexpr (Scale::kBytes == 4) return words[i];
    if constexpr (Scale::kBytes == 2) return words[i / 2] >> (16 * (i % 2)) & 0xffff;
    return words[i / 4] >> (8 * (i % 4)) & 0xff;
  }
};

// What the two halves of a register of decoded codes are multiplied by.
template <class Config>
struct PairScale {
  using Value = typename Config::Value;
  using Scale = typename Config::Scale;
  static constexpr WeightScaling kScaling = Config::value.scaling;
  static constexpr bool kPacked = kScaling.product == ScaleProduct::kPacked;
  static constexpr bool kExact = kScaling.product == ScaleProduct::kExact;
  static constexpr bool kFloatZero = kScaling.zero == ZeroKind::kFloat;

  u32 packed;                               // kPacked
  float low, high;                          // else
  float zero_low = 0.0f, zero_high = 0.0f;  // kFloatZero

  // Raw scales of the halves. `tensor`: the tensor's scale, 1 if there is none.
  __device__ __forceinline__ void set(u32 low_bits, u32 high_bits, float tensor) {
    if constexpr (kPacked) {
      packed = low_bits | high_bits << 16;
    } else {
      low = Scale::value(low_bits);
      high = Scale::value(high_bits);
      if constexpr (kScaling.tensor_scale && !kExact) {
        low = low * tensor;
        high = high * tensor;
      }
    }
  }
  __device__ __forceinline__ void set_zeros(u32 low_bits, u32 high_bits) {
    zero_low = Scale::value(low_bits);
    zero_high = Scale::value(high_bits);
  }

  __device__ __forceinline__ u32 apply(u32 codes, float tensor) const {
    if constexpr (kPacked) {
      return Value::mul2(codes, packed);
    } else {
      return Value::from_floats(product(Value::low_to_float(codes), low, zero_low, tensor),
                                product(Value::high_to_float(codes), high, zero_high, tensor));
    }
  }

 private:
  static __device__ __forceinline__ float product(float code, float scale, float zero,
                                                  float tensor) {
    // The decode plan has subtracted code_bias, which a float zero point does not mean.
    if constexpr (kFloatZero) {
      code = (code + static_cast<float>(kScaling.code_bias)) - zero;
    }
    if constexpr (!kExact) {
      return mul_to_odd(code, scale);
    } else if constexpr (kScaling.tensor_scale) {
      return mul_to_odd(code * scale, tensor);
    } else {
      return code * scale;
    }
  }
};

}  // namespace heddle

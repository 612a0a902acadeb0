// Values to codes of a cache, in FP32, step by step as generator/kv/kv_codec.cc does it on the
// host: the results are the same bits.
//
// Of one tensor, K or V:
// heddle-parameters: kBits k16Bit kFloatCodes kExponentBits kMantissaBits kLargestCode kAsymmetric
// heddle-parameters: kLow kHigh kBias kDivisor kGranularity kGroupSize kGivenFactor kScaleType
// heddle-parameters: kScaleBytes kNanScale kRowBytes kScaleRowBytes kScaleHeads kOfInput Stored
#pragma once

#include "kv_append/range.cuh"
#include "primitives/fp8.cuh"
#include "primitives/memory.cuh"
#include "quantize/rounding.cuh"

namespace heddle {

constexpr float kLargestFloat = 0x1.fffffep127f;
constexpr float kLargestKvScale = 0x1.fep125f;  // what is found is not larger
// 1.5 * 2^23: FP32 numbers near it are the integers, which stand in the low bits.
constexpr float kMagic = 12582912.0f;
constexpr u32 kMagicBits = 0x4b400000u;

struct KvScale {
  u32 bits;       // as stored
  float scale;    // what it stands for
  float inverse;  // 0: all codes are those of zero
  float zero;     // code of zero
};

// As round_scale(), by the conversions that the architecture has.
template <ScaleType kType>
__device__ __forceinline__ RoundedScale round_kv_scale(float scale) {
  if constexpr (kType == ScaleType::kFp16) {
    const u32 bits = Fp16::from_floats(clamp(scale, 0.0f, 65504.0f), 0.0f);
    return {bits, Fp16::low_to_float(bits)};
  } else if constexpr (kType == ScaleType::kE4m3) {
#if __CUDA_ARCH__ >= 890
    const u32 bits = e4m3_pair(scale, 0.0f);
    return {bits, float_from_bits(bits << 20) * 0x1p120f};
#else
    return round_scale<kType>(scale);
#endif
  } else {
    return round_scale<kType>(scale);
  }
}

template <class Tensor>
struct KvEncode {
  using CodeFloat = SmallFloat<Tensor::kExponentBits, Tensor::kMantissaBits, Tensor::kLargestCode>;
  static constexpr int kWords = Tensor::kBits / 2;  // of 16 codes
  static constexpr float kBias = Tensor::kBias;
  static constexpr bool kGivenScale = Tensor::kGranularity == KvGranularity::kTensor;

  static __device__ __forceinline__ float limited(float code) {
    return clamp(code, Tensor::kLow, Tensor::kHigh);
  }

  static __device__ __forceinline__ bool is_usable(float scale) {
    return scale >= 0x1p-126f && scale < 0x1p126f;
  }
  static __device__ __forceinline__ KvScale usable(u32 bits, float scale) {
    if (!is_usable(scale)) return {0, 0.0f, 0.0f, kBias};
    return {bits, scale, reciprocal(scale), kBias};
  }

  static __device__ __forceinline__ KvScale given_scale(const float* given) {
    KvScale result = usable(0, float_from_bits(load_global_4(given)));
    if constexpr (Tensor::kAsymmetric) {
      const float zero = float_from_bits(load_global_4(given + 1));
      result.zero = limited(round_to_integer(zero != zero ? 0.0f : zero));
    }
    return result;
  }

  // `factor`: with kGivenFactor what all scales are multiplied by.
  static __device__ __forceinline__ KvScale scale_of(const KvRange& range, float factor) {
    const bool finite = range.positive <= kLargestFloat && range.negative <= kLargestFloat;
    if (!finite) return {Tensor::kNanScale, 0.0f, 0.0f, kBias};
    const float width = Tensor::kAsymmetric ? range.positive + range.negative : range.positive;
    float wanted = multiply(width, 1.0f / Tensor::kDivisor);
    if constexpr (Tensor::kGivenFactor) {
      wanted = is_usable(factor) ? multiply(wanted, reciprocal(factor)) : 0.0f;
    }
    wanted = wanted < kLargestKvScale ? wanted : kLargestKvScale;
    const RoundedScale rounded = round_kv_scale<Tensor::kScaleType>(wanted);
    KvScale result = usable(rounded.bits,
                            Tensor::kGivenFactor ? multiply(rounded.value, factor) : rounded.value);
    if (Tensor::kAsymmetric && result.inverse != 0.0f) {
      result.zero = limited(multiply_add(range.negative, result.inverse, kMagic) - kMagic);
    }
    return result;
  }

  static __device__ __forceinline__ u32 float_code(float value) {
    const u32 bits = bits_of_float(value);
    const float magnitude = float_from_bits(bits & 0x7fffffffu);
    if (Tensor::kBits == 8 && value != value) return 0x7f;
    return CodeFloat::nearest(magnitude) | bits >> 31 << (Tensor::kBits - 1);
  }

  // Two codes of 8-bit floats in the low half.
  static __device__ __forceinline__ u32 float_pair(float low, float high) {
#if __CUDA_ARCH__ >= 890
    return Tensor::kMantissaBits == 3 ? e4m3_pair(low, high) : e5m2_pair(low, high);
#else
    return float_code(low) | float_code(high) << 8;
#endif
  }

  // Brings values into the range of the integer codes. Those that share a scale made of them are
  // nearly always inside: only where the scale is a subnormal number or the largest are they not.
  static __device__ __forceinline__ void limit_values(const KvRange& range, const KvScale& scale,
                                                      float (&x)[16]) {
    const float highest = multiply(Tensor::kHigh - scale.zero, scale.scale);
    const float lowest = multiply(Tensor::kLow - scale.zero, scale.scale);
    if constexpr (!kGivenScale) {
      // Less than half a step beyond the last code rounds to it.
      const float slack = multiply(scale.scale, 0.25f);
      const float negative = Tensor::kAsymmetric ? range.negative : range.positive;
      if (range.positive <= highest + slack && negative <= slack - lowest) return;
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      // Beside a given scale a NaN becomes a zero; elsewhere it has left its group no scale.
      const bool nan = kGivenScale && x[i] != x[i];
      x[i] = nan ? 0.0f : clamp(x[i], lowest, highest);
    }
  }

  static __device__ __forceinline__ u32 integer_word(const float* x, const KvScale& scale) {
    constexpr int kCodes = 32 / Tensor::kBits;
    u32 rounded[kCodes];
#pragma unroll
    for (int i = 0; i < kCodes; ++i) {
      // One rounding: to the nearest integer, ties to even.
      rounded[i] = bits_of_float(multiply_add(x[i], scale.inverse, kMagic + scale.zero));
    }
    if constexpr (Tensor::kBits == 8) {
      return prmt<0x5410>(prmt<0x0040>(rounded[0], rounded[1]),
                          prmt<0x0040>(rounded[2], rounded[3]));
    }
    // From the last code to the first, each shifts those after it up.
    u32 word = 0;
    u32 magic = 0;
#pragma unroll
    for (int i = kCodes - 1; i >= 0; --i) {
      word = (word << Tensor::kBits) + rounded[i];
      magic = (magic << Tensor::kBits) + kMagicBits;
    }
    return word - magic;
  }

  static __device__ __forceinline__ u32 float_word(const float* x, const KvScale& scale) {
    if constexpr (Tensor::kBits == 8) {
      const u32 low = float_pair(multiply(x[0], scale.inverse), multiply(x[1], scale.inverse));
      const u32 high = float_pair(multiply(x[2], scale.inverse), multiply(x[3], scale.inverse));
      return low | high << 16;
    }
    u32 word = 0;
#pragma unroll
    for (int i = 7; i >= 0; --i) word = word << 4 | float_code(multiply(x[i], scale.inverse));
    return word;
  }

  // Of 16 neighbouring elements of a row, whose values may be changed.
  static __device__ __forceinline__ void codes(const KvRange& range, const KvScale& scale,
                                               float (&x)[16], u32 (&words)[kWords]) {
    if constexpr (!Tensor::kFloatCodes) limit_values(range, scale, x);
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const float* first = x + w * (32 / Tensor::kBits);
      words[w] = Tensor::kFloatCodes ? float_word(first, scale) : integer_word(first, scale);
    }
    if (scale.inverse == 0.0f) {
      constexpr u32 kOnes = 0xffffffffu / ((1u << Tensor::kBits) - 1);
      const u32 zeros = Tensor::kFloatCodes ? 0 : static_cast<u32>(scale.zero) * kOnes;
#pragma unroll
      for (int w = 0; w < kWords; ++w) words[w] = zeros;
    }
  }

  static __device__ __forceinline__ void store_scale(u8* to, const KvScale& scale) {
    u32 zero = 0;
    if constexpr (Tensor::kAsymmetric) {
      zero = bits_of_float(scale.zero);
      if constexpr (Tensor::kScaleType == ScaleType::kFp16) zero = Fp16::from_floats(scale.zero, 0);
      // Small integers are bfloat16 numbers.
      if constexpr (Tensor::kScaleType == ScaleType::kBf16) zero >>= 16;
    }
    if constexpr (Tensor::kScaleBytes == 1) {
      store_global_1(to, scale.bits);
    } else if constexpr (Tensor::kScaleBytes == 2 && Tensor::kAsymmetric) {
      store_global_4(to, scale.bits | zero << 16);
    } else if constexpr (Tensor::kScaleBytes == 2) {
      store_global_2(to, scale.bits);
    } else if constexpr (Tensor::kAsymmetric) {
      store_global_8(to, scale.bits, zero);
    } else {
      store_global_4(to, scale.bits);
    }
  }
};

// What one thread writes of 16 neighbouring elements: 4 to 32 bytes.
template <int kWords>
__device__ __forceinline__ void store_words(u8* to, const u32 (&words)[kWords]) {
  if constexpr (kWords == 8) {
    store_global_16(to, {words[0], words[1], words[2], words[3]});
    store_global_16(to + 16, {words[4], words[5], words[6], words[7]});
  } else if constexpr (kWords == 4) {
    store_global_16(to, {words[0], words[1], words[2], words[3]});
  } else if constexpr (kWords == 2) {
    store_global_8(to, words[0], words[1]);
  } else {
    store_global_4(to, words[0]);
  }
}

}  // namespace heddle

// Values to codes of a cache, in FP32, step by step as generator/kv/kv_codec.cc does it on the
// host: the results are the same bits.
#pragma once

#include "kv_append/e2m1.cuh"
#include "kv_append/range.cuh"
#include "primitives/memory.cuh"
#include "steps/byte_codes.cuh"

namespace heddle {

constexpr float kLargestKvScale = 0x1.fep125f;  // what is found is not larger

struct KvScale {
  u32 bits;       // as stored
  float scale;    // what it stands for
  float inverse;  // 0: all codes are those of zero
  float zero;     // code of zero
};

// Rounds a scale as round_scale() does, by the conversions that the architecture has.
template <ScaleType kType>
__device__ __forceinline__ RoundedScale round_kv_scale(float scale) {
  if constexpr (kType == ScaleType::kFp16) {
    const u32 bits = Fp16::from_floats(scale < 65504.0f ? scale : 65504.0f, 0.0f);
    return {bits, Fp16::low_to_float(bits)};
  } else if constexpr (kType == ScaleType::kE4m3) {
#if HEDDLE_CONVERTS_FP8
    const u32 bits = e4m3_pair(scale, 0.0f);
    return {bits, float_from_bits(bits << 20) * 0x1p120f};
#else
    return round_scale<kType>(scale);
#endif
  } else {
    return round_scale<kType>(scale);
  }
}

// Tensor: KTensor or VTensor of a Config.
template <class Tensor>
struct KvEncode {
  using CodeFloat = SmallFloat<Tensor::value.exponent_bits, Tensor::value.mantissa_bits,
                               Tensor::value.largest_code>;
  static constexpr int kWords = Tensor::value.bits / 2;  // of 16 codes
  static constexpr float kBias = Tensor::value.bias;
  static constexpr bool kGivenScale = Tensor::value.granularity == KvGranularity::kTensor;

  static __device__ __forceinline__ float limited(float code) {
    return clamp(code, Tensor::value.low, Tensor::value.high);
  }

  static __device__ __forceinline__ bool is_usable(float scale) {
    return scale >= 0x1p-126f && scale < 0x1p126f;
  }
  static __device__ __forceinline__ KvScale usable(u32 bits, float scale) {
    if (!is_usable(scale)) return {0, 0.0f, 0.0f, kBias};
    return {bits, scale, reciprocal(scale), kBias};
  }

  static __device__ __forceinline__ KvScale given_scale(const float* given) {
    KvScale result = usable(0, float_from_bits(load_global_4_l2(given)));
    if constexpr (Tensor::value.asymmetric) {
      const float zero = float_from_bits(load_global_4_l2(given + 1));
      result.zero = limited(round_to_integer(zero != zero ? 0.0f : zero));
    }
    return result;
  }

  // `factor`: what all scales are multiplied by, where the tensor has a given one.
  static __device__ __forceinline__ KvScale scale_of(const KvRange& range, float factor) {
    const bool finite = range.positive <= kLargestFloat && range.negative <= kLargestFloat;
    const float width = Tensor::value.asymmetric ? range.positive + range.negative : range.positive;
    float wanted = multiply(width, 1.0f / Tensor::value.divisor);
    if constexpr (Tensor::value.given_factor) {
      wanted = is_usable(factor) ? multiply(wanted, reciprocal(factor)) : 0.0f;
    }
    if constexpr (Tensor::value.scale_type != ScaleType::kFp16)
      wanted = wanted < kLargestKvScale ? wanted : kLargestKvScale;
    const RoundedScale rounded = round_kv_scale<Tensor::value.scale_type>(wanted);
    const float value =
        Tensor::value.given_factor ? multiply(rounded.value, factor) : rounded.value;
    // All FP16 numbers but zero are.
    const bool is_some =
        Tensor::value.scale_type == ScaleType::kFp16 ? value != 0.0f : is_usable(value);
    const bool divides = is_some && finite;
    KvScale result{is_some ? rounded.bits : 0, divides ? value : 0.0f,
                   divides ? reciprocal(value) : 0.0f, kBias};
    if (!finite) result.bits = Tensor::value.nan_scale;
    if (Tensor::value.asymmetric && result.inverse != 0.0f) {
      result.zero = limited(multiply_add(range.negative, result.inverse, kMagic) - kMagic);
    }
    return result;
  }

  // Whether values of this range have codes without a clamp: what shares a scale made of it nearly
  // always does, but where that is a subnormal number, the largest or none.
  static __device__ __forceinline__ bool fits(const KvRange& range, const KvScale& scale) {
    // Less than half a step beyond the last code rounds to it.
    constexpr float kSlack = 0.25f;
    if constexpr (Tensor::value.is_float) {
      return range.positive <= kLargestFloat;
    } else if constexpr (Tensor::value.asymmetric) {
      const float slack = multiply(scale.scale, kSlack);
      return range.positive <= multiply(Tensor::value.high - scale.zero, scale.scale) + slack &&
             range.negative <= multiply(scale.zero - Tensor::value.low, scale.scale) + slack;
    } else {
      return range.positive <= multiply(scale.scale, Tensor::value.high - kBias + kSlack);
    }
  }

  // Brings values into the range of the integer codes.
  template <int kCount>
  static __device__ __forceinline__ void limit_values(const KvRange& range, const KvScale& scale,
                                                      float* x) {
    if constexpr (!kGivenScale) {
      if (fits(range, scale)) return;
    }
    const float highest = multiply(Tensor::value.high - scale.zero, scale.scale);
    const float lowest = multiply(Tensor::value.low - scale.zero, scale.scale);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      // Beside a given scale a NaN becomes a zero; elsewhere it has left its group the scale 0,
      // and all of it becomes zeros.
      const bool nan = kGivenScale && x[i] != x[i];
      x[i] = nan ? 0.0f : clamp(x[i], lowest, highest);
    }
  }

  // kCodes codes of values by their scale: of integers the sums with kMagic that round them.
  template <int kCodes>
  static __device__ __forceinline__ u32 pack(const float* scaled) {
    if constexpr (Tensor::value.is_float && Tensor::value.bits == 8) {
      return fp8_pair<CodeFloat>(scaled[0], scaled[1]) | fp8_pair<CodeFloat>(scaled[2], scaled[3])
                                                             << 16;
    } else if constexpr (Tensor::value.is_float) {
      return e2m1_word(scaled);
    } else if constexpr (Tensor::value.bits == 8) {
      return prmt<0x5410>(prmt<0x0040>(bits_of_float(scaled[0]), bits_of_float(scaled[1])),
                          prmt<0x0040>(bits_of_float(scaled[2]), bits_of_float(scaled[3])));
    } else {
      // Goes from the last code to the first: each shifts those after it up.
      u32 word = 0;
      u32 magic = 0;
#pragma unroll
      for (int i = kCodes - 1; i >= 0; --i) {
        word = (word << Tensor::value.bits) + bits_of_float(scaled[i]);
        magic = (magic << Tensor::value.bits) + kMagicBits;
      }
      return word - magic;
    }
  }

  // The codes of 16 elements of a row, each with the scale of its share of them. Changes x.
  template <int kScales>
  static __device__ __forceinline__ void codes(const KvRange (&range)[kScales],
                                               const KvScale (&scale)[kScales], float (&x)[16],
                                               u32 (&words)[kWords]) {
    constexpr int kCount = 16 / kScales;
    if constexpr (kWords == 1) words[0] = 0;
    constexpr int kCodes =
        kCount * Tensor::value.bits < 32 ? kCount : 32 / Tensor::value.bits;  // of a word
#pragma unroll
    for (int s = 0; s < kScales; ++s) {
      float* const own = x + s * kCount;
      if constexpr (!Tensor::value.is_float) limit_values<kCount>(range[s], scale[s], own);
#pragma unroll
      for (int i = 0; i < kCount; i += kCodes) {
        float scaled[kCodes];
#pragma unroll
        for (int j = 0; j < kCodes; ++j) {
          // Integers: one rounding, to the nearest, ties to even.
          scaled[j] = Tensor::value.is_float
                          ? multiply(own[i + j], scale[s].inverse)
                          : multiply_add(own[i + j], scale[s].inverse, kMagic + scale[s].zero);
        }
        u32 word = pack<kCodes>(scaled);
        if (Tensor::value.is_float && scale[s].inverse == 0.0f) word = 0;
        const int bit = (s * kCount + i) * Tensor::value.bits;
        if constexpr (kCodes * Tensor::value.bits == 32) {
          words[bit / 32] = word;
        } else {
          words[bit / 32] |= (word & 0xffffu) << bit % 32;
        }
      }
    }
  }

  static __device__ __forceinline__ void store_scale(u8* to, const KvScale& scale) {
    constexpr int kScaleBytes = Tensor::value.scale_bytes();
    u32 zero = 0;
    if constexpr (Tensor::value.asymmetric) {
      zero = bits_of_float(scale.zero);
      if constexpr (Tensor::value.scale_type == ScaleType::kFp16)
        zero = Fp16::from_floats(scale.zero, 0);
      // Small integers are bfloat16 numbers.
      if constexpr (Tensor::value.scale_type == ScaleType::kBf16) zero >>= 16;
    }
    if constexpr (kScaleBytes == 1) {
      store_global_1(to, scale.bits);
    } else if constexpr (kScaleBytes == 2 && Tensor::value.asymmetric) {
      store_global_4(to, scale.bits | zero << 16);
    } else if constexpr (kScaleBytes == 2) {
      store_global_2(to, scale.bits);
    } else if constexpr (Tensor::value.asymmetric) {
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

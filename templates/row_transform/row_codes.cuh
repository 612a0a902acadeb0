// The scale of values, in FP32, and their codes of eight bits, step by step as
// docs/kv-caches-and-attention.md has them: the results are those bits.
#pragma once

#include "primitives/float.cuh"
#include "primitives/memory.cuh"
#include "row_transform/row_reduce.cuh"
#include "steps/byte_codes.cuh"

namespace heddle {

struct RowScale {
  u32 bits = 0;          // as stored
  float inverse = 0.0f;  // what values are multiplied by
  int zero = 0;          // the code of zero
  u32 mask = 0;          // of the codes: 0 makes all of them zero
};

template <class Config>
struct RowCodes {
  static constexpr RowOutputConfig kOutput = Config::value.output;
  static constexpr bool kInteger = kOutput.dtype == RowDtype::kInt8;
  static constexpr bool kGiven = kOutput.granularity == RowGranularity::kTensor;
  static constexpr bool kE8m0 = kOutput.scale_dtype == RowScaleDtype::kE8m0;
  using Range = ValueRange<kOutput.asymmetric>;

  // The largest code's value; with zero points the number of steps between the codes.
  static constexpr float kLargest = kOutput.asymmetric                    ? 255.0f
                                    : kInteger                            ? 127.0f
                                    : kOutput.dtype == RowDtype::kFp8E4m3 ? 448.0f
                                                                          : 57344.0f;

  static __device__ __forceinline__ RowScale scale_of(const Range& range) {
    const float width = kOutput.asymmetric ? range.positive + range.negative : range.positive;
    const bool finite = width <= kLargestFloat;
    const FoundScale found = finite_scale<kE8m0>(width, kLargest);
    RowScale scale;
    scale.bits = found.bits;
    scale.inverse = found.of_codes.inverse;
    if constexpr (kOutput.asymmetric) {
      scale.zero = finite ? nearest_integer(multiply(range.negative, scale.inverse)) - 128 : 0;
    }
    if (!finite) scale.bits = kNanScale<kE8m0>;
    scale.mask = finite ? 0xffffffffu : 0u;
    return scale;
  }

  static __device__ __forceinline__ RowScale given_scale(const float* tensor_scale) {
    const CodeScale given = heddle::given_scale(float_from_bits(load_global_4_l2(tensor_scale)));
    RowScale scale;
    scale.inverse = given.inverse;
    scale.mask = given.mask;
    return scale;
  }

  static __device__ __forceinline__ void codes(const float (&v)[kVectorElements],
                                               const RowScale& scale, u32 (&words)[2]) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float t[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) t[j] = multiply(v[4 * i + j], scale.inverse);
      words[i] = pack(t, scale.zero) & scale.mask;
    }
  }

 private:
  static __device__ __forceinline__ u32 pack(const float (&t)[4], int zero) {
    if constexpr (kInteger) {
      int code[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        // A range that was found leaves no value beyond the codes but for a rounding.
        code[j] = (kGiven ? Int8Code::of(t[j]) : nearest_integer(t[j])) + zero;
      }
      return pack_s8(code[0], code[1], pack_s8(code[2], code[3], 0));
    } else if constexpr (kOutput.dtype == RowDtype::kFp8E4m3) {
      return E4m3Code::pair(t[0], t[1]) | E4m3Code::pair(t[2], t[3]) << 16;
    } else {
      return E5m2Code::pair(t[0], t[1]) | E5m2Code::pair(t[2], t[3]) << 16;
    }
  }
};

}  // namespace heddle

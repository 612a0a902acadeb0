// quantize_weights() against the nearest code in double precision, and what is special.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "generator/decode/decode_plan.h"
#include "generator/decode/float16.h"
#include "generator/decode/requests.h"
#include "heddle/error.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

WeightOpSpec quantize_spec(int bits, WeightType type, ZeroPoint zero, DType scale, int group = 32) {
  WeightOpSpec spec;
  spec.shape = {8, 64};
  spec.weight.bits = bits;
  spec.weight.type = type;
  spec.weight.zero_point = zero;
  spec.weight.scale_dtype = scale;
  spec.weight.group_size = group;
  return spec;
}

std::uint16_t bits_of(DType dtype, double value) {
  return float16_from_double(float16_format(dtype), value);
}

double value_of(DType dtype, std::uint16_t bits) {
  return float16_to_double(float16_format(dtype), bits);
}

std::vector<std::uint16_t> random_matrix(const WeightOpSpec& spec, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0.01, 0.3);
  std::vector<std::uint16_t> w(static_cast<std::size_t>(spec.shape.n * spec.shape.k));
  for (std::uint16_t& value : w) value = bits_of(spec.dtype, normal(random));
  return w;
}

// The number that a stored scale stands for, by its format's definition.
double scale_value(DType dtype, const std::uint8_t* at) {
  switch (dtype) {
    case DType::kE8m0:
      return *at == 255 ? NAN : std::ldexp(1.0, *at - 127);
    case DType::kE4m3: {
      if ((*at & 0x7F) == 0x7F) return NAN;
      const int exponent = *at >> 3 & 15;
      const int fraction = *at & 7;
      return exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
    }
    case DType::kFp32: {
      float value = 0;
      std::memcpy(&value, at, 4);
      return value;
    }
    case DType::kFp16:
    case DType::kBf16:
    case DType::kInt8:
    case DType::kFp8E4m3:
    case DType::kFp8E5m2:
      break;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, 2);
  return value_of(dtype, bits);
}

// What each code of the spec stands for, before the zero point.
std::vector<double> code_values(const WeightSpec& weight) {
  std::vector<double> values;
  for (unsigned code = 0; code < 1u << weight.bits; ++code) {
    DecodeRequest request = decode_request(weight, DType::kFp16);
    // As they are: the bias and the zero points are the test's own.
    const int half = 1 << (weight.bits - 1);
    if (request.kind == CodeKind::kInteger) {
      const int value = static_cast<int>(code);
      values.push_back(weight.type == WeightType::kInt && value >= half ? value - 2 * half : value);
      continue;
    }
    const int mantissa = request.mantissa_bits;
    const int bias = (1 << (request.exponent_bits - 1)) - 1;
    const int exponent = static_cast<int>(code) >> mantissa & ((1 << request.exponent_bits) - 1);
    const int fraction = static_cast<int>(code) & ((1 << mantissa) - 1);
    const double magnitude =
        exponent == 0 ? std::ldexp(fraction, 1 - bias - mantissa)
                      : std::ldexp((1 << mantissa) + fraction, exponent - bias - mantissa);
    values.push_back(static_cast<int>(code) >= half ? -magnitude : magnitude);
  }
  // No infinities and no NaN among the results.
  if (weight.type == WeightType::kE4m3) values[0x7F] = values[0xFF] = NAN;
  if (weight.type == WeightType::kE5m2) {
    for (const unsigned code : {0x7Cu, 0x7Du, 0x7Eu, 0x7Fu})
      values[code] = values[code + 128] = NAN;
  }
  return values;
}

struct Group {
  double scale, zero;
};

Group group_at(const WeightOpSpec& spec, const QuantizedWeights& weights, std::size_t group) {
  const auto width = static_cast<std::size_t>(bytes_of(spec.weight.scale_dtype));
  const int half = 1 << (spec.weight.bits - 1);
  const bool integer =
      spec.weight.type == WeightType::kUint || spec.weight.type == WeightType::kInt;
  Group result{scale_value(spec.weight.scale_dtype, &weights.scales[group * width]), 0};
  if (!weights.zeros.empty()) {
    result.zero = code_values(spec.weight)[weights.zeros[group]];
  } else if (integer && spec.weight.type == WeightType::kUint) {
    result.zero = half;
  }
  return result;
}

void expect_nearest(const WeightOpSpec& spec) {
  SCOPED_TRACE(Spec::from_weight_op(Op::kQuantizeWeight, spec).canonical_json());
  const std::vector<std::uint16_t> w = random_matrix(spec, 7);
  const QuantizedWeights weights = quantize_weights(spec, w);
  const std::vector<double> codes = code_values(spec.weight);
  const std::size_t run = spec.weight.group_size > 0
                              ? static_cast<std::size_t>(spec.weight.group_size)
                              : static_cast<std::size_t>(spec.shape.k);
  for (std::size_t i = 0; i < w.size(); ++i) {
    const Group group = group_at(spec, weights, i / run);
    ASSERT_GT(group.scale, 0);
    const double want = value_of(spec.dtype, w[i]) / group.scale + group.zero;
    double best = std::numeric_limits<double>::infinity();
    for (const double code : codes) {
      if (!std::isnan(code)) best = std::min(best, std::abs(code - want));
    }
    // The quotient was rounded to FP32 before the nearest code was looked for.
    const double slack = 1e-6 * (std::abs(want) + 1);
    ASSERT_LE(std::abs(codes[weights.codes[i]] - want), best + slack) << i;
  }
}

constexpr DType kScales[] = {DType::kFp16, DType::kBf16, DType::kFp32, DType::kE8m0, DType::kE4m3};

TEST(QuantizeWeights, GivesTheNearestInteger) {
  for (int bits = 1; bits <= 8; ++bits) {
    for (const WeightType type : {WeightType::kUint, WeightType::kInt}) {
      for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
        if (bits == 1 && zero == ZeroPoint::kNone) continue;
        for (const DType scale : kScales) {
          WeightOpSpec spec = quantize_spec(bits, type, zero, scale);
          spec.dtype = bits % 2 == 0 ? DType::kFp16 : DType::kBf16;
          expect_nearest(spec);
        }
      }
    }
  }
  expect_nearest(quantize_spec(4, WeightType::kUint, ZeroPoint::kInt, DType::kFp16, kPerChannel));
}

TEST(QuantizeWeights, GivesTheNearestFloat) {
  for (const auto& [type, bits] : {std::pair{WeightType::kE4m3, 8},
                                   {WeightType::kE5m2, 8},
                                   {WeightType::kE2m3, 6},
                                   {WeightType::kE3m2, 6},
                                   {WeightType::kE2m1, 4}}) {
    for (const DType scale : kScales) {
      // One over 57344 is no number of e4m3.
      if (type == WeightType::kE5m2 && scale == DType::kE4m3) continue;
      expect_nearest(quantize_spec(bits, type, ZeroPoint::kNone, scale));
    }
  }
}

// The largest value gets the largest code, and its scale is amax / qmax in one rounding.
TEST(QuantizeWeights, SymmetricScaleIsTheLargestValueOverTheLargestCode) {
  const WeightOpSpec spec = quantize_spec(4, WeightType::kUint, ZeroPoint::kNone, DType::kFp32);
  std::vector<std::uint16_t> w(8 * 64, bits_of(DType::kFp16, 0.25));
  w[3] = bits_of(DType::kFp16, -3.5);
  const QuantizedWeights weights = quantize_weights(spec, w);
  float scale = 0;
  std::memcpy(&scale, weights.scales.data(), 4);
  EXPECT_EQ(scale, 0.5F);
  EXPECT_EQ(weights.codes[3], 8 - 7);
  EXPECT_EQ(weights.codes[0], 8);  // 0.25 / 0.5: a tie, to the even code
}

TEST(QuantizeWeights, AsymmetricRangeHoldsZero) {
  const WeightOpSpec spec = quantize_spec(4, WeightType::kUint, ZeroPoint::kInt, DType::kFp32);
  std::vector<std::uint16_t> w(8 * 64, bits_of(DType::kFp16, 1.5));
  for (std::size_t i = 32; i < 64; ++i) w[i] = bits_of(DType::kFp16, -7.5);
  const QuantizedWeights weights = quantize_weights(spec, w);
  float scale = 0;
  std::memcpy(&scale, weights.scales.data(), 4);
  EXPECT_EQ(scale, 0.1F);  // from 0 to 1.5
  EXPECT_EQ(weights.zeros[0], 0);
  EXPECT_EQ(weights.codes[0], 15);
  EXPECT_EQ(weights.zeros[1], 15);  // from -7.5 to 0
  EXPECT_EQ(weights.codes[32], 0);
}

TEST(QuantizeWeights, AGroupOfZerosDividesByNothing) {
  for (const DType scale : kScales) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
      const WeightOpSpec spec = quantize_spec(4, WeightType::kUint, zero, scale);
      const QuantizedWeights weights =
          quantize_weights(spec, std::vector<std::uint16_t>(8 * 64, 0x8000));  // minus zero
      for (const std::uint8_t byte : weights.scales) EXPECT_EQ(byte, 0);
      for (const std::uint8_t code : weights.codes)
        EXPECT_EQ(code, zero == ZeroPoint::kInt ? 0 : 8);
    }
  }
}

TEST(QuantizeWeights, WhatIsNotFiniteStaysInItsGroup) {
  for (const DType scale : kScales) {
    const WeightOpSpec spec = quantize_spec(4, WeightType::kInt, ZeroPoint::kInt, scale);
    const std::vector<std::uint16_t> clean = random_matrix(spec, 9);
    const QuantizedWeights want = quantize_weights(spec, clean);
    for (const std::uint16_t bad : {0x7C00, 0xFC00, 0x7E01, 0xFE00}) {
      std::vector<std::uint16_t> w = clean;
      w[64 + 35] = bad;  // row 1, group 1: group 3 of all
      QuantizedWeights got = quantize_weights(spec, w);
      const auto width = static_cast<std::size_t>(bytes_of(scale));
      EXPECT_TRUE(std::isnan(scale_value(scale, &got.scales[3 * width])));
      EXPECT_EQ(got.zeros[3], 8);  // -8
      for (std::size_t i = 96; i < 128; ++i) EXPECT_EQ(got.codes[i], 8);
      // Everything else is as it was.
      std::copy_n(&want.scales[3 * width], width, &got.scales[3 * width]);
      got.zeros[3] = want.zeros[3];
      std::copy_n(&want.codes[96], 32, &got.codes[96]);
      EXPECT_EQ(got.scales, want.scales);
      EXPECT_EQ(got.zeros, want.zeros);
      EXPECT_EQ(got.codes, want.codes);
    }
  }
}

// There a group is too small for its scale's type, and reads as zeros.
TEST(QuantizeWeights, AScaleThatRoundsToZeroDividesNothing) {
  const WeightOpSpec spec = quantize_spec(8, WeightType::kE5m2, ZeroPoint::kNone, DType::kE4m3);
  const QuantizedWeights weights = quantize_weights(spec, random_matrix(spec, 3));
  for (const std::uint8_t scale : weights.scales) EXPECT_EQ(scale, 0);
  for (const std::uint8_t code : weights.codes) EXPECT_EQ(code, 0);
}

// A bfloat16 matrix may ask for more than an FP16 scale holds: it saturates, and so do the codes.
TEST(QuantizeWeights, ScalesSaturate) {
  WeightOpSpec spec = quantize_spec(4, WeightType::kInt, ZeroPoint::kNone, DType::kFp16);
  spec.dtype = DType::kBf16;
  const std::vector<std::uint16_t> w(8 * 64, bits_of(DType::kBf16, 1e30));
  const QuantizedWeights weights = quantize_weights(spec, w);
  EXPECT_EQ(weights.scales[0] | weights.scales[1] << 8, 0x7BFF);
  EXPECT_EQ(weights.codes[0], 7);
}

TEST(QuantizeWeights, RefusesWhatItCannotMake) {
  const auto refused = [](const WeightOpSpec& spec) {
    try {
      quantize_weights(spec, std::vector<std::uint16_t>(8 * 64));
    } catch (const Error& error) {
      return std::string(error.code());
    }
    return std::string();
  };
  WeightOpSpec spec = quantize_spec(4, WeightType::kNf4, ZeroPoint::kNone, DType::kFp16);
  EXPECT_EQ(refused(spec), "weights.unsupported");
  spec = quantize_spec(1, WeightType::kUint, ZeroPoint::kNone, DType::kFp16);
  EXPECT_EQ(refused(spec), "weights.unsupported");
  spec = quantize_spec(4, WeightType::kUint, ZeroPoint::kFloat, DType::kFp16);
  EXPECT_EQ(refused(spec), "weights.unsupported");
  spec = quantize_spec(4, WeightType::kUint, ZeroPoint::kNone, DType::kFp16, kPerTensor);
  EXPECT_EQ(refused(spec), "weights.unsupported");
  spec = quantize_spec(4, WeightType::kUint, ZeroPoint::kNone, DType::kFp16);
  spec.shape.n = 16;
  EXPECT_EQ(refused(spec), "weights.size");
}

}  // namespace
}  // namespace heddle

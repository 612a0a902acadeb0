#include "tools/gpu_harness/numbers/random_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>

#include "generator/decode/decode_plan.h"
#include "generator/decode/float16.h"
#include "generator/decode/integer_code.h"
#include "generator/decode/requests.h"
#include "generator/layout/groups.h"
#include "generator/layout/plain_sizes.h"
#include "tools/gpu_harness/numbers/stored_scale.h"

namespace heddle {
namespace {

constexpr float kLargestValue = 64;

std::size_t count_of_scales(const MatrixShape& shape, const WeightSpec& weight) {
  if (weight.group_size == kPerTensor) return 1;
  const std::int64_t rows = (shape.n - 1) / weight.group_rows + 1;
  return static_cast<std::size_t>(rows * groups_along_k(weight, shape.k));
}

// Scales lie between 2^this and twice that.
int scale_power(const WeightSpec& weight) {
  if (weight.scale_dtype == DType::kE4m3) return -5;
  return weight.type == WeightType::kE4m3 || weight.type == WeightType::kE5m2 ? -9 : -7;
}

// The bits of a random scale, as many bytes as its type has.
std::uint32_t random_scale(std::mt19937& random, DType type, int power) {
  switch (type) {
    case DType::kE8m0:
      return static_cast<std::uint32_t>(127 + power) + (random() & 1);
    case DType::kE4m3:
      return static_cast<std::uint32_t>(7 + power) << 3 | (random() & 7);
    case DType::kFp16:
      return static_cast<std::uint32_t>(15 + power) << 10 | (random() & 0x3ff);
    case DType::kBf16:
      return static_cast<std::uint32_t>(127 + power) << 7 | (random() & 0x7f);
    case DType::kFp32:
    case DType::kInt8:
    case DType::kFp8E4m3:
    case DType::kFp8E5m2:
      break;
  }
  return static_cast<std::uint32_t>(127 + power) << 23 | (random() & 0x7fffff);
}

// A zero point among the codes, in the scales' type.
std::uint32_t random_float_zero(std::mt19937& random, const WeightSpec& weight) {
  const float zero = static_cast<float>(random() % (16u << weight.bits)) / 16;
  const float centred =
      weight.type == WeightType::kInt ? zero - static_cast<float>(1 << (weight.bits - 1)) : zero;
  if (weight.scale_dtype != DType::kFp32) {
    return float16_from_double(float16_format(weight.scale_dtype), centred);
  }
  std::uint32_t bits = 0;
  std::memcpy(&bits, &centred, 4);
  return bits;
}

// Numbers from 2^-7 up to 2^-3, of both signs.
std::vector<std::uint8_t> random_halves(std::mt19937& random, std::int64_t count,
                                        Float16Format format) {
  constexpr int kLowest = -7, kExponents = 4;
  std::vector<std::uint8_t> bytes;
  bytes.reserve(static_cast<std::size_t>(2 * count));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t bits = random();
    const int exponent = kLowest + static_cast<int>(bits >> 16) % kExponents;
    const std::uint32_t mantissa = bits & ((1U << format.mantissa_bits) - 1);
    append_bits(bytes, format.power_of_two(exponent) | mantissa | (bits & 0x8000), 2);
  }
  return bytes;
}

// Both levels, for codes and zero points that are there.
void add_two_levels(const MatrixShape& shape, const WeightSpec& weight, std::mt19937& random,
                    QuantizedWeights* weights) {
  constexpr unsigned kCodes = 16;
  constexpr int kPower = -10;  // products are up to 128
  const DecodeRequest request = decode_request(weight, DType::kInt8);
  const auto groups = static_cast<std::size_t>(groups_along_k(weight, shape.k));
  weights->scales.resize(static_cast<std::size_t>(shape.n) * groups);
  const auto zero_of = [&](std::size_t at) {
    return weights->zeros.empty() ? 0U : weights->zeros[at];
  };
  for (std::size_t at = 0; at < weights->scales.size(); ++at) {
    const auto fits_all = [&](int scale) {
      return fits_int8(request, 7, zero_of(at), scale) &&
             fits_int8(request, 8, zero_of(at), scale) &&
             fits_int8(request, 0, zero_of(at), scale) &&
             fits_int8(request, kCodes - 1, zero_of(at), scale);
    };
    int scale = 1 + static_cast<int>(random() % kLargestByteScale);
    while (at % 2 == 0 && !fits_all(scale)) scale = (scale + 1) / 2;
    weights->scales[at] = static_cast<std::uint8_t>(scale);
  }
  // The code whose weight is zero where there are no zero points: 0 of int, 8 of uint.
  const unsigned fixed_zero = weight.type == WeightType::kUint ? kCodes / 2 : 0;
  for (std::size_t i = 0; i < weights->codes.size(); ++i) {
    const auto k = static_cast<std::size_t>(shape.k);
    const std::int64_t column = static_cast<std::int64_t>(i % k);
    const std::size_t at =
        i / k * groups + static_cast<std::size_t>(group_of_column(weight, column));
    std::uint8_t& code = weights->codes[i];
    if (fits_int8(request, code, zero_of(at), weights->scales[at])) continue;
    const bool up = (code & 1) != 0;  // one step from zero, if that fits
    const unsigned zero = weights->zeros.empty() ? fixed_zero : zero_of(at);
    const unsigned beside = (zero + (up ? 1 : kCodes - 1)) % kCodes;
    code = static_cast<std::uint8_t>(
        fits_int8(request, beside, zero_of(at), weights->scales[at]) ? beside : zero);
  }
  for (std::int64_t row = 0; row < shape.n; ++row) {
    append_bits(weights->channel_scales, random_scale(random, *weight.channel_scale, kPower),
                bytes_of(*weight.channel_scale));
  }
}

}  // namespace

std::vector<float> code_values(const WeightSpec& weight, DType dtype) {
  WeightSpec plain = weight;
  plain.zero_point = ZeroPoint::kNone;
  plain.interleave = Interleave::kFragment;
  plain.permutation.clear();
  plain.channel_scale.reset();
  const DecodeRequest request = decode_request(plain, dtype);
  std::vector<float> values(std::size_t{1} << weight.bits);
  for (unsigned code = 0; code < values.size(); ++code) {
    values[code] = static_cast<float>(
        float16_to_double(float16_format(dtype), reference_decode(request, code, 0)));
  }
  return values;
}

std::size_t code_at(const WeightSpec& weight, const QuantizedWeights& weights, std::size_t index) {
  return read_bits(weights.codes, index, static_cast<int>(code_bytes(weight)));
}

std::vector<std::uint8_t> random_codes(std::mt19937& random, std::int64_t count, int bits) {
  const std::uint32_t mask = (1U << bits) - 1;
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < codes.size(); i += 4) {
    std::uint32_t four = random();
    for (std::size_t j = i; j < std::min(i + 4, codes.size()); ++j, four >>= 8) {
      codes[j] = static_cast<std::uint8_t>(four & mask);
    }
  }
  return codes;
}

QuantizedWeights random_weights(const MatrixShape& shape, const WeightSpec& weight,
                                std::uint32_t seed) {
  if (!weight.has_scales()) {
    std::mt19937 random(seed);
    const bool is_bf16 = weight.type == WeightType::kBf16;
    QuantizedWeights weights;
    weights.codes = random_halves(random, shape.n * shape.k, is_bf16 ? kBfloat16 : kBinary16);
    return weights;
  }
  const auto mask = static_cast<std::uint32_t>((1 << weight.bits) - 1);
  const std::vector<float> values = code_values(weight, DType::kBf16);
  std::array<std::uint8_t, 256> allowed{};
  const bool is_integer = weight.type == WeightType::kUint || weight.type == WeightType::kInt;
  for (std::uint32_t code = 0; code <= mask; ++code) {
    const bool fine = is_integer || std::abs(values[code]) <= kLargestValue;
    allowed[code] = static_cast<std::uint8_t>(fine ? code : code & mask >> 2);
  }
  std::mt19937 random(seed);
  QuantizedWeights weights;
  weights.codes = random_codes(random, shape.n * shape.k, weight.bits);
  for (std::uint8_t& code : weights.codes) code = allowed[code];
  for (std::size_t i = 0; i < count_of_scales(shape, weight); ++i) {
    if (!weight.has_two_levels()) {
      append_bits(weights.scales, random_scale(random, weight.scale_dtype, scale_power(weight)),
                  bytes_of(weight.scale_dtype));
    }
    if (weight.zero_point == ZeroPoint::kInt) append_bits(weights.zeros, random() & mask, 1);
    if (weight.zero_point == ZeroPoint::kFloat) {
      append_bits(weights.zeros, random_float_zero(random, weight), bytes_of(weight.scale_dtype));
    }
  }
  if (weight.has_two_levels()) add_two_levels(shape, weight, random, &weights);
  if (weight.tensor_scale) weights.tensor_scale = 0.8125F;
  return weights;
}

PlainNumbers plain_numbers(const MatrixShape& shape, const WeightSpec& weight, DType dtype,
                           const QuantizedWeights& weights) {
  PlainNumbers plain;
  plain.values = code_values(weight, dtype);
  plain.group_size = shape.k;
  if (weight.has_scales() && weight.group_size > 0) {
    plain.group_size = weight.group_size;
    plain.group_offset = weight.group_offset;
    plain.groups = groups_along_k(weight, shape.k);
  }
  if (!weight.has_scales()) {
    plain.scales.assign(static_cast<std::size_t>(shape.n), 1.0F);
    plain.zeros.assign(static_cast<std::size_t>(shape.n), 0.0F);
    return plain;
  }
  plain.tensor_scale = weight.tensor_scale ? weights.tensor_scale : 1;
  const float bias =
      weight.type == WeightType::kUint ? static_cast<float>(1 << (weight.bits - 1)) : 0;
  const int bytes = bytes_of(weight.scale_dtype);
  const std::int64_t count = shape.n * plain.groups;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = i / plain.groups;
    const std::int64_t of_row = row / weight.group_rows * plain.groups + i % plain.groups;
    const std::size_t at = weight.group_size == kPerTensor ? 0 : static_cast<std::size_t>(of_row);
    float scale = stored_scale(weight.scale_dtype, read_bits(weights.scales, at, bytes));
    if (weight.has_two_levels()) {
      const DType type = *weight.channel_scale;
      const std::uint32_t of_channel =
          read_bits(weights.channel_scales, static_cast<std::size_t>(row), bytes_of(type));
      scale *= stored_scale(type, of_channel);
    }
    plain.scales.push_back(scale);
    float zero = 0;
    if (weight.zero_point == ZeroPoint::kInt) zero = plain.values[weights.zeros[at]];
    if (weight.zero_point == ZeroPoint::kFloat) {
      zero = stored_scale(weight.scale_dtype, read_bits(weights.zeros, at, bytes)) - bias;
    }
    plain.zeros.push_back(zero);
  }
  return plain;
}

}  // namespace heddle

#include "tools/gpu_harness/dequantize_problem.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "checkpoint/half_convert.h"
#include "generator/decode/float16.h"
#include "heddle/decode_plan.h"

namespace heddle {
namespace {

constexpr int kAwqRowOfNibble[8] = {0, 2, 4, 6, 1, 3, 5, 7};
constexpr std::uint32_t kWildOneIn = 8;  // scales

std::int64_t groups_of(const WeightOpSpec& spec) {
  return spec.weight.group_size > 0 ? spec.shape.k / spec.weight.group_size : 1;
}

// Of a row's group among the plain scales and zero points.
std::size_t meta_index(const WeightOpSpec& spec, std::int64_t row, std::int64_t group) {
  if (spec.weight.group_size == kPerTensor) return 0;
  return static_cast<std::size_t>(row * groups_of(spec) + group);
}

std::uint32_t read_bits(const std::vector<std::uint8_t>& values, std::size_t index, int bytes) {
  std::uint32_t bits = 0;  // little-endian
  std::memcpy(&bits, &values[index * static_cast<std::size_t>(bytes)],
              static_cast<std::size_t>(bytes));
  return bits;
}

float scale_value(DType dtype, std::uint32_t bits) {
  switch (dtype) {
    case DType::kFp16:
      return static_cast<float>(float16_to_double(kBinary16, static_cast<std::uint16_t>(bits)));
    case DType::kBf16:
      return static_cast<float>(float16_to_double(kBfloat16, static_cast<std::uint16_t>(bits)));
    case DType::kFp32: {
      float value = 0;
      std::memcpy(&value, &bits, sizeof value);
      return value;
    }
    case DType::kE8m0:
      return bits == 255 ? std::numeric_limits<float>::quiet_NaN()
                         : std::ldexp(1.0F, static_cast<int>(bits) - 127);
    case DType::kE4m3:
      break;
  }
  if ((bits & 0x7F) == 0x7F) return std::numeric_limits<float>::quiet_NaN();
  const int exponent = static_cast<int>(bits >> 3 & 0xF);
  const auto mantissa = static_cast<float>(bits & 0x7);
  const float magnitude =
      exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

// Bits of any finite value of the type, or of one between 2^power and 2^(power+1).
std::uint32_t random_scale(std::mt19937& random, DType dtype, int power) {
  const bool wild = random() % kWildOneIn == 0;
  const bool one_byte = dtype == DType::kE8m0 || dtype == DType::kE4m3;
  if (wild && one_byte) return random() & 0xFF;  // NaN, too
  if (dtype == DType::kE8m0) return static_cast<std::uint32_t>(123 + power) + random() % 8;
  const int mantissa = dtype == DType::kFp32   ? 23
                       : dtype == DType::kFp16 ? 10
                       : dtype == DType::kBf16 ? 7
                                               : 3;
  const std::uint32_t exponents = dtype == DType::kFp16 ? 31 : dtype == DType::kE4m3 ? 15 : 255;
  const std::uint32_t fraction = random() & ((1U << mantissa) - 1);
  if (!wild) return (exponents / 2 + static_cast<std::uint32_t>(power)) << mantissa | fraction;
  const std::uint32_t sign = random() & 1;
  return sign << (dtype == DType::kFp32 ? 31 : 15) | (random() % exponents) << mantissa | fraction;
}

void append_bits(std::vector<std::uint8_t>& values, std::uint32_t bits, int bytes) {
  for (int i = 0; i < bytes; ++i) values.push_back(static_cast<std::uint8_t>(bits >> (8 * i)));
}

void or_bits(std::vector<std::uint8_t>& bytes, std::size_t bit, unsigned value, int count) {
  for (int i = 0; i < count; ++i, ++bit) {
    if ((value >> i & 1) != 0) bytes[bit / 8] |= static_cast<std::uint8_t>(1U << (bit % 8));
  }
}

// [N, G] to [G, N].
std::vector<std::uint8_t> by_group(const WeightOpSpec& spec,
                                   const std::vector<std::uint8_t>& values, int bytes) {
  std::vector<std::uint8_t> result;
  for (std::int64_t g = 0; g < groups_of(spec); ++g) {
    for (std::int64_t n = 0; n < spec.shape.n; ++n) {
      append_bits(result, read_bits(values, meta_index(spec, n, g), bytes), bytes);
    }
  }
  return result;
}

// Value [row, column] of an AWQ tensor: which bit of row `column` of its words it starts at.
std::size_t awq_bit(std::int64_t n, std::int64_t row, std::int64_t column) {
  const auto* const nibble =
      std::find(std::begin(kAwqRowOfNibble), std::end(kAwqRowOfNibble), row % 8);
  const auto in_word = static_cast<std::int64_t>(nibble - std::begin(kAwqRowOfNibble));
  return static_cast<std::size_t>(32 * (column * (n / 8) + row / 8) + 4 * in_word);
}

// A stream of bits down K in each column of words.
std::size_t gptq_bit(const WeightOpSpec& spec, std::int64_t row, std::int64_t column, int j) {
  const std::int64_t bit = column * spec.weight.bits + j;
  return static_cast<std::size_t>((bit / 32 * spec.shape.n + row) * 32 + bit % 32);
}

QuantizedWeights random_weights(const WeightOpSpec& spec, std::uint32_t seed) {
  const auto [n, k] = spec.shape;
  const WeightSpec& weight = spec.weight;
  const std::uint32_t mask = (1U << weight.bits) - 1;
  const int bytes = bytes_of(weight.scale_dtype);
  std::mt19937 random(seed);
  QuantizedWeights result;
  result.codes.resize(static_cast<std::size_t>(n * k));
  for (std::size_t i = 0; i < result.codes.size(); i += 4) {
    std::uint32_t four = random();
    for (std::size_t j = i; j < std::min(i + 4, result.codes.size()); ++j, four >>= 8) {
      result.codes[j] = static_cast<std::uint8_t>(four & mask);
    }
  }
  const std::int64_t count = weight.group_size == kPerTensor ? 1 : n * groups_of(spec);
  for (std::int64_t i = 0; i < count; ++i) {
    append_bits(result.scales, random_scale(random, weight.scale_dtype, -6), bytes);
    if (weight.zero_point == ZeroPoint::kInt) {
      result.zeros.push_back(static_cast<std::uint8_t>(random() & mask));
    } else if (weight.zero_point == ZeroPoint::kFloat) {
      append_bits(result.zeros, random_scale(random, weight.scale_dtype, weight.bits - 1), bytes);
    }
  }
  if (weight.tensor_scale) {
    result.tensor_scale = 0.25F + static_cast<float>(random() % 1000003) / 1000003.0F;
  }
  return result;
}

SourceTensors packed_tensors(const WeightOpSpec& spec, const QuantizedWeights& weights) {
  GemmSpec gemm;
  gemm.shape.n = spec.shape.n;
  gemm.shape.k = spec.shape.k;
  gemm.weight = spec.weight;
  SourceTensors source;
  source.weights = pack_weights(gemm, weights);
  return source;
}

SourceTensors checkpoint_tensors(const WeightOpSpec& spec, const QuantizedWeights& weights) {
  const auto [n, k] = spec.shape;
  const int bits = spec.weight.bits;
  const bool awq = spec.format == CheckpointFormat::kAwq;
  SourceTensors source;
  source.weights.resize(static_cast<std::size_t>(n * k * bits / 8));
  for (std::int64_t row = 0; row < n; ++row) {
    for (std::int64_t column = 0; column < k; ++column) {
      const unsigned code = weights.codes[static_cast<std::size_t>(row * k + column)];
      if (awq) {
        or_bits(source.weights, awq_bit(n, row, column), code, bits);
        continue;
      }
      for (int j = 0; j < bits; ++j) {
        or_bits(source.weights, gptq_bit(spec, row, column, j), code >> j & 1, 1);
      }
    }
  }
  source.scales = by_group(spec, weights.scales, bytes_of(spec.weight.scale_dtype));
  if (spec.weight.zero_point != ZeroPoint::kInt) return source;
  const std::int64_t groups = groups_of(spec);
  source.zeros.resize(static_cast<std::size_t>(groups * n * bits / 8));
  const unsigned less = spec.format == CheckpointFormat::kGptq ? 1 : 0;
  const unsigned mask = (1U << bits) - 1;
  for (std::int64_t g = 0; g < groups; ++g) {
    for (std::int64_t row = 0; row < n; ++row) {
      const unsigned zero = (weights.zeros[meta_index(spec, row, g)] - less) & mask;
      or_bits(source.zeros,
              awq ? awq_bit(n, row, g) : static_cast<std::size_t>((g * n + row) * bits), zero,
              bits);
    }
  }
  return source;
}

// With act-order: the group of each column of a checkpoint's W, or else where packed columns go.
std::vector<std::int32_t> random_order(const WeightOpSpec& spec, std::uint32_t seed) {
  if (!spec.act_order) return {};
  std::mt19937 random(seed);
  std::vector<std::int32_t> order(static_cast<std::size_t>(spec.shape.k));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  if (spec.format == CheckpointFormat::kHeddle) return order;
  const auto run = static_cast<std::int32_t>(spec.shape.k / groups_of(spec));
  for (std::int32_t& group : order) group /= run;
  return order;
}

void set_order(const WeightOpSpec& spec, std::uint32_t seed, SourceTensors& source) {
  const bool packed = spec.format == CheckpointFormat::kHeddle;
  (packed ? source.permutation : source.group_index) = random_order(spec, seed);
}

// Codes and a zero point of one group to weights; a table where codes are few.
class GroupValues {
 public:
  GroupValues(const WeightOpSpec& spec, const QuantizedWeights& weights)
      : spec_(spec), weights_(weights), table_(std::size_t{1} << spec.weight.bits) {}

  void begin(std::size_t index) {
    const int bytes = bytes_of(spec_.weight.scale_dtype);
    const bool integer = spec_.weight.zero_point == ZeroPoint::kInt;
    const std::uint32_t scale = read_bits(weights_.scales, index, bytes);
    const std::uint32_t zero =
        weights_.zeros.empty() ? 0 : read_bits(weights_.zeros, index, integer ? 1 : bytes);
    for (std::size_t code = 0; code < table_.size(); ++code) {
      table_[code] =
          expected_weight(spec_, static_cast<unsigned>(code), zero, scale, weights_.tensor_scale);
    }
  }
  std::uint16_t operator[](std::uint8_t code) const { return table_[code]; }

 private:
  const WeightOpSpec& spec_;
  const QuantizedWeights& weights_;
  std::vector<std::uint16_t> table_;
};

// Columns in order of their groups, so that each group's values are made once.
std::vector<std::uint16_t> expected_weights(const WeightOpSpec& spec,
                                            const QuantizedWeights& weights,
                                            const SourceTensors& source) {
  const auto [n, k] = spec.shape;
  const std::int64_t run = k / groups_of(spec);
  std::vector<std::int32_t> columns(static_cast<std::size_t>(k));
  std::iota(columns.begin(), columns.end(), 0);
  std::stable_sort(columns.begin(), columns.end(), [&](std::int32_t a, std::int32_t b) {
    return !source.group_index.empty() && source.group_index[static_cast<std::size_t>(a)] <
                                              source.group_index[static_cast<std::size_t>(b)];
  });
  std::vector<std::uint16_t> expected(static_cast<std::size_t>(n * k));
  GroupValues values(spec, weights);
  for (std::int64_t row = 0; row < n; ++row) {
    std::int64_t current = -1;
    for (const std::int32_t column : columns) {
      const std::int64_t group = source.group_index.empty()
                                     ? column / run
                                     : source.group_index[static_cast<std::size_t>(column)];
      if (group != current) values.begin(meta_index(spec, row, group));
      current = group;
      const std::int64_t to = source.permutation.empty()
                                  ? column
                                  : source.permutation[static_cast<std::size_t>(column)];
      expected[static_cast<std::size_t>(row * k + to)] =
          values[weights.codes[static_cast<std::size_t>(row * k + column)]];
    }
  }
  return expected;
}

}  // namespace

std::size_t SourceTensors::bytes() const noexcept {
  return weights.size() + scales.size() + zeros.size() +
         4 * (group_index.size() + permutation.size());
}

DequantizeProblem make_dequantize_problem(const WeightOpSpec& spec, std::uint32_t seed) {
  const QuantizedWeights weights = random_weights(spec, seed);
  DequantizeProblem problem;
  problem.source = spec.format == CheckpointFormat::kHeddle ? packed_tensors(spec, weights)
                                                            : checkpoint_tensors(spec, weights);
  set_order(spec, seed + 1, problem.source);
  problem.expected = expected_weights(spec, weights, problem.source);
  return problem;
}

SourceTensors make_any_source(const WeightOpSpec& spec, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto any_bytes = [&random](std::int64_t count) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count + 3) / 4 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 4) {
      const auto four = static_cast<std::uint32_t>(random());
      std::memcpy(&bytes[i], &four, 4);
    }
    bytes.resize(static_cast<std::size_t>(count));
    return bytes;
  };
  const auto [n, k] = spec.shape;
  const std::int64_t metadata = n * groups_of(spec);
  SourceTensors source;
  if (spec.format == CheckpointFormat::kHeddle) {
    source.weights =
        any_bytes(static_cast<std::int64_t>(weight_layout(spec.shape, spec.weight).total_bytes));
  } else {
    source.weights = any_bytes(n * k * spec.weight.bits / 8);
    source.scales = any_bytes(metadata * bytes_of(spec.weight.scale_dtype));
    if (spec.weight.zero_point == ZeroPoint::kInt) {
      source.zeros = any_bytes(metadata * spec.weight.bits / 8);
    }
  }
  set_order(spec, seed + 1, source);
  return source;
}

std::uint16_t expected_weight(const WeightOpSpec& spec, unsigned code, std::uint32_t zero,
                              std::uint32_t scale_bits, float tensor_scale) {
  const WeightSpec& weight = spec.weight;
  const float scale = scale_value(weight.scale_dtype, scale_bits);
  DecodeRequest request = decode_request(weight, spec.dtype);
  const bool float_zero = weight.zero_point == ZeroPoint::kFloat;
  float value = 0;
  if (float_zero) {
    // The code itself, without the bias that a code without zero point has.
    const bool negative = weight.type == WeightType::kInt && (code >> (weight.bits - 1) & 1) != 0;
    const int plain = static_cast<int>(code) - (negative ? 1 << weight.bits : 0);
    value = static_cast<float>(plain) - scale_value(weight.scale_dtype, zero);
  } else {
    value = static_cast<float>(
        float16_to_double(float16_format(spec.dtype), reference_decode(request, code, zero)));
  }
  const auto exact = [](float a, float b) {
    return static_cast<double>(a) * static_cast<double>(b);
  };
  if (!weight.tensor_scale) return round_to_16(spec.dtype, exact(value, scale));
  if (float_zero || weight.scale_dtype == DType::kFp32) {
    return round_to_16(spec.dtype, exact(value, scale * tensor_scale));
  }
  return round_to_16(spec.dtype, exact(value * scale, tensor_scale));
}

bool same_weight(DType dtype, std::uint16_t got, std::uint16_t expected) noexcept {
  if (got == kPoisonWeight) return false;
  if (got == expected) return true;
  const int infinity = dtype == DType::kBf16 ? 0x7F80 : 0x7C00;
  return (got & 0x7FFF) > infinity && (expected & 0x7FFF) > infinity;
}

}  // namespace heddle

#include "tools/gpu_harness/operations/weight_ops/dequantize_problem.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "checkpoint/codes/half_convert.h"
#include "generator/decode/decode_plan.h"
#include "generator/decode/float16.h"
#include "generator/decode/requests.h"
#include "generator/layout/groups.h"
#include "tools/gpu_harness/numbers/random_weights.h"
#include "tools/gpu_harness/numbers/stored_scale.h"

namespace heddle {
namespace {

constexpr std::uint32_t kWildOneIn = 8;  // scales
// The first rows of a checkpoint have zero points of 0, in whole words: with each GPTQ's first
// version borrows from the next.
constexpr std::int64_t kZeroedRows = 16;

// Bits of any finite value of the type, or of one between 2^power and 2^(power+1).
std::uint32_t wild_scale(std::mt19937& random, DType dtype, int power) {
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

QuantizedWeights wild_weights(const WeightOpSpec& spec, std::uint32_t seed) {
  const auto [n, k] = spec.shape;
  const WeightSpec& weight = spec.weight;
  const std::uint32_t mask = (1U << weight.bits) - 1;
  const int bytes = bytes_of(weight.scale_dtype);
  std::mt19937 random(seed);
  QuantizedWeights result;
  result.codes = random_codes(random, n * k, weight.bits);
  const std::int64_t rows = (n - 1) / weight.group_rows + 1;
  const std::int64_t count = weight.group_size == kPerTensor ? 1 : rows * groups_of(spec);
  for (std::int64_t i = 0; i < count; ++i) {
    append_bits(result.scales, wild_scale(random, weight.scale_dtype, -6), bytes);
    if (weight.zero_point == ZeroPoint::kInt) {
      const bool none =
          spec.format != CheckpointFormat::kHeddle && i / groups_of(spec) < kZeroedRows;
      result.zeros.push_back(static_cast<std::uint8_t>(none ? 0 : random() & mask));
    } else if (weight.zero_point == ZeroPoint::kFloat) {
      append_bits(result.zeros, wild_scale(random, weight.scale_dtype, weight.bits - 1), bytes);
    }
  }
  if (weight.tensor_scale) {
    result.tensor_scale = 0.25F + static_cast<float>(random() % 1000003) / 1000003.0F;
  }
  return result;
}

// With act-order: the group of each column of a checkpoint's W, or else where packed columns go.
void set_order(const WeightOpSpec& spec, std::uint32_t seed, SourceTensors& source) {
  if (!spec.act_order) return;
  std::vector<std::int32_t> order = random_permutation(spec.shape.k, seed);
  if (spec.format == CheckpointFormat::kHeddle) {
    source.permutation = std::move(order);
    return;
  }
  const auto run = static_cast<std::int32_t>(spec.shape.k / groups_of(spec));
  for (std::int32_t& group : order) group /= run;
  source.group_index = std::move(order);
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
                                     ? group_of_column(spec.weight, column)
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

std::uint16_t expected_weight(const WeightOpSpec& spec, unsigned code, std::uint32_t zero,
                              std::uint32_t scale_bits, float tensor_scale) {
  const WeightSpec& weight = spec.weight;
  const float scale = stored_scale(weight.scale_dtype, scale_bits);
  // Where a code lies does not change what it means.
  WeightSpec plain = weight;
  plain.interleave = Interleave::kFragment;
  plain.permutation.clear();
  const DecodeRequest request = decode_request(plain, spec.dtype);
  const bool float_zero = weight.zero_point == ZeroPoint::kFloat;
  float value = 0;
  if (float_zero) {
    // The code itself, without the bias that a code without zero point has.
    const bool negative = weight.type == WeightType::kInt && (code >> (weight.bits - 1) & 1) != 0;
    const int plain = static_cast<int>(code) - (negative ? 1 << weight.bits : 0);
    value = static_cast<float>(plain) - stored_scale(weight.scale_dtype, zero);
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

DequantizeProblem make_dequantize_problem(const WeightOpSpec& spec, std::uint32_t seed) {
  const QuantizedWeights weights = wild_weights(spec, seed);
  DequantizeProblem problem;
  problem.source = write_source(spec, weights);
  set_order(spec, seed + 1, problem.source);
  problem.expected = expected_weights(spec, weights, problem.source);
  return problem;
}

SourceTensors make_any_source(const WeightOpSpec& spec, std::uint32_t seed) {
  SourceTensors source = any_source(spec, seed);
  set_order(spec, seed + 1, source);
  return source;
}

}  // namespace heddle

#include "tools/gpu_harness/operations/weight_ops/dequantize_problem.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "generator/layout/groups.h"
#include "tools/gpu_harness/numbers/random_weights.h"
#include "tools/gpu_harness/numbers/stored_scale.h"
#include "tools/gpu_harness/operations/weight_ops/expected_weight.h"

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

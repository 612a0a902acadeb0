#include "tools/gpu_harness/operations/row_transform/problem.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "generator/decode/float16.h"
#include "tools/gpu_harness/numbers/as_size.h"

namespace heddle {
namespace {

// Rows that have something special, of every eight, and of 8 bits without a norm of every sixteen.
enum SpecialRow {
  kZeros = 2,
  kConstant = 3,
  kOneInfinity = 4,
  kOneNan = 5,
  kLarge = 6,
  kLargest = 8,
  kSmallest = 9,
  kMinusZero = 10,
  kHalfway = 11,
  kOneSided = 12
};

class RowValues {
 public:
  RowValues(DType dtype, std::uint32_t seed) : format_(float16_format(dtype)), random_(seed) {}

  std::uint16_t bits(double value) const { return float16_from_double(format_, value); }
  double normal() { return normal_(random_); }
  std::uint16_t largest(bool negative) const {
    return static_cast<std::uint16_t>(format_.exponent_mask() - 1 + (negative ? 0x8000 : 0));
  }
  std::vector<std::uint16_t> normals(std::size_t count, double mean, double deviation) {
    std::vector<std::uint16_t> values(count);
    for (std::uint16_t& value : values) value = bits(mean + deviation * normal());
    return values;
  }

 private:
  Float16Format format_;
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
};

// The largest code's value, and the most that codes of it can be apart.
double largest_code(RowDtype dtype) {
  if (dtype == RowDtype::kInt8) return 127;
  return dtype == RowDtype::kFp8E4m3 ? 448 : 57344;
}

void make_special(int kind, RowDtype output, RowValues& values, std::uint16_t* begin,
                  std::int64_t columns) {
  std::uint16_t* const end = begin + columns;
  switch (kind) {
    case kZeros:
      return std::fill(begin, end, values.bits(0));
    case kConstant:
      return std::fill(begin, end, values.bits(-3.75));
    case kOneInfinity:
      begin[columns / 2] = values.bits(std::numeric_limits<double>::infinity());
      return;
    case kOneNan:
      begin[columns - 1] = values.bits(std::numeric_limits<double>::quiet_NaN());
      return;
    case kLarge:
      for (std::uint16_t* value = begin; value < end; ++value) {
        *value = values.bits(20000 * std::tanh(values.normal()));
      }
      return;
    case kLargest:
      for (std::uint16_t* value = begin; value < end; ++value) {
        *value = values.largest((value - begin) % 3 == 0);
      }
      return;
    case kSmallest:  // subnormal numbers
      for (std::uint16_t* value = begin; value < end; ++value) {
        *value = static_cast<std::uint16_t>((value - begin) % 5);
      }
      return;
    case kMinusZero:
      std::fill(begin, end, values.bits(-0.0));
      begin[columns / 3] = values.bits(-0.25);
      return;
    case kHalfway:  // a scale of 1, and values between two codes
      for (std::uint16_t* value = begin; value < end; ++value) {
        *value = values.bits(static_cast<double>((value - begin) % 120 - 60) + 0.5);
      }
      for (std::int64_t i = 0; i < columns; i += kRowGroup) {
        begin[i] = values.bits(largest_code(output));
      }
      return;
    case kOneSided:  // zero is the end of the range
      for (std::uint16_t* value = begin; value < end; ++value) {
        *value = values.bits(1 + std::fabs(values.normal()));
      }
      return;
    default:
      return;
  }
}

// Rows of 8 bits begin with another one for each seed, so that a few rows see all of them.
int kind_of(const RowTransformSpec& spec, std::int64_t row, std::uint32_t seed) {
  if (!spec.output.is_quantized()) return static_cast<int>(row % 8);
  const std::int64_t kinds = spec.norm.type == NormType::kNone ? 16 : 8;
  return static_cast<int>((row + seed) % kinds);
}

}  // namespace

RowProblem make_row_problem(const RowTransformSpec& spec, std::int64_t m, int spare,
                            std::uint32_t seed) {
  const std::int64_t columns = spec.shape.columns;
  const std::int64_t x_columns = spec.x_columns();
  RowValues values(spec.input, seed);
  RowProblem problem;
  problem.m = m;
  problem.x_stride = x_columns + spare;
  problem.y_stride = columns + spare;
  for (std::int64_t row = 0; row < m; ++row) {
    const double deviation = std::exp2(static_cast<double>(row % 5) - 2);
    const double mean = row % 3 == 1 ? 4 * deviation : 0;
    std::vector<std::uint16_t> x = values.normals(as_size(problem.x_stride), mean, deviation);
    make_special(kind_of(spec, row, seed), spec.output.dtype, values, x.data(), x_columns);
    problem.x.insert(problem.x.end(), x.begin(), x.end());
  }
  if (spec.residual) problem.residual = values.normals(as_size(m * columns), 0, 1);
  if (spec.norm.type != NormType::kNone) {
    problem.weight = values.normals(as_size(columns), 1 - spec.norm.weight_offset, 0.5);
  }
  if (spec.norm.bias) problem.bias = values.normals(as_size(columns), 0, 1);
  if (spec.output.pre_scale) problem.pre_scale = values.normals(as_size(columns), 1, 0.5);
  // So that some values are beyond the codes.
  problem.tensor_scale = static_cast<float>(1.5 / largest_code(spec.output.dtype));
  if (spec.output.granularity == RowGranularity::kGroup && spare != 0) {
    const bool columns_of_scales = spec.output.scale_layout == ScaleLayout::kColumnMajor;
    problem.scale_stride = columns_of_scales ? (m + 11) / 4 * 4 : spec.groups() + 3;
  }
  return problem;
}

}  // namespace heddle

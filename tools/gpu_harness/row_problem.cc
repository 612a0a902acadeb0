#include "tools/gpu_harness/row_problem.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "generator/decode/float16.h"
#include "tools/gpu_harness/activated.h"

namespace heddle {
namespace {

// Rows that have something special, of every eight.
enum SpecialRow { kZeros = 2, kConstant = 3, kOneInfinity = 4, kOneNan = 5, kLarge = 6 };

class Values {
 public:
  Values(DType dtype, std::uint32_t seed) : format_(float16_format(dtype)), random_(seed) {}

  std::uint16_t bits(double value) const { return float16_from_double(format_, value); }
  double normal() { return normal_(random_); }
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

void make_special(std::int64_t row, Values& values, std::uint16_t* begin, std::int64_t columns) {
  std::uint16_t* const end = begin + columns;
  switch (row % 8) {
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
    default:
      return;
  }
}

std::size_t as_size(std::int64_t value) { return static_cast<std::size_t>(value); }

double half_of_last_place(Float16Format format, double value) {
  const int least = 1 - format.bias();
  const int exponent = value == 0 ? least : std::max(least, std::ilogb(value));
  return std::ldexp(0.5, exponent - format.mantissa_bits);
}

class Reference {
 public:
  Reference(const RowTransformSpec& spec, const RowProblem& problem)
      : spec_(spec),
        problem_(problem),
        format_(float16_format(spec.input)),
        columns_(spec.shape.columns) {}

  ExpectedRows compute() {
    for (std::int64_t row = 0; row < problem_.m; ++row) {
      x_ = problem_.x.data() + row * problem_.x_stride;
      if (spec_.norm.type == NormType::kNone) {
        gate();
      } else {
        normalize(row);
      }
    }
    return std::move(expected_);
  }

 private:
  double value(std::uint16_t bits) const { return float16_to_double(format_, bits); }

  void add(double y, double of_fp32) {
    expected_.y.push_back(y);
    expected_.tolerance.push_back(half_of_last_place(format_, y) + of_fp32);
  }

  void gate() {
    for (std::int64_t i = 0; i < columns_; ++i) {
      double up = 1;
      double gate = 0;
      switch (spec_.gate.order) {
        case GateOrder::kNone:
          gate = value(x_[i]);
          break;
        case GateOrder::kHalves:
          gate = value(x_[i]);
          up = value(x_[columns_ + i]);
          break;
        case GateOrder::kInterleaved:
          gate = value(x_[2 * i]);
          up = value(x_[2 * i + 1]);
          break;
      }
      const double y = activated(spec_.gate.activation, gate);
      // GELU is made of one and a number next to minus one.
      add(y * up, std::fabs(up) * (std::fabs(y) * 0x1p-19 + std::fabs(gate) * 0x1p-21));
    }
  }

  // Elements of the row, to which the residual is added in FP32.
  std::vector<double> elements(std::int64_t row) {
    std::vector<double> s(as_size(columns_));
    for (std::int64_t i = 0; i < columns_; ++i) {
      s[as_size(i)] = value(x_[i]);
      if (!spec_.residual) continue;
      const auto sum =
          static_cast<float>(s[as_size(i)] + value(problem_.residual[as_size(row * columns_ + i)]));
      expected_.residual.push_back(float16_from_double(format_, sum));
      s[as_size(i)] = value(expected_.residual.back());
    }
    return s;
  }

  void normalize(std::int64_t row) {
    const std::vector<double> s = elements(row);
    const auto count = static_cast<double>(columns_);
    double mean = 0;
    if (spec_.norm.type == NormType::kLayer) {
      for (const double v : s) mean += v / count;
    }
    double squares = 0;
    for (const double v : s) squares += (v - mean) * (v - mean);
    const double factor = 1 / std::sqrt(squares / count + double{*spec_.norm.epsilon});
    // The mean of values that nearly cancel is only as exact as they are large.
    double size = 0;
    if (spec_.norm.type == NormType::kLayer) {
      for (const double v : s) size += std::fabs(v) / count;
    }
    for (std::int64_t i = 0; i < columns_; ++i) {
      const double scale = value(problem_.weight[as_size(i)]) + spec_.norm.weight_offset;
      const double bias = spec_.norm.bias ? value(problem_.bias[as_size(i)]) : 0;
      const double normal = (s[as_size(i)] - mean) * factor;
      const double sizes = (std::fabs(s[as_size(i)]) + size) * factor * std::fabs(scale);
      add(normal * scale + bias, (sizes + std::fabs(bias)) * 0x1p-19);
    }
  }

  const RowTransformSpec& spec_;
  const RowProblem& problem_;
  Float16Format format_;
  std::int64_t columns_;
  const std::uint16_t* x_ = nullptr;
  ExpectedRows expected_;
};

bool is_nan(Float16Format format, std::uint16_t bits) {
  return (bits & 0x7FFF) > format.exponent_mask();
}

}  // namespace

RowProblem make_row_problem(const RowTransformSpec& spec, std::int64_t m, int spare,
                            std::uint32_t seed) {
  const std::int64_t columns = spec.shape.columns;
  const std::int64_t x_columns = spec.x_columns();
  Values values(spec.input, seed);
  RowProblem problem;
  problem.m = m;
  problem.x_stride = x_columns + spare;
  problem.y_stride = columns + spare;
  for (std::int64_t row = 0; row < m; ++row) {
    const double deviation = std::exp2(static_cast<double>(row % 5) - 2);
    const double mean = row % 3 == 1 ? 4 * deviation : 0;
    std::vector<std::uint16_t> x = values.normals(as_size(problem.x_stride), mean, deviation);
    make_special(row, values, x.data(), x_columns);
    problem.x.insert(problem.x.end(), x.begin(), x.end());
  }
  if (spec.residual) problem.residual = values.normals(as_size(m * columns), 0, 1);
  if (spec.norm.type != NormType::kNone) {
    problem.weight = values.normals(as_size(columns), 1 - spec.norm.weight_offset, 0.5);
  }
  if (spec.norm.bias) problem.bias = values.normals(as_size(columns), 0, 1);
  return problem;
}

ExpectedRows expected_rows(const RowTransformSpec& spec, const RowProblem& problem) {
  return Reference(spec, problem).compute();
}

std::string fault_of_rows(const RowTransformSpec& spec, const RowProblem& problem,
                          const ExpectedRows& expected, const std::vector<std::uint16_t>& y,
                          const std::vector<std::uint16_t>& residual, double* worst) {
  const Float16Format format = float16_format(spec.input);
  const std::int64_t columns = spec.shape.columns;
  const double largest =
      float16_to_double(format, static_cast<std::uint16_t>(format.exponent_mask() - 1));
  if (worst != nullptr) *worst = 0;
  for (std::size_t i = 0; i < expected.residual.size(); ++i) {
    if (residual[i] == expected.residual[i]) continue;
    if (is_nan(format, residual[i]) && is_nan(format, expected.residual[i])) continue;
    return fmt::format("row {}, column {} of the residual is {:#06x}, not {:#06x}",
                       as_size(i) / as_size(columns), i % as_size(columns), residual[i],
                       expected.residual[i]);
  }
  for (std::int64_t row = 0; row < problem.m; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const auto i = as_size(row * columns + column);
      const std::uint16_t bits = y[as_size(row * problem.y_stride + column)];
      const double got = float16_to_double(format, bits);
      const double wanted = expected.y[i];
      if (std::isnan(wanted) ? is_nan(format, bits) : got == wanted) continue;
      // What is rounded beyond the largest finite number.
      if (std::isinf(got) && std::fabs(wanted) + expected.tolerance[i] >= largest &&
          std::signbit(got) == std::signbit(wanted)) {
        continue;
      }
      const double share = std::fabs(got - wanted) / expected.tolerance[i];
      if (share <= 1) {
        if (worst != nullptr) *worst = std::max(*worst, share);
        continue;
      }
      return fmt::format("row {}, column {} of y is {}, not {} (+- {})", row, column, got, wanted,
                         expected.tolerance[i]);
    }
  }
  return {};
}

}  // namespace heddle

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "generator/decode/float16.h"
#include "tools/gpu_harness/numbers/activated.h"
#include "tools/gpu_harness/numbers/as_size.h"
#include "tools/gpu_harness/operations/row_transform/codes.h"
#include "tools/gpu_harness/operations/row_transform/problem.h"

namespace heddle {
namespace {

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

  void add(std::int64_t column, double y, double of_fp32) {
    if (spec_.output.pre_scale) {
      const double factor = value(problem_.pre_scale[as_size(column)]);
      y *= factor;
      of_fp32 = of_fp32 * std::fabs(factor) + std::fabs(y) * 0x1p-24;
    }
    expected_.y.push_back(y);
    const double rounding = spec_.output.is_quantized() ? 0 : half_of_last_place(format_, y);
    expected_.tolerance.push_back(rounding + of_fp32);
  }
  // The sum of FP32 products, each rounded once.
  void add_exact(std::int64_t column, float gate, float up) {
    float y = gate * up;
    if (spec_.output.pre_scale) {
      y *= static_cast<float>(value(problem_.pre_scale[as_size(column)]));
    }
    expected_.y.push_back(y);
    expected_.tolerance.push_back(0);
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
      const bool exact =
          spec_.gate.activation == Activation::kNone || spec_.gate.activation == Activation::kRelu;
      if (exact && spec_.output.is_quantized()) {
        add_exact(i, static_cast<float>(y), static_cast<float>(up));
        continue;
      }
      // GELU is made of one and a number next to minus one.
      add(i, y * up, std::fabs(up) * (std::fabs(y) * 0x1p-19 + std::fabs(gate) * 0x1p-21));
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
      // Minus zero leaves the sign of a zero as it is.
      const double bias = spec_.norm.bias ? value(problem_.bias[as_size(i)]) : -0.0;
      const double normal = (s[as_size(i)] - mean) * factor;
      const double sizes = (std::fabs(s[as_size(i)]) + size) * factor * std::fabs(scale);
      add(i, normal * scale + bias, (sizes + std::fabs(bias)) * 0x1p-19);
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

std::string fault_of_residual(const RowTransformSpec& spec, const ExpectedRows& expected,
                              const std::vector<std::uint16_t>& residual) {
  const Float16Format format = float16_format(spec.input);
  const std::int64_t columns = spec.shape.columns;
  for (std::size_t i = 0; i < expected.residual.size(); ++i) {
    if (residual[i] == expected.residual[i]) continue;
    if (is_nan(format, residual[i]) && is_nan(format, expected.residual[i])) continue;
    return fmt::format("row {}, column {} of the residual is {:#06x}, not {:#06x}",
                       as_size(i) / as_size(columns), i % as_size(columns), residual[i],
                       expected.residual[i]);
  }
  return {};
}

std::string fault_of_16_bits(const RowTransformSpec& spec, const RowProblem& problem,
                             const ExpectedRows& expected, const std::vector<std::uint8_t>& y,
                             double* worst) {
  const Float16Format format = float16_format(spec.input);
  const std::int64_t columns = spec.shape.columns;
  const double largest =
      float16_to_double(format, static_cast<std::uint16_t>(format.exponent_mask() - 1));
  for (std::int64_t row = 0; row < problem.m; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const auto i = as_size(row * columns + column);
      std::uint16_t bits = 0;
      std::memcpy(&bits, &y[2 * as_size(row * problem.y_stride + column)], sizeof bits);
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

}  // namespace

ExpectedRows expected_rows(const RowTransformSpec& spec, const RowProblem& problem) {
  return Reference(spec, problem).compute();
}

std::string fault_of_rows(const RowTransformSpec& spec, const RowProblem& problem,
                          const ExpectedRows& expected, const WrittenRows& written, double* worst) {
  if (worst != nullptr) *worst = 0;
  std::string fault = fault_of_residual(spec, expected, written.residual);
  if (!fault.empty()) return fault;
  if (spec.output.is_quantized()) return fault_of_codes(spec, problem, expected, written, worst);
  return fault_of_16_bits(spec, problem, expected, written.y, worst);
}

}  // namespace heddle

#include "tools/gpu_harness/operations/row_transform/codes.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "heddle/operations.h"
#include "tools/gpu_harness/numbers/as_size.h"
#include "tools/gpu_harness/numbers/float8.h"

namespace heddle {
namespace {

constexpr float kLeastScale = 0x1p-126F;
constexpr float kMostScale = 0x1p126F;
constexpr std::uint32_t kNanBits = 0x7FC00000;
constexpr std::uint32_t kNanExponent = 255;
constexpr std::uint8_t kNanCode = 0x7F;
constexpr std::int64_t kGroupsOfWord = 4;

// The values between which a format's codes change, from that of 0 and 1 on.
class Float8Rounding {
 public:
  explicit Float8Rounding(const Float8Format& format) {
    for (int code = 0; code < format.largest; ++code) {
      middles_.push_back((format.value(code) + format.value(code + 1)) / 2);
    }
  }

  // The code of the nearest magnitude, ties to even.
  std::uint8_t nearest(double magnitude) const {
    const auto middle = std::lower_bound(middles_.begin(), middles_.end(), magnitude);
    const auto code = middle - middles_.begin();
    const bool tie = middle != middles_.end() && *middle == magnitude;
    return static_cast<std::uint8_t>(tie ? code + code % 2 : code);
  }

 private:
  std::vector<double> middles_;
};

const Float8Rounding& rounding_to(RowDtype dtype) {
  static const Float8Rounding e4m3(kFloat8E4m3);
  static const Float8Rounding e5m2(kFloat8E5m2);
  return dtype == RowDtype::kFp8E4m3 ? e4m3 : e5m2;
}

float largest_step(const RowOutputSpec& output) {
  if (output.dtype == RowDtype::kInt8) return output.symmetric ? 127 : 255;
  return output.dtype == RowDtype::kFp8E4m3 ? 448 : 57344;
}

// Codes in the order of their values.
int code_order(RowDtype dtype, std::uint8_t code) {
  if (dtype == RowDtype::kInt8) return static_cast<std::int8_t>(code);
  const int magnitude = code & 0x7F;
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

// The FP32 numbers at the ends of a tolerance.
float below(double value, double tolerance) {
  const auto end = static_cast<float>(value - tolerance);
  return tolerance == 0 ? end : std::nextafter(end, -std::numeric_limits<float>::infinity());
}
float above(double value, double tolerance) { return -below(-value, tolerance); }

class CodeCheck {
 public:
  CodeCheck(const RowTransformSpec& spec, const RowProblem& problem, const ExpectedRows& expected,
            const WrittenRows& written)
      : spec_(spec), problem_(problem), expected_(expected), written_(written) {}

  std::string run() {
    const std::int64_t columns = spec_.shape.columns;
    const bool groups = spec_.output.granularity == RowGranularity::kGroup;
    const std::int64_t step = groups ? kRowGroup : columns;
    for (std::int64_t row = 0; row < problem_.m; ++row) {
      for (std::int64_t first = 0; first < columns; first += step) {
        std::string fault = check(row, first, std::min(first + step, columns));
        if (!fault.empty()) return fault;
      }
    }
    return fault_of_padding();
  }
  int worst() const { return worst_; }

 private:
  // Columns `first` to last - 1 of a row, which share a scale.
  std::string check(std::int64_t row, std::int64_t first, std::int64_t last) {
    if (spec_.output.granularity == RowGranularity::kTensor) {
      const auto bits = std::bit_cast<std::uint32_t>(problem_.tensor_scale);
      return fault_of(row, first, last, inverse_scale(spec_.output, bits), 0);
    }
    find_range(row, first, last);
    const std::uint32_t scale = written_scale(row, first / kRowGroup);
    const std::uint32_t least = row_scale(spec_.output, least_.width(spec_.output));
    const std::uint32_t most = row_scale(spec_.output, most_.width(spec_.output));
    if (finite_ ? scale < least || scale > most
                : scale != row_scale(spec_.output, std::numeric_limits<float>::infinity())) {
      return fmt::format("the scale of row {} from column {} on is {:#x}, not {:#x} to {:#x}", row,
                         first, scale, least, most);
    }
    const float inverse = finite_ ? inverse_scale(spec_.output, scale) : 0;
    int zero = 0;
    if (!spec_.output.symmetric) {
      zero = written_.zero_points[as_size(row)];
      const int from = finite_ ? row_zero_point(least_.negative, inverse) : 0;
      const int to = finite_ ? row_zero_point(most_.negative, inverse) : 0;
      if (zero < from || zero > to) {
        return fmt::format("the zero point of row {} is {}, not {} to {}", row, zero, from, to);
      }
    }
    return fault_of(row, first, last, inverse, zero);
  }

  // An inverse of 0 makes all codes zero.
  std::string fault_of(std::int64_t row, std::int64_t first, std::int64_t last, float inverse,
                       int zero) {
    const RowDtype dtype = spec_.output.dtype;
    for (std::int64_t column = first; column < last; ++column) {
      const std::size_t i = as_size(row * spec_.shape.columns + column);
      const std::uint8_t code = written_.y[as_size(row * problem_.y_stride + column)];
      const auto code_of = [&](float value) {
        return inverse == 0 ? std::uint8_t{0} : row_code(dtype, value, inverse, zero);
      };
      const double tolerance = expected_.tolerance[i];
      const std::uint8_t wanted = code_of(static_cast<float>(expected_.y[i]));
      if (code == wanted) continue;
      const int order = code_order(dtype, code);
      const int from = code_order(dtype, code_of(below(expected_.y[i], tolerance)));
      const int to = code_order(dtype, code_of(above(expected_.y[i], tolerance)));
      if (!(tolerance > 0) || order < from || order > to || std::isnan(expected_.y[i])) {
        return fmt::format("row {}, column {} of y is {:#04x}, not {:#04x} ({})", row, column, code,
                           wanted, expected_.y[i]);
      }
      worst_ = std::max(worst_, std::abs(order - code_order(dtype, wanted)));
    }
    return {};
  }

  struct Range {
    float positive = 0;
    float negative = 0;

    float width(const RowOutputSpec& output) const {
      return output.symmetric ? std::max(positive, negative) : positive + negative;
    }
  };
  void find_range(std::int64_t row, std::int64_t first, std::int64_t last) {
    least_ = most_ = {};
    finite_ = true;
    for (std::int64_t column = first; column < last; ++column) {
      const std::size_t i = as_size(row * spec_.shape.columns + column);
      const double y = expected_.y[i];
      const double tolerance = expected_.tolerance[i];
      finite_ = finite_ && std::isfinite(static_cast<float>(y));
      least_.positive = std::max(least_.positive, below(y, tolerance));
      least_.negative = std::max(least_.negative, below(-y, tolerance));
      most_.positive = std::max(most_.positive, above(y, tolerance));
      most_.negative = std::max(most_.negative, above(-y, tolerance));
    }
    finite_ = finite_ && std::isfinite(most_.width(spec_.output));
  }

  std::uint32_t written_scale(std::int64_t row, std::int64_t group) const {
    const std::size_t at = scale_place(spec_, problem_, row, group);
    if (spec_.output.scale_dtype == RowScaleDtype::kE8m0) return written_.scales[at];
    std::uint32_t bits = 0;
    std::memcpy(&bits, &written_.scales[at], sizeof bits);
    return bits;
  }

  std::string fault_of_padding() const {
    if (spec_.output.scale_layout == ScaleLayout::kRowMajor ||
        spec_.output.scale_dtype == RowScaleDtype::kFp32) {
      return {};
    }
    for (std::int64_t row = 0; row < problem_.m; ++row) {
      for (std::int64_t group = spec_.groups(); group % kGroupsOfWord != 0; ++group) {
        if (written_.scales[scale_place(spec_, problem_, row, group)] == 0) continue;
        return fmt::format("what pads the scales of row {} is not 0", row);
      }
    }
    return {};
  }

  const RowTransformSpec& spec_;
  const RowProblem& problem_;
  const ExpectedRows& expected_;
  const WrittenRows& written_;
  Range least_, most_;  // that the values of a scale may have
  bool finite_ = true;
  int worst_ = 0;
};

}  // namespace

std::uint32_t row_scale(const RowOutputSpec& output, float width) {
  const bool exponents = output.scale_dtype == RowScaleDtype::kE8m0;
  if (!std::isfinite(width)) return exponents ? kNanExponent : kNanBits;
  const float quotient = width / largest_step(output);
  if (!exponents) return std::bit_cast<std::uint32_t>(std::max(quotient, kLeastScale));
  std::uint32_t exponent = 0;
  while (std::ldexp(1.0, static_cast<int>(exponent) - 127) < static_cast<double>(quotient)) {
    ++exponent;
  }
  return exponent;
}

float inverse_scale(const RowOutputSpec& output, std::uint32_t scale) {
  if (output.scale_dtype == RowScaleDtype::kE8m0) {
    return std::ldexp(1.0F, 127 - static_cast<int>(scale));
  }
  const auto value = std::bit_cast<float>(scale);
  return value >= kLeastScale && value < kMostScale ? 1 / value : 0;
}

int row_zero_point(float negative, float inverse) {
  return static_cast<int>(std::nearbyint(negative * inverse)) - 128;
}

std::uint8_t row_code(RowDtype dtype, float value, float inverse, int zero_point) {
  const float t = value * inverse;
  if (dtype == RowDtype::kInt8) {
    if (std::isnan(t)) return 0;
    const float limited = std::clamp(t, -1024.0F, 1024.0F);
    const int code = static_cast<int>(std::nearbyint(limited)) + zero_point;
    return static_cast<std::uint8_t>(std::clamp(code, -128, 127));
  }
  if (std::isnan(t)) return kNanCode;
  const auto sign = static_cast<std::uint8_t>(std::signbit(t) ? 0x80 : 0);
  return static_cast<std::uint8_t>(sign | rounding_to(dtype).nearest(std::fabs(double{t})));
}

std::size_t scale_place(const RowTransformSpec& spec, const RowProblem& problem, std::int64_t row,
                        std::int64_t group) {
  if (spec.output.granularity == RowGranularity::kToken) return 4 * as_size(row);
  const bool exponents = spec.output.scale_dtype == RowScaleDtype::kE8m0;
  if (spec.output.scale_layout == ScaleLayout::kRowMajor) {
    const std::int64_t stride = problem.scale_stride == 0 ? spec.groups() : problem.scale_stride;
    return as_size(row * stride + group) * (exponents ? 1 : 4);
  }
  const std::int64_t stride =
      problem.scale_stride == 0 ? (problem.m + 3) / 4 * 4 : problem.scale_stride;
  if (!exponents) return 4 * as_size(group * stride + row);
  return as_size(kGroupsOfWord * (group / kGroupsOfWord * stride + row) + group % kGroupsOfWord);
}

std::vector<bool> written_scale_bytes(const RowTransformSpec& spec, const RowProblem& problem) {
  if (row_scale_bytes(spec, problem.m, problem.scale_stride) == 0) return {};
  const bool groups = spec.output.granularity == RowGranularity::kGroup;
  const bool exponents = spec.output.scale_dtype == RowScaleDtype::kE8m0;
  const bool words = exponents && spec.output.scale_layout == ScaleLayout::kColumnMajor;
  const std::int64_t of_row = !groups ? 1
                              : words ? (spec.groups() + 3) / kGroupsOfWord * kGroupsOfWord
                                      : spec.groups();
  std::vector<bool> written;
  for (std::int64_t row = 0; row < problem.m; ++row) {
    for (std::int64_t group = 0; group < of_row; ++group) {
      const std::size_t at = scale_place(spec, problem, row, group);
      for (std::size_t i = at; i < at + (exponents ? 1 : 4); ++i) {
        if (i >= written.size()) written.resize(i + 1);
        written[i] = true;
      }
    }
  }
  return written;
}

std::string fault_of_codes(const RowTransformSpec& spec, const RowProblem& problem,
                           const ExpectedRows& expected, const WrittenRows& written,
                           double* worst) {
  CodeCheck check(spec, problem, expected, written);
  std::string fault = check.run();
  if (worst != nullptr) *worst = check.worst();
  return fault;
}

}  // namespace heddle

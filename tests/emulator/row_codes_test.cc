// The host's codes of 8 bits, which kernels are compared with: the page's formulas on numbers that
// are known, and that each kind of fault is told.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "heddle/operations.h"
#include "tools/gpu_harness/operations/row_transform/codes.h"
#include "tools/gpu_harness/operations/row_transform/problem.h"

namespace heddle {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

RowOutputSpec output_of(RowDtype dtype, RowScaleDtype scale_dtype = RowScaleDtype::kFp32) {
  RowOutputSpec output;
  output.dtype = dtype;
  output.scale_dtype = scale_dtype;
  output.granularity = RowGranularity::kGroup;
  return output;
}

TEST(RowCodes, NumbersOfFp8HaveTheirCode) {
  struct Format {
    RowDtype dtype;
    int mantissa;
    int bias;
    int largest;
  };
  for (const Format& f :
       {Format{RowDtype::kFp8E4m3, 3, 7, 0x7E}, Format{RowDtype::kFp8E5m2, 2, 15, 0x7B}}) {
    for (int code = 0; code <= f.largest; ++code) {
      const int exponent = code >> f.mantissa;
      const double fraction = (code & ((1 << f.mantissa) - 1)) * std::exp2(-f.mantissa);
      const double value = exponent == 0 ? std::ldexp(fraction, 1 - f.bias)
                                         : std::ldexp(1 + fraction, exponent - f.bias);
      EXPECT_EQ(row_code(f.dtype, static_cast<float>(value), 1, 0), code);
      EXPECT_EQ(row_code(f.dtype, static_cast<float>(-value), 1, 0), code | 0x80);
    }
    for (const float beyond : {1e9F, std::numeric_limits<float>::max(), kInfinity}) {
      EXPECT_EQ(row_code(f.dtype, beyond, 1, 0), f.largest);
      EXPECT_EQ(row_code(f.dtype, -beyond, 1, 0), f.largest | 0x80);
    }
    EXPECT_EQ(row_code(f.dtype, kNan, 1, 0), 0x7F);
  }
}

TEST(RowCodes, TiesGoToTheEvenCode) {
  EXPECT_EQ(row_code(RowDtype::kFp8E4m3, 17, 1, 0), 0x58) << "16";
  EXPECT_EQ(row_code(RowDtype::kFp8E4m3, 19, 1, 0), 0x5A) << "20";
  EXPECT_EQ(row_code(RowDtype::kFp8E4m3, 464, 1, 0), 0x7E) << "the code behind 448 is NaN's";
  EXPECT_EQ(row_code(RowDtype::kFp8E5m2, 4.5F, 1, 0), 0x44) << "4";
  EXPECT_EQ(row_code(RowDtype::kFp8E5m2, 5.5F, 1, 0), 0x46) << "6";
  const auto integer = [](float value, int zero = 0) {
    return static_cast<std::int8_t>(row_code(RowDtype::kInt8, value, 1, zero));
  };
  EXPECT_EQ(integer(0.5F), 0);
  EXPECT_EQ(integer(1.5F), 2);
  EXPECT_EQ(integer(-2.5F), -2);
  EXPECT_EQ(integer(300), 127);
  EXPECT_EQ(integer(-kInfinity), -128);
  EXPECT_EQ(integer(kNan), 0);
  EXPECT_EQ(integer(2.5F, -7), -5) << "the zero point is added behind the rounding";
  EXPECT_EQ(integer(300, -128), 127);
}

TEST(RowCodes, ScalesAreThoseOfTheLargestMagnitude) {
  const auto scale = [](RowDtype dtype, float width) {
    return std::bit_cast<float>(row_scale(output_of(dtype), width));
  };
  EXPECT_EQ(scale(RowDtype::kInt8, 254), 2);
  EXPECT_EQ(scale(RowDtype::kFp8E4m3, 224), 0.5F);
  EXPECT_EQ(scale(RowDtype::kFp8E5m2, 57344), 1);
  EXPECT_EQ(scale(RowDtype::kInt8, 0), 0x1p-126F);
  EXPECT_EQ(scale(RowDtype::kInt8, 1e-40F), 0x1p-126F);
  for (const float bad : {kNan, kInfinity}) {
    EXPECT_EQ(row_scale(output_of(RowDtype::kInt8), bad), 0x7FC00000U);
    EXPECT_EQ(row_scale(output_of(RowDtype::kFp8E4m3, RowScaleDtype::kE8m0), bad), 255U);
  }
  const auto exponent = [](float width) {
    return row_scale(output_of(RowDtype::kFp8E4m3, RowScaleDtype::kE8m0), width);
  };
  EXPECT_EQ(exponent(448), 127U);
  EXPECT_EQ(exponent(std::nextafter(448.0F, kInfinity)), 128U) << "rounded up";
  EXPECT_EQ(exponent(448 * 0x1p-126F), 1U);
  EXPECT_EQ(exponent(0), 0U);
  EXPECT_EQ(inverse_scale(output_of(RowDtype::kFp8E4m3, RowScaleDtype::kE8m0), 0), 0x1p127F);
  EXPECT_EQ(inverse_scale(output_of(RowDtype::kInt8), std::bit_cast<std::uint32_t>(4.0F)), 0.25F);
  // From -1 to 3 in 255 steps: -1 is 63.75 of them below zero.
  EXPECT_EQ(row_zero_point(1, 255.0F / 4), 64 - 128);
}

// Rows of one group and 8 columns, rounded on the host.
class RowCodesFault : public testing::Test {
 protected:
  void make(RowOutputSpec output) {
    spec_.shape.columns = 136;
    spec_.output = output;
    problem_ = make_row_problem(spec_, 3, 8, 7);
    expected_ = expected_rows(spec_, problem_);
    written_.y.assign(3 * 144, 0xFF);
    written_.scales.assign(row_scale_bytes(spec_, 3, problem_.scale_stride), 0);
    if (!output.symmetric) written_.zero_points.assign(3, 0);
    const std::int64_t step = output.granularity == RowGranularity::kGroup ? kRowGroup : 136;
    for (std::int64_t row = 0; row < 3; ++row) {
      for (std::int64_t first = 0; first < 136; first += step) fill(row, first, step);
    }
    ASSERT_EQ(fault(), "");
  }
  std::string fault() const { return fault_of_rows(spec_, problem_, expected_, written_); }

  RowTransformSpec spec_;
  RowProblem problem_;
  ExpectedRows expected_;
  WrittenRows written_;

 private:
  void fill(std::int64_t row, std::int64_t first, std::int64_t step) {
    const RowOutputSpec& output = spec_.output;
    const double* const y = &expected_.y[static_cast<std::size_t>(row * 136)];
    float high = 0;
    float low = 0;
    for (std::int64_t i = first; i < std::min<std::int64_t>(first + step, 136); ++i) {
      high = std::max(high, static_cast<float>(y[i]));
      low = std::min(low, static_cast<float>(y[i]));
    }
    const std::uint32_t scale =
        row_scale(output, output.symmetric ? std::max(high, -low) : high - low);
    const float inverse = inverse_scale(output, scale);
    const int zero = output.symmetric ? 0 : row_zero_point(-low, inverse);
    for (std::int64_t i = first; i < std::min<std::int64_t>(first + step, 136); ++i) {
      written_.y[static_cast<std::size_t>(row * 144 + i)] =
          row_code(output.dtype, static_cast<float>(y[i]), inverse, zero);
    }
    std::memcpy(&written_.scales[scale_place(spec_, problem_, row, first / kRowGroup)], &scale,
                output.scale_dtype == RowScaleDtype::kE8m0 ? 1 : 4);
    if (!output.symmetric) written_.zero_points[static_cast<std::size_t>(row)] = zero;
  }
};

TEST_F(RowCodesFault, OfAZeroPointIsTold) {
  RowOutputSpec output = output_of(RowDtype::kInt8);
  output.granularity = RowGranularity::kToken;
  output.symmetric = false;
  make(output);
  ++written_.zero_points[1];
  EXPECT_NE(fault().find("zero point of row 1"), std::string::npos) << fault();
}

TEST_F(RowCodesFault, OfACodeAScaleAndPaddingIsTold) {
  RowOutputSpec output = output_of(RowDtype::kFp8E4m3, RowScaleDtype::kE8m0);
  output.scale_layout = ScaleLayout::kColumnMajor;
  make(output);
  const WrittenRows good = written_;
  written_.y[144 + 130] ^= 1;
  EXPECT_NE(fault().find("row 1, column 130"), std::string::npos) << fault();
  written_ = good;
  ++written_.scales[scale_place(spec_, problem_, 2, 1)];
  EXPECT_NE(fault().find("the scale of row 2 from column 128"), std::string::npos) << fault();
  written_ = good;
  written_.scales[scale_place(spec_, problem_, 0, 3)] = 1;
  EXPECT_NE(fault().find("what pads the scales of row 0"), std::string::npos) << fault();
}

}  // namespace
}  // namespace heddle

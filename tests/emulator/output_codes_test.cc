// What codes of Y are compared by: that each kind of fault is told.
#include "tools/gpu_harness/operations/gemm/output_codes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace heddle {
namespace {

TEST(OutputCodes, ErrorsAreThoseBeyondTheRounding) {
  EXPECT_EQ(code_error(DType::kInt8, 5, 1, 5.5), 0);
  EXPECT_NEAR(code_error(DType::kInt8, 5, 2, 11.4), 0.4, 1e-12);
  EXPECT_EQ(code_error(DType::kInt8, 0x80, 1, -1e9), 0);
  EXPECT_NEAR(code_error(DType::kInt8, 0x7F, 1, 126), 0.5, 1e-12);
  EXPECT_EQ(code_error(DType::kFp8E4m3, 0x7E, 1, 1e9), 0);
  EXPECT_EQ(code_error(DType::kFp8E4m3, 0x58, 1, 16.9), 0);
  EXPECT_NEAR(code_error(DType::kFp8E4m3, 0x58, 1, 18), 1, 1e-12) << "16 for what becomes 18";
  EXPECT_NEAR(code_error(DType::kFp8E4m3, 0xD8, 1, 16), 31.5, 1e-12) << "the other sign";
  EXPECT_EQ(code_error(DType::kFp8E5m2, 0x80, 1, 0), 0);
  EXPECT_TRUE(std::isnan(code_error(DType::kFp8E5m2, 0x7F, 1, 1)));
}

// 136 columns, whose second group has eight, by powers of two.
class OutputScales : public testing::Test {
 protected:
  OutputScales() {
    spec_.shape = {136, 64, 1, 2};
    spec_.output = DType::kFp8E4m3;
    spec_.output_scale = {RowGranularity::kGroup, RowScaleDtype::kE8m0};
    // 1.5 is 384 times 2^-8, whose code is 0x7C.
    std::fill(expected_.begin() + 128, expected_.begin() + 136, 1.5);
    std::fill(expected_.begin() + 264, expected_.end(), 1.5);
    std::fill(y_.begin() + 128, y_.begin() + 136, 0x7C);
    std::fill(y_.begin() + 264, y_.end(), 0x7C);
    for (int token = 0; token < 2; ++token) {
      scales_[4 * token] = 127;
      scales_[4 * token + 1] = 127 - 8;
    }
  }
  double squares() const {
    return code_errors(spec_, 2, y_.data(), scales_.data(), expected_.data()).squares;
  }

  GemmSpec spec_;
  std::vector<double> expected_ = std::vector<double>(272, 448.0);
  std::vector<std::uint8_t> y_ = std::vector<std::uint8_t>(272, 0x7E);
  std::vector<std::uint8_t> scales_ = std::vector<std::uint8_t>(16, 0);
};

TEST_F(OutputScales, ThatAreRightHaveNoError) { EXPECT_EQ(squares(), 0); }

TEST_F(OutputScales, ThatAreWrongHaveOne) {
  scales_[1] = 127 - 6;
  EXPECT_GT(squares(), 1);
}

TEST_F(OutputScales, BehindTheLastGroupAreZero) {
  scales_[4 + 2] = 1;
  EXPECT_TRUE(std::isnan(squares()));
}

TEST_F(OutputScales, OfACodeThatIsWrongTellIt) {
  y_[135] = 0x7D;
  EXPECT_GT(squares(), 0);
}

}  // namespace
}  // namespace heddle

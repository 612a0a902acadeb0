#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "checkpoint/codes/float_codes.h"
#include "checkpoint/codes/half_convert.h"
#include "generator/decode/float16.h"

namespace heddle {
namespace {

void expect_same(double value) {
  EXPECT_EQ(round_to_16(DType::kFp16, value), float16_from_double(kBinary16, value)) << value;
  EXPECT_EQ(round_to_16(DType::kBf16, value), float16_from_double(kBfloat16, value)) << value;
}

TEST(RoundTo16, EveryScaleTimesEveryInteger) {
  for (int bits = 0; bits < 1 << 16; bits += 7) {
    for (const int integer : {-255, -15, -8, -3, -1, 0, 1, 7, 15, 100, 255}) {
      expect_same(integer * float16_to_double(kBinary16, static_cast<std::uint16_t>(bits)));
      expect_same(integer * float16_to_double(kBfloat16, static_cast<std::uint16_t>(bits)));
    }
  }
}

// Around the midpoints between neighbours, where two roundings would show.
TEST(RoundTo16, JustBesideTheMidpoints) {
  for (const Float16Format format : {kBinary16, kBfloat16}) {
    for (std::uint16_t bits = 0; bits < format.exponent_mask(); bits += 3) {
      const double low = float16_to_double(format, bits);
      const auto next = static_cast<std::uint16_t>(bits + 1);
      const double high = next == format.exponent_mask() ? low : float16_to_double(format, next);
      const double middle = low + (high - low) / 2;
      for (const double value :
           {middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e300)}) {
        expect_same(value);
        expect_same(-value);
      }
    }
  }
  for (const double value : {1e300, -1e300, 1e-300, -1e-300, 65519.999, 65520.0, 3.4e38, 3.5e38,
                             double{INFINITY}, -double{INFINITY}}) {
    expect_same(value);
  }
}

TEST(FloatCodes, KnownValues) {
  EXPECT_EQ(e4m3_value(0x7E), 448);
  EXPECT_EQ(e4m3_value(0x01), std::ldexp(1, -9));
  EXPECT_EQ(e4m3_value(0xB8), -1);
  EXPECT_TRUE(std::isnan(e4m3_value(0xFF)));
  EXPECT_EQ(e5m2_value(0x7B), 57344);
  EXPECT_EQ(e5m2_value(0x01), std::ldexp(1, -16));
  EXPECT_EQ(e5m2_value(0xBC), -1);
  EXPECT_TRUE(std::isinf(e5m2_value(0x7C)));
  EXPECT_TRUE(std::isnan(e5m2_value(0xFD)));
  EXPECT_EQ(e2m1_value(0x7), 6);
  EXPECT_EQ(e2m1_value(0x9), -0.5);
  EXPECT_EQ(e8m0_value(127), 1);
  EXPECT_EQ(e8m0_value(0), std::ldexp(1, -127));
  EXPECT_TRUE(std::isnan(e8m0_value(255)));
}

}  // namespace
}  // namespace heddle

#include "generator/decode/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace heddle {
namespace {

const Float16Format kFormats[] = {kBinary16, kBfloat16};

TEST(Float16, EveryCodeSurvivesTheRoundTrip) {
  for (const Float16Format format : kFormats) {
    for (int bits = 0; bits < 0x10000; ++bits) {
      const double value = float16_to_double(format, static_cast<std::uint16_t>(bits));
      if (std::isnan(value)) continue;
      EXPECT_EQ(float16_from_double(format, value), bits);
    }
  }
}

TEST(Float16, KnownValues) {
  EXPECT_EQ(float16_from_double(kBinary16, 1024), 0x6400);
  EXPECT_EQ(float16_from_double(kBinary16, -8), 0xC800);
  EXPECT_EQ(float16_from_double(kBinary16, std::ldexp(1.0, -24)), 0x0001);
  EXPECT_EQ(float16_from_double(kBinary16, 65504), 0x7BFF);
  EXPECT_EQ(float16_from_double(kBfloat16, 128), 0x4300);
  EXPECT_EQ(float16_from_double(kBfloat16, 1), 0x3F80);
}

TEST(Float16, RoundsTiesToEvenAndOverflowsToInfinity) {
  EXPECT_EQ(float16_from_double(kBinary16, 2049), 0x6800);  // 2048: between 2048 and 2050
  EXPECT_EQ(float16_from_double(kBinary16, 2051), 0x6802);  // 2052
  EXPECT_EQ(float16_from_double(kBinary16, 65519), 0x7BFF);
  EXPECT_EQ(float16_from_double(kBinary16, 65520), 0x7C00);
  EXPECT_EQ(float16_from_double(kBinary16, std::ldexp(1.0, -25)), 0x0000);
  EXPECT_EQ(float16_from_double(kBinary16, -std::ldexp(3.0, -26)), 0x8001);
  EXPECT_EQ(float16_from_double(kBfloat16, 257), 0x4380);
}

TEST(Float16, FmaRoundsOnce) {
  // 1 + 2^-11 - 2^-30 would round up twice, by way of the tie 1 + 2^-11; once rounded it is 1.
  const std::uint16_t one = float16_from_double(kBinary16, 1);
  const std::uint16_t a =
      float16_from_double(kBinary16, std::ldexp(1.0, -10) + std::ldexp(1.0, -20));
  const std::uint16_t half = float16_from_double(kBinary16, 0.5);
  EXPECT_EQ(float16_fma(kBinary16, a, half, one), 0x3C01);  // just above the tie
  const std::uint16_t b = float16_from_double(kBinary16, std::ldexp(1.0, -10));
  EXPECT_EQ(float16_fma(kBinary16, b, half, one), 0x3C00);  // the tie itself goes to even
}

TEST(Float16, FmaAgreesWithLongDouble) {
  std::mt19937 random(7);
  int checked = 0;
  for (int i = 0; i < 200000; ++i) {
    const auto a = static_cast<std::uint16_t>(random());
    const auto b = static_cast<std::uint16_t>(random());
    const auto c = static_cast<std::uint16_t>(random());
    const double x = float16_to_double(kBinary16, a), y = float16_to_double(kBinary16, b),
                 z = float16_to_double(kBinary16, c);
    const long double exact = static_cast<long double>(x) * y + z;
    if (std::isnan(static_cast<double>(exact))) continue;
    // Only sums that a double holds exactly: the reference then rounds once, too.
    const auto sum = static_cast<double>(exact);
    if (static_cast<long double>(sum) != exact) continue;
    ++checked;
    EXPECT_EQ(float16_fma(kBinary16, a, b, c), float16_from_double(kBinary16, sum));
  }
  EXPECT_GT(checked, 100000);
}

}  // namespace
}  // namespace heddle

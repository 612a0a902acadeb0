// round_scale(): what a scale becomes as it is stored.
#include "generator/layout/rounding_rule.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "generator/decode/float16.h"

namespace heddle {
namespace {

TEST(RoundScale, PowersOfTwoAreNotBelowTheScale) {
  EXPECT_EQ(round_scale(DType::kE8m0, 1.0F).bits, 127u);
  EXPECT_EQ(round_scale(DType::kE8m0, 1.0F + 0x1p-23F).bits, 128u);
  EXPECT_EQ(round_scale(DType::kE8m0, 0x1p-127F).bits, 0u);
  EXPECT_EQ(round_scale(DType::kE8m0, 0x1p-126F).bits, 1u);
  EXPECT_EQ(round_scale(DType::kE8m0, 0x1.8p-127F).bits, 1u);
  EXPECT_EQ(round_scale(DType::kE8m0, std::numeric_limits<float>::max()).bits, 254u);
  EXPECT_EQ(round_scale(DType::kE8m0, 0).value, 0);
}

// Every 16-bit scale rounds to itself; halfway goes to the even one.
TEST(RoundScale, SixteenBitsAreTheNearest) {
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    const Float16Format format = float16_format(dtype);
    const auto value_of = [&](std::uint32_t bits) {
      return float16_to_double(format, static_cast<std::uint16_t>(bits));
    };
    for (std::uint32_t bits = 0; bits < format.exponent_mask(); ++bits) {
      const double value = value_of(bits);
      ASSERT_EQ(round_scale(dtype, static_cast<float>(value)).bits, bits);
      ASSERT_EQ(round_scale(dtype, static_cast<float>(value)).value, value);
      if (bits + 1 == format.exponent_mask()) continue;
      const double next = value_of(bits + 1);
      ASSERT_EQ(round_scale(dtype, static_cast<float>((value + next) / 2)).bits, bits + (bits & 1));
    }
  }
}

}  // namespace
}  // namespace heddle

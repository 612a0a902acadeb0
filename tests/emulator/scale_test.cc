// Scales of 8 bits as kernels widen them to 16-bit floats: every code.
#include "primitives/scale.cuh"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace heddle {
namespace {

double e8m0_value(unsigned code) {
  return code == 255 ? NAN : std::ldexp(1.0, static_cast<int>(code) - 127);
}

double e4m3_value(unsigned code) {
  const int exponent = static_cast<int>(code >> 3 & 15);
  const int mantissa = static_cast<int>(code & 7);
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

template <class Value>
void expect(double low, double high, u32 pair) {
  for (const auto& [want, got] :
       {std::pair{low, Value::low_to_float(pair)}, {high, Value::high_to_float(pair)}}) {
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got));
    } else {
      EXPECT_EQ(got, want);
    }
  }
}

// Codes as neighbours, so that neither half tells on the other.
constexpr u32 kCodes = 256;
constexpr u32 other(u32 code) { return (code * 37 + 11) % kCodes; }
constexpr u32 pair_of(u32 code) { return other(code) << 8 | code; }

TEST(ScaleCodes, E8m0IsExactAsABf16) {
  for (u32 code = 0; code < kCodes; ++code) {
    expect<Bf16>(e8m0_value(code), e8m0_value(other(code)), E8m0::values<0>(Bf16{}, pair_of(code)));
  }
}

// 2^63 of its own, as far as a bfloat16 goes.
TEST(ScaleCodes, E8m0TakesAPowerOfTwo) {
  constexpr u32 kLargest = 127 + 127 - 63;
  const auto want = [](u32 code) -> double {
    return code > kLargest && code < 255 ? INFINITY : std::ldexp(e8m0_value(code), 63);
  };
  for (u32 code = 0; code < kCodes; ++code) {
    expect<Bf16>(want(code), want(other(code)), E8m0::values<63>(Bf16{}, pair_of(code)));
  }
}

TEST(ScaleCodes, E4m3IsExactInBothTypes) {
  for (u32 code = 0; code < kCodes; ++code) {
    const double low = e4m3_value(code);
    const double high = e4m3_value(other(code));
    expect<Fp16>(low, high, E4m3::values<0>(Fp16{}, pair_of(code)));
    expect<Bf16>(low, high, E4m3::values<0>(Bf16{}, pair_of(code)));
    expect<Fp16>(std::ldexp(low, 7), std::ldexp(high, 7), E4m3::values<7>(Fp16{}, pair_of(code)));
    expect<Bf16>(std::ldexp(low, 119), std::ldexp(high, 119),
                 E4m3::values<119>(Bf16{}, pair_of(code)));
  }
}

}  // namespace
}  // namespace heddle

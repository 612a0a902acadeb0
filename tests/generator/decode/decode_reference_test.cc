// The reference that the proofs rest on, against values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "generator/decode/decode_plan.h"
#include "generator/decode/requests.h"

namespace heddle {
namespace {

TEST(DecodeReference, Integers) {
  DecodeRequest request;
  EXPECT_EQ(reference_decode(request, 0, 0), 0xC800);   // 0 - 8
  EXPECT_EQ(reference_decode(request, 15, 0), 0x4700);  // 15 - 8
  EXPECT_EQ(reference_decode(request, 8, 0), 0x0000);
  request.type = WeightType::kInt;
  EXPECT_EQ(reference_decode(request, 15, 0), 0xBC00);  // -1
  request.zero_point = ZeroPoint::kInt;
  EXPECT_EQ(reference_decode(request, 15, 8), 0x4700);  // -1 - -8
}

TEST(DecodeReference, Floats) {
  const DecodeRequest e4m3 = float_request(4, 3, DType::kFp16);
  EXPECT_EQ(reference_decode(e4m3, 0x01, 0), 0x1800);  // 2^-9, a subnormal
  EXPECT_EQ(reference_decode(e4m3, 0x7E, 0), 0x5F00);  // 448
  EXPECT_EQ(reference_decode(e4m3, 0x80, 0), 0x8000);
  const DecodeRequest e5m2 = float_request(5, 2, DType::kBf16);
  EXPECT_EQ(reference_decode(e5m2, 0x01, 0), 0x3780);  // 2^-16
  const DecodeRequest e2m1 = float_request(2, 1, DType::kFp16);
  const std::uint16_t values[] = {0x0000, 0x3800, 0x3C00, 0x3E00, 0x4000, 0x4200, 0x4400, 0x4600};
  for (unsigned code = 0; code < 8; ++code) {
    EXPECT_EQ(reference_decode(e2m1, code, 0), values[code]);
    EXPECT_EQ(reference_decode(e2m1, code | 8, 0), values[code] | 0x8000);
  }
  EXPECT_EQ(reference_decode(float_request(3, 2, DType::kFp16), 0x1F, 0), 0x4F00);  // 28
  EXPECT_EQ(reference_decode(float_request(2, 3, DType::kFp16), 0x1F, 0), 0x4780);  // 7.5
}

// What a NaN or an infinity becomes is defined, and proven with all other codes.
TEST(DecodeReference, CodesThatAreNoNumbers) {
  EXPECT_EQ(reference_decode(float_request(4, 3, DType::kFp16), 0x7F, 0), 0x5F80);  // 480
  EXPECT_EQ(reference_decode(float_request(4, 3, DType::kBf16), 0xFF, 0), 0xC3F0);  // -480
  EXPECT_EQ(reference_decode(float_request(5, 2, DType::kFp16), 0x7C, 0), 0x7C00);  // infinity
  EXPECT_EQ(reference_decode(float_request(5, 2, DType::kFp16), 0x7D, 0), 0x7D00);  // NaN
  EXPECT_EQ(reference_decode(float_request(5, 2, DType::kBf16), 0x7C, 0), 0x4780);  // 65536
}

TEST(DecodeReference, Table) {
  const DecodeRequest nf4 = table_request(nf4_values(), DType::kBf16);
  EXPECT_EQ(reference_decode(nf4, 0, 0), 0xBF80);
  EXPECT_EQ(reference_decode(nf4, 7, 0), 0x0000);
  EXPECT_EQ(reference_decode(nf4, 15, 0), 0x3F80);
}

// The scale's product is neither rounded nor overflows before it is divided.
TEST(DecodeReference, RoundsOnce) {
  const DecodeRequest uint4;
  EXPECT_EQ(reference_decode(uint4, 15, 0, 1023, std::ldexp(1.0, 1023)), 0x4700);  // 7
  EXPECT_EQ(reference_decode(uint4, 15, 0, 1100, 1e308), 0x0000);
  EXPECT_EQ(reference_decode(uint4, 13, 0, 0, 0.20009765625000001), 0x3C01);
  EXPECT_EQ(reference_decode(uint4, 15, 0, 0, 0.14292689732142858), 0x3C01);
  EXPECT_EQ(reference_decode(uint4, 8, 0, 0, -1.0), 0x0000);
}

TEST(DecodeReference, TablesHaveTheExponent) {
  const DecodeRequest nf4 = table_request(nf4_values(), DType::kFp16);
  EXPECT_EQ(reference_decode(nf4, 15, 0, 1), 0x3800);  // 1 / 2
  EXPECT_EQ(reference_decode(nf4, 0, 0, -3), 0xC800);  // -8
}

}  // namespace
}  // namespace heddle

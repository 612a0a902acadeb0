// Codes of four bits that decoding multiplies by an integer scale: INT8.
#include <gtest/gtest.h>

#include "generator/decode/integer_code.h"
#include "generator/decode/requests.h"
#include "heddle/error.h"
#include "tests/byte_gemm.h"

namespace heddle {
namespace {

DecodeRequest request_of(WeightType type, ZeroPoint zero) {
  GemmSpec spec = two_level_gemm(16, 128);
  spec.weight.type = type;
  spec.weight.zero_point = zero;
  return decode_request(spec.weight, DType::kInt8);
}

TEST(DecodeByteScale, TakesAsManyOperationsAsZeroPointsAlone) {
  for (const WeightType type : {WeightType::kUint, WeightType::kInt}) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
      const DecodePlan plan = derive_decode_plan(request_of(type, zero));
      EXPECT_DOUBLE_EQ(plan.instructions_per_weight, 0.875) << describe(plan);
      EXPECT_EQ(plan.result_exponent, 0);
      EXPECT_EQ(plan.group_words, 1);
    }
  }
}

// Row g has the codes 0 to 3, a zero point of 2 and a scale of 60; row g + 8 codes of 15, of 14 and
// 9.
TEST(DecodeByteScale, MultipliesEachByteAlone) {
  const DecodePlan plan = derive_decode_plan(request_of(WeightType::kUint, ZeroPoint::kInt));
  ASSERT_EQ(plan.words, 2);
  const std::vector<std::uint32_t> words{0xf3f2f1f0, 0xf3f2f1f0};
  const std::vector<std::uint32_t> group{9U << 24 | 60U << 16 | 14U << 4 | 2U};
  const std::vector<std::uint16_t> got = evaluate_decode_plan(plan, words, group);
  const int of_row[] = {-120, -60, 0, 60};
  for (std::size_t e = 0; e < got.size(); ++e) {
    const int want = e / 4 % 2 == 0 ? of_row[e % 4] : 9;
    EXPECT_EQ(static_cast<std::int8_t>(got[e]), want) << "element " << e;
  }
}

// The proof sees a scale and an addend of the other row, and a sign that is not flipped.
TEST(DecodeByteScale, TheProofFindsTheOtherRowsScale) {
  const DecodePlan right = derive_decode_plan(request_of(WeightType::kInt, ZeroPoint::kInt));
  EXPECT_EQ(prove_decode_plan(right).mismatches, 0U);
  for (std::size_t i = 0; i < right.ops.size(); ++i) {
    DecodePlan wrong = right;
    DecodeOp& op = wrong.ops[i];
    if (op.opcode == DecodeOpcode::kIntScale) {
      op.group ^= 2;
    } else {
      op.imm ^= 8;
    }
    EXPECT_GT(prove_decode_plan(wrong).mismatches, 0U) << "operation " << i;
  }
  for (std::size_t i = 0; i < right.group_ops.size(); ++i) {
    DecodePlan wrong = right;
    DecodeOp& op = wrong.group_ops[i];
    if (op.c >= 0) {
      op.c = right.group_outputs[0] + right.group_outputs[2] - op.c;
    } else {
      op.imm ^= 1;
    }
    EXPECT_GT(prove_decode_plan(wrong).mismatches, 0U) << "group operation " << i;
  }
}

TEST(DecodeByteScale, CasesHaveOnlyProductsThatFit) {
  const DecodeRequest request = request_of(WeightType::kUint, ZeroPoint::kInt);
  EXPECT_TRUE(fits_int8(request, 15, 0, 8));
  EXPECT_FALSE(fits_int8(request, 15, 0, 9));
  EXPECT_TRUE(fits_int8(request, 0, 1, 127));
  EXPECT_TRUE(fits_int8(request, 0, 8, 16)) << "-128";
  EXPECT_FALSE(fits_int8(request, 9, 1, 16)) << "128";
}

TEST(DecodeByteScale, IsOfInt8Alone) {
  DecodeRequest request = request_of(WeightType::kUint, ZeroPoint::kNone);
  request.dtype = DType::kFp8E4m3;
  EXPECT_THROW(derive_decode_plan(request), Error);
}

}  // namespace
}  // namespace heddle

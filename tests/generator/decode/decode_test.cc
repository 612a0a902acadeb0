#include <gtest/gtest.h>

#include "generator/decode/decode_plan.h"
#include "generator/decode/requests.h"
#include "heddle/error.h"

namespace heddle {
namespace {

DecodePlan plan_for(int bits, WeightType type, ZeroPoint zero, DType dtype) {
  return derive_decode_plan({bits, type, zero, dtype});
}

int count(const DecodePlan& plan, DecodeOpcode opcode) {
  int n = 0;
  for (const DecodeOp& op : plan.ops) n += op.opcode == opcode ? 1 : 0;
  return n;
}

TEST(DecodePlan, AProofFindsAWrongConstant) {
  DecodePlan plan = plan_for(4, WeightType::kUint, ZeroPoint::kNone, DType::kFp16);
  for (DecodeOp& op : plan.ops) {
    if (op.opcode == DecodeOpcode::kSub) op.imm2 ^= 1;
  }
  EXPECT_GT(prove_decode_plan(plan).mismatches, 0u);
}

TEST(DecodePlan, AProofFindsAMaskThatLetsANeighbourIn) {
  DecodePlan plan = plan_for(4, WeightType::kUint, ZeroPoint::kNone, DType::kFp16);
  for (DecodeOp& op : plan.ops) {
    if (op.opcode == DecodeOpcode::kLop3 && op.imm == 0x00f000f0) op.imm = 0x01f000f0;
  }
  EXPECT_GT(prove_decode_plan(plan).mismatches, 0u);
}

// The counts that are known to be reachable code by code: 1.125 and 1.375 instructions per weight.
TEST(DecodePlan, FourBitsTakeNineAndElevenOperations) {
  const DecodePlan fp16 = plan_for(4, WeightType::kInt, ZeroPoint::kNone, DType::kFp16);
  EXPECT_EQ(fp16.ops.size(), 9u);
  EXPECT_EQ(count(fp16, DecodeOpcode::kShr), 1);
  EXPECT_DOUBLE_EQ(fp16.instructions_per_weight, 1.125);
  const DecodePlan bf16 = plan_for(4, WeightType::kUint, ZeroPoint::kNone, DType::kBf16);
  EXPECT_EQ(bf16.ops.size(), 11u);
  EXPECT_EQ(count(bf16, DecodeOpcode::kShr), 3);
}

// Two codes of a byte, with and without zero points: no shift, and one operation for each weight.
TEST(DecodePlan, BytesOfTwoCodesTakeEightOperations) {
  for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
    for (const ElementOrder order : {ElementOrder::kFragment, ElementOrder::kAwq,
                                     ElementOrder::kEvenOdd, ElementOrder::kTrtllm}) {
      DecodeRequest request{4, WeightType::kUint, zero, DType::kFp16};
      request.order = order;
      const DecodePlan plan = derive_decode_plan(request);
      EXPECT_DOUBLE_EQ(plan.instructions_per_weight, 1.0) << describe(plan);
      EXPECT_EQ(count(plan, DecodeOpcode::kShr), 0) << describe(plan);
      EXPECT_EQ(count(plan, DecodeOpcode::kMulAdd), plan.elements() / 4) << describe(plan);
    }
  }
}

// The zero point of low codes is a part of the magic number of high ones.
TEST(DecodePlan, ZeroPointsOfBytesTakeAMagicNumberAndASubtrahend) {
  DecodeRequest request{4, WeightType::kUint, ZeroPoint::kInt, DType::kFp16};
  const DecodePlan plan = derive_decode_plan(request);
  ASSERT_EQ(plan.group_outputs.size(), 2u);
  ASSERT_EQ(plan.group_ops.size(), 2u);
  EXPECT_EQ(plan.group_ops[0].imm, 0x000f000fu);
  EXPECT_EQ(plan.group_ops[0].imm2, 0x54005400u);
  EXPECT_EQ(plan.group_ops[1].imm, 0x00ff00ffu);
  request.zero_order = ZeroOrder::kElements;
  const DecodePlan by_element = derive_decode_plan(request);
  EXPECT_EQ(by_element.ops.size(), 8u);
  EXPECT_EQ(by_element.group_outputs.size(), 4u);
}

// bfloat16 has seven bits of mantissa, two's complement a sign to flip, a stream of bits neighbours
// in one register.
TEST(DecodePlan, OtherCodesOfFourBitsAreDecodedOneByOne) {
  DecodeRequest linear{4, WeightType::kUint, ZeroPoint::kNone, DType::kFp16};
  linear.order = ElementOrder::kLinear;
  for (const DecodeRequest& request :
       {DecodeRequest{4, WeightType::kUint, ZeroPoint::kNone, DType::kBf16},
        DecodeRequest{4, WeightType::kInt, ZeroPoint::kInt, DType::kFp16}, linear}) {
    EXPECT_EQ(count(derive_decode_plan(request), DecodeOpcode::kMulAdd), 0);
  }
}

TEST(DecodePlan, DerivesTheKnownConstants) {
  const DecodePlan bytes = plan_for(4, WeightType::kUint, ZeroPoint::kNone, DType::kFp16);
  EXPECT_EQ(bytes.ops[0].imm, 0x00ff00ffu);
  EXPECT_EQ(bytes.ops[0].imm2, 0x64006400u);
  EXPECT_EQ(bytes.ops[1].imm, 0x00f000f0u);
  EXPECT_EQ(bytes.ops[1].imm2, 0x54085408u);  // 64 + 8 / 16
  EXPECT_EQ(bytes.ops[2].imm, 0xcc00cc00u);   // -16
  EXPECT_EQ(bytes.ops[3].imm2, 0x54885488u);  // 72 + 8 / 16
  EXPECT_EQ(bytes.ops[4].opcode, DecodeOpcode::kPrmt);
  const DecodePlan plan = plan_for(2, WeightType::kUint, ZeroPoint::kNone, DType::kFp16);
  EXPECT_EQ(plan.ops[0].lut, 0xEA);
  EXPECT_EQ(plan.ops[0].imm, 0x00030003u);
  EXPECT_EQ(plan.ops[0].imm2, 0x64006400u);
  EXPECT_EQ(plan.ops[1].imm2, 0x64026402u);
  EXPECT_EQ(plan.ops[2].imm2, 0x5c005c00u);
  const DecodePlan sign = plan_for(4, WeightType::kInt, ZeroPoint::kNone, DType::kFp16);
  EXPECT_EQ(sign.ops[0].lut, 0x6A);
  EXPECT_EQ(sign.ops[0].imm2, 0x64086408u);
  const DecodePlan bf16 = plan_for(4, WeightType::kUint, ZeroPoint::kNone, DType::kBf16);
  EXPECT_EQ(bf16.ops[0].imm2, 0x43004300u);
}

DecodePlan folded_plan_for(int bits, ZeroPoint zero, DType dtype) {
  DecodeRequest request{bits, WeightType::kUint, zero, dtype};
  request.fold_power = true;
  return derive_decode_plan(request);
}

// The upper of two fields of a byte: its top bit is the exponent's lowest. 0x7f00 is 2^127.
TEST(DecodePlan, BareFieldsTakeNoMagicNumber) {
  const DecodePlan plan = folded_plan_for(4, ZeroPoint::kNone, DType::kBf16);
  EXPECT_EQ(plan.ops.size(), 9u);
  EXPECT_EQ(count(plan, DecodeOpcode::kShr), 1);
  EXPECT_EQ(plan.result_exponent, 2);
  EXPECT_EQ(plan.ops[0].imm2, 0x42004200u);  // 32, whose lowest bit weighs 1/4
  EXPECT_EQ(plan.ops[1].imm2, 0x42084208u);
  EXPECT_EQ(plan.ops[2].imm, 0x00f000f0u);
  EXPECT_EQ(plan.ops[2].imm2, 0u);
  EXPECT_EQ(plan.ops[3].opcode, DecodeOpcode::kFma);
  EXPECT_EQ(plan.ops[3].imm, 0x7f007f00u);
  EXPECT_EQ(plan.ops[3].imm2, 0x40004000u);  // 8 / 4
  const DecodePlan bytes = folded_plan_for(8, ZeroPoint::kNone, DType::kBf16);
  EXPECT_EQ(bytes.ops.size(), 8u);
  EXPECT_EQ(bytes.result_exponent, 6);
  // Small ones need no power of two.
  EXPECT_EQ(plan_for(2, WeightType::kUint, ZeroPoint::kNone, DType::kBf16).ops.size(), 17u);
}

// What saves nothing leaves nothing to the scale.
TEST(DecodePlan, APowerOfTwoIsLeftToTheScaleWhereThatSavesOperations) {
  for (int bits = 1; bits <= 8; ++bits) {
    const DecodePlan bf16 = folded_plan_for(bits, ZeroPoint::kInt, DType::kBf16);
    EXPECT_EQ(bf16.result_exponent, bits > 2 ? bits - 2 : 0) << bits;
  }
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    EXPECT_EQ(folded_plan_for(bits, ZeroPoint::kInt, DType::kFp16).result_exponent, 0) << bits;
  }
}

// Two pairs move at once. Shifts up count for less: they may be multiplications.
TEST(DecodePlan, FloatsOfFourBitsMoveInPairsOfPairs) {
  constexpr struct {
    ElementOrder order;
    DType dtype;
    std::size_t ops;
    int shifts_up;
  } cases[] = {{ElementOrder::kFragment, DType::kBf16, 9, 3},
               {ElementOrder::kFragment, DType::kFp16, 12, 5},
               {ElementOrder::kEvenOdd, DType::kBf16, 11, 4},
               {ElementOrder::kEvenOdd, DType::kFp16, 11, 4}};
  for (const auto& one : cases) {
    DecodeRequest request = float_request(2, 1, one.dtype);
    request.fold_power = true;
    request.order = one.order;
    const DecodePlan plan = derive_decode_plan(request);
    EXPECT_EQ(plan.ops.size(), one.ops) << describe(plan);
    EXPECT_EQ(count(plan, DecodeOpcode::kShl), one.shifts_up) << describe(plan);
  }
}

// One row's fields share a bit, so one subtrahend for each row is enough.
TEST(DecodePlan, IntegerZeroPointsTakeOneRegisterForEachRow) {
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    const DecodePlan plan = plan_for(4, WeightType::kUint, ZeroPoint::kInt, dtype);
    EXPECT_EQ(plan.group_outputs.size(), 2u);
    EXPECT_EQ(plan.ops.size(), dtype == DType::kFp16 ? 8u : 11u);
    EXPECT_EQ(folded_plan_for(4, ZeroPoint::kInt, dtype).group_outputs.size(), 2u);
  }
}

TEST(DecodePlan, TheOrderInsideAWordIsOneForAllDestinations) {
  EXPECT_EQ(plan_for(4, WeightType::kUint, ZeroPoint::kNone, DType::kFp16).field_of,
            plan_for(4, WeightType::kInt, ZeroPoint::kInt, DType::kBf16).field_of);
}

// Eight bits do not fit seven bits of mantissa: the top bit goes to the exponent.
TEST(DecodePlan, EightBitsToBf16AreSplit) {
  const DecodePlan plan = plan_for(8, WeightType::kUint, ZeroPoint::kNone, DType::kBf16);
  EXPECT_EQ(plan.ops[0].imm, 0x007f007fu);
  EXPECT_EQ(plan.ops[0].imm2, 0x43004300u);
  EXPECT_EQ(plan.ops[1].imm, 0x00800080u);
  EXPECT_EQ(plan.ops[1].imm2, 0x43804380u);
  EXPECT_EQ(plan.ops[2].last, LastOperand::kRegister);
}

TEST(DecodePlan, HighBytesToFp16TakeOnePrmt) {
  const DecodePlan plan = plan_for(8, WeightType::kUint, ZeroPoint::kNone, DType::kFp16);
  EXPECT_EQ(count(plan, DecodeOpcode::kPrmt), 2);
  for (const DecodeOp& op : plan.ops) {
    if (op.opcode != DecodeOpcode::kPrmt) continue;
    EXPECT_EQ(op.imm2, 0x64006400u);
  }
}

TEST(DecodePlan, AWidthThatIsNoPowerOfTwoFillsItsWords) {
  for (const int bits : {3, 5, 6, 7}) {
    const DecodePlan plan = plan_for(bits, WeightType::kUint, ZeroPoint::kNone, DType::kFp16);
    EXPECT_EQ(plan.elements() * bits, plan.words * 32);
    std::vector<std::uint32_t> seen(plan.words);
    for (const auto& places : plan.bit_of) {
      for (const BitPlace& place : places) seen[place.word] |= 1u << place.bit;
    }
    for (const std::uint32_t word : seen) EXPECT_EQ(word, ~0u) << bits;
  }
}

TEST(DecodePlan, RefusesWhatHasNoExactPlan) {
  EXPECT_THROW(plan_for(0, WeightType::kUint, ZeroPoint::kNone, DType::kFp16), Error);
  EXPECT_THROW(plan_for(9, WeightType::kUint, ZeroPoint::kNone, DType::kFp16), Error);
  EXPECT_THROW(plan_for(4, WeightType::kUint, ZeroPoint::kFloat, DType::kFp16), Error);
  EXPECT_THROW(plan_for(4, WeightType::kUint, ZeroPoint::kNone, DType::kFp32), Error);
  EXPECT_THROW(derive_decode_plan(float_request(6, 1, DType::kFp16)), Error);
  EXPECT_THROW(derive_decode_plan(table_request({1.0f}, DType::kFp16)), Error);
  DecodeRequest zero = float_request(4, 3, DType::kFp16);
  zero.zero_point = ZeroPoint::kInt;
  EXPECT_THROW(derive_decode_plan(zero), Error);
}

}  // namespace
}  // namespace heddle

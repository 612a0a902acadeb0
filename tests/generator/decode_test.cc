#include <gtest/gtest.h>

#include "heddle/decode_plan.h"
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

TEST(DecodePlan, EveryPlanIsProven) {
  int plans = 0;
  for (const int bits : {2, 4, 8}) {
    for (const WeightType type : {WeightType::kUint, WeightType::kInt}) {
      for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
        for (const DType dtype : {DType::kFp16, DType::kBf16}) {
          if (bits != 4 && (zero == ZeroPoint::kInt || (bits == 8 && dtype == DType::kBf16)))
            continue;
          const DecodeProof proof = prove_decode_plan(plan_for(bits, type, zero, dtype));
          EXPECT_EQ(proof.mismatches, 0u) << bits << " bits: " << proof.first_mismatch;
          EXPECT_GE(proof.codes_checked, 4u << bits);
          ++plans;
        }
      }
    }
  }
  EXPECT_EQ(plans, 14);
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
    if (op.opcode == DecodeOpcode::kLop3 && op.imm == 0x000f000f) op.imm = 0x001f000f;
  }
  EXPECT_GT(prove_decode_plan(plan).mismatches, 0u);
}

// The counts that are known to be reachable: 1.125 and 1.375 instructions per weight.
TEST(DecodePlan, FourBitsTakeNineAndElevenOperations) {
  const DecodePlan fp16 = plan_for(4, WeightType::kUint, ZeroPoint::kNone, DType::kFp16);
  EXPECT_EQ(fp16.ops.size(), 9u);
  EXPECT_EQ(count(fp16, DecodeOpcode::kShr), 1);
  EXPECT_DOUBLE_EQ(fp16.instructions_per_weight, 1.125);
  const DecodePlan bf16 = plan_for(4, WeightType::kUint, ZeroPoint::kNone, DType::kBf16);
  EXPECT_EQ(bf16.ops.size(), 11u);
  EXPECT_EQ(count(bf16, DecodeOpcode::kShr), 3);
}

TEST(DecodePlan, DerivesTheKnownConstants) {
  const DecodePlan plan = plan_for(4, WeightType::kUint, ZeroPoint::kNone, DType::kFp16);
  EXPECT_EQ(plan.ops[0].lut, 0xEA);
  EXPECT_EQ(plan.ops[0].imm, 0x000f000fu);
  EXPECT_EQ(plan.ops[0].imm2, 0x64006400u);
  EXPECT_EQ(plan.ops[1].imm2, 0x64086408u);
  EXPECT_EQ(plan.ops[2].imm2, 0x54005400u);
  const DecodePlan sign = plan_for(4, WeightType::kInt, ZeroPoint::kNone, DType::kFp16);
  EXPECT_EQ(sign.ops[0].lut, 0x6A);
  EXPECT_EQ(sign.ops[0].imm2, 0x64086408u);
  const DecodePlan bf16 = plan_for(4, WeightType::kUint, ZeroPoint::kNone, DType::kBf16);
  EXPECT_EQ(bf16.ops[0].imm2, 0x43004300u);
}

// One row's fields share a bit, so one subtrahend for each row is enough.
TEST(DecodePlan, IntegerZeroPointsTakeOneRegisterForEachRow) {
  for (const DType dtype : {DType::kFp16, DType::kBf16}) {
    const DecodePlan plan = plan_for(4, WeightType::kUint, ZeroPoint::kInt, dtype);
    EXPECT_EQ(plan.zero_outputs.size(), 2u);
    EXPECT_EQ(plan.ops.size(), dtype == DType::kFp16 ? 9u : 11u);
  }
}

TEST(DecodePlan, TheOrderInsideAWordIsOneForAllDestinations) {
  EXPECT_EQ(plan_for(4, WeightType::kUint, ZeroPoint::kNone, DType::kFp16).field_of,
            plan_for(4, WeightType::kInt, ZeroPoint::kInt, DType::kBf16).field_of);
}

TEST(DecodePlan, RefusesWhatHasNoExactPlan) {
  EXPECT_THROW(plan_for(8, WeightType::kUint, ZeroPoint::kNone, DType::kBf16), Error);
  EXPECT_THROW(plan_for(3, WeightType::kUint, ZeroPoint::kNone, DType::kFp16), Error);
  EXPECT_THROW(plan_for(4, WeightType::kUint, ZeroPoint::kFloat, DType::kFp16), Error);
  EXPECT_THROW(plan_for(4, WeightType::kUint, ZeroPoint::kNone, DType::kFp32), Error);
}

}  // namespace
}  // namespace heddle

// Every plan that can be made is proven. The plans are dealt to shards that run side by side.
#include <gtest/gtest.h>

#include "generator/decode/decode_plan.h"
#include "generator/decode/requests.h"

namespace heddle {
namespace {

constexpr std::size_t kProofShards = 16;

class EveryPlan : public testing::TestWithParam<std::size_t> {};

TEST_P(EveryPlan, IsProven) {
  const std::vector<NamedDecodeRequest> list = every_decode_request();
  std::size_t plans = 0;
  for (std::size_t i = GetParam(); i < list.size(); i += kProofShards) {
    const DecodePlan plan = derive_decode_plan(list[i].request);
    const DecodeProof proof = prove_decode_plan(plan);
    EXPECT_EQ(proof.mismatches, 0u) << list[i].name << " to " << to_string(list[i].request.dtype)
                                    << ": " << proof.first_mismatch << "\n"
                                    << describe(plan);
    const std::uint64_t codes = std::uint64_t{1} << list[i].request.bits;
    EXPECT_GE(proof.codes_checked, 4 * codes * plan.elements()) << list[i].name;
    ++plans;
  }
  EXPECT_GT(plans, 10u);
}

INSTANTIATE_TEST_SUITE_P(Shards, EveryPlan, testing::Range(std::size_t{0}, kProofShards));

TEST(DecodeProof, FindsAnyOneOperationThatIsWrong) {
  for (const NamedDecodeRequest& named : every_decode_request()) {
    const ElementOrder order = named.request.order;
    if (order != ElementOrder::kFragment && order != ElementOrder::kByteFragment) continue;
    if (named.request.zero_point == ZeroPoint::kInt) continue;
    const DecodePlan right = derive_decode_plan(named.request);
    for (std::size_t i = 0; i < right.ops.size(); i += 5) {
      DecodePlan wrong = right;
      DecodeOp& op = wrong.ops[i];
      if (op.opcode == DecodeOpcode::kShr || op.opcode == DecodeOpcode::kShl) op.imm ^= 1;
      if (op.opcode == DecodeOpcode::kLop3) op.imm ^= op.imm & (~op.imm + 1);
      if (op.opcode == DecodeOpcode::kPrmt) op.imm ^= 0x10;
      if (op.opcode == DecodeOpcode::kLookup) op.imm ^= 1;
      if (op.opcode == DecodeOpcode::kMul) op.imm ^= 0x0400;
      if (op.opcode == DecodeOpcode::kSub) op.b >= 0 ? op.b = op.a : op.imm2 ^= 1;
      if (op.opcode == DecodeOpcode::kFma) i % 2 == 0 ? op.imm ^= 0x80 : op.imm2 ^= 1;
      if (op.opcode == DecodeOpcode::kIntMulAdd) op.imm ^= 2;
      if (op.opcode == DecodeOpcode::kSelect) std::swap(op.a, op.b);
      if (op.opcode == DecodeOpcode::kIntScale) op.factor = op.group;
      if (op.opcode == DecodeOpcode::kScale) i % 2 == 0 ? op.row ^= 1 : op.factor = op.group;
      EXPECT_GT(prove_decode_plan(wrong).mismatches, 0u) << named.name << " operation " << i;
    }
    for (std::size_t i = 0; i < right.group_ops.size(); ++i) {
      DecodePlan wrong = right;
      // A row may have fewer positions than the other; one of a selector's byte is enough.
      DecodeOp& op = wrong.group_ops[i];
      op.imm ^= op.opcode == DecodeOpcode::kPrmt ? 1u : 0x00800080u;
      EXPECT_GT(prove_decode_plan(wrong).mismatches, 0u) << named.name << " product " << i;
    }
  }
}

}  // namespace
}  // namespace heddle

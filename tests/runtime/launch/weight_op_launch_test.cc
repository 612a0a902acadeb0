#include "runtime/launch/weight_op_launch.h"

#include <gtest/gtest.h>

#include "tests/runtime/launch/launch_refusals.h"

namespace heddle {
namespace {

Plan weight_op_plan(Op op, const WeightOpSpec& spec) {
  Plan plan;
  plan.spec = Spec::from_weight_op(op, spec);
  return plan;
}

WeightOpSpec gptq(bool zeros, bool act_order) {
  WeightOpSpec spec;
  spec.shape = {512, 1024};
  spec.format = CheckpointFormat::kGptq;
  spec.weight.zero_point = zeros ? ZeroPoint::kInt : ZeroPoint::kNone;
  spec.act_order = act_order;
  return spec;
}

RepackArgs repack_args() {
  RepackArgs args;
  args.source.weights = memory(0x1000);
  args.source.scales = memory(0x2000);
  args.packed = memory(0x3000);
  return args;
}

TEST(RepackLaunch, WantsItsPointersAligned) {
  const Plan plan = weight_op_plan(Op::kRepack, gptq(false, false));
  EXPECT_EQ(refusal(plan, repack_args()), "");
  for (DeviceInput WeightSource::*field : {&WeightSource::weights, &WeightSource::scales}) {
    RepackArgs args = repack_args();
    args.source.*field = {};
    EXPECT_EQ(refusal(plan, args), "launch.missing");
    args.source.*field = memory(0x1004);
    EXPECT_EQ(refusal(plan, args), "launch.misaligned");
  }
  RepackArgs args = repack_args();
  args.packed = {};
  EXPECT_EQ(refusal(plan, args), "launch.missing");
}

TEST(RepackLaunch, WantsZerosAndPermutationExactlyIfTheSpecHasThem) {
  const struct {
    DeviceInput WeightSource::*field;
    Plan with;
  } cases[] = {{&WeightSource::zeros, weight_op_plan(Op::kRepack, gptq(true, false))},
               {&WeightSource::permutation, weight_op_plan(Op::kRepack, gptq(false, true))}};
  const Plan without = weight_op_plan(Op::kRepack, gptq(false, false));
  for (const auto& [field, with] : cases) {
    RepackArgs args = repack_args();
    EXPECT_EQ(refusal(with, args), "launch.missing");
    args.source.*field = memory(0x4000);
    EXPECT_EQ(refusal(with, args), "");
    EXPECT_EQ(refusal(without, args), "launch.unexpected");
  }
  RepackArgs args = repack_args();
  args.source.permutation = memory(0x4000);
  args.source.group_index = memory(0x5000);  // of dequantize
  EXPECT_EQ(refusal(weight_op_plan(Op::kRepack, gptq(false, true)), args), "launch.unexpected");
}

TEST(QuantizeWeightLaunch, WantsBothPointers) {
  WeightOpSpec spec;
  spec.shape = {512, 1024};
  const Plan plan = weight_op_plan(Op::kQuantizeWeight, spec);
  EXPECT_EQ(refusal(plan, QuantizeWeightArgs{memory(0x1000), memory(0x2000)}), "");
  EXPECT_EQ(refusal(plan, QuantizeWeightArgs{{}, memory(0x2000)}), "launch.missing");
  EXPECT_EQ(refusal(plan, QuantizeWeightArgs{memory(0x1000), {}}), "launch.missing");
  EXPECT_EQ(refusal(plan, QuantizeWeightArgs{memory(0x1002), memory(0x2000)}), "launch.misaligned");
}

}  // namespace
}  // namespace heddle

#include <gtest/gtest.h>

#include "runtime/launch/weight_op_launch.h"
#include "tests/runtime/launch/launch_refusals.h"

namespace heddle {
namespace {

Plan dequantize_plan(CheckpointFormat format, ZeroPoint zero, bool act_order) {
  WeightOpSpec spec;
  spec.shape = {256, 256};
  spec.format = format;
  spec.weight.zero_point = zero;
  spec.act_order = act_order;
  return resolve(Spec::from_weight_op(Op::kDequantize, spec), target_from_name("h200"));
}

DequantizeArgs packed_args() {
  DequantizeArgs args;
  args.source.weights = memory(0x1000);
  args.w = memory(0x2000);
  return args;
}

DequantizeArgs gptq_args() {
  DequantizeArgs args = packed_args();
  args.source.scales = memory(0x3000);
  args.source.zeros = memory(0x4000);
  return args;
}

TEST(DequantizeLaunch, PackedWeightsHoldTheirScales) {
  const Plan plan = dequantize_plan(CheckpointFormat::kHeddle, ZeroPoint::kInt, false);
  EXPECT_EQ(refusal(plan, packed_args()), "");
  for (DeviceInput WeightSource::*field :
       {&WeightSource::scales, &WeightSource::zeros, &WeightSource::group_index,
        &WeightSource::permutation}) {
    DequantizeArgs args = packed_args();
    args.source.*field = memory(0x5000);
    EXPECT_EQ(refusal(plan, args), "launch.unexpected");
  }
}

TEST(DequantizeLaunch, CheckpointsComeWithScalesAndZeroPoints) {
  for (const CheckpointFormat format :
       {CheckpointFormat::kAwq, CheckpointFormat::kGptq, CheckpointFormat::kGptqV2}) {
    const Plan plan = dequantize_plan(format, ZeroPoint::kInt, false);
    EXPECT_EQ(refusal(plan, gptq_args()), "");
    DequantizeArgs args = gptq_args();
    args.source.scales = {};
    EXPECT_EQ(refusal(plan, args), "launch.missing");
    args = gptq_args();
    args.source.zeros = {};
    EXPECT_EQ(refusal(plan, args), "launch.missing");
    EXPECT_EQ(refusal(dequantize_plan(format, ZeroPoint::kNone, false), gptq_args()),
              "launch.unexpected");
  }
}

TEST(DequantizeLaunch, ActOrderNeedsTheOrderOfItsFormat) {
  const Plan gptq = dequantize_plan(CheckpointFormat::kGptq, ZeroPoint::kInt, true);
  DequantizeArgs args = gptq_args();
  EXPECT_EQ(refusal(gptq, args), "launch.missing");
  args.source.group_index = memory(0x5000);
  EXPECT_EQ(refusal(gptq, args), "");
  args.source.permutation = memory(0x6000);
  EXPECT_EQ(refusal(gptq, args), "launch.unexpected");

  const Plan packed = dequantize_plan(CheckpointFormat::kHeddle, ZeroPoint::kNone, true);
  args = packed_args();
  EXPECT_EQ(refusal(packed, args), "launch.missing");
  args.source.permutation = memory(0x6000);
  EXPECT_EQ(refusal(packed, args), "");
}

TEST(DequantizeLaunch, RefusesMissingAndMisalignedMemory) {
  const Plan plan = dequantize_plan(CheckpointFormat::kHeddle, ZeroPoint::kNone, false);
  DequantizeArgs args = packed_args();
  args.source.weights = {};
  EXPECT_EQ(refusal(plan, args), "launch.missing");
  args = packed_args();
  args.w = {};
  EXPECT_EQ(refusal(plan, args), "launch.missing");
  args.w = memory(0x2008);
  EXPECT_EQ(refusal(plan, args), "launch.misaligned");
}

}  // namespace
}  // namespace heddle

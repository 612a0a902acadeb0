// Shards of W that begin inside of a group are served wherever whole matrices are.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>

#include "generator/tuned/format.h"
#include "tests/generator/layout/layout_weights.h"
#include "tests/generator/planner/plan_refusals.h"

namespace heddle {
namespace {

// Each M of the spec has a kernel.
void expect_served(const GemmSpec& gemm, const char* target) {
  const Spec spec = Spec::from_gemm(gemm);
  SCOPED_TRACE(spec.canonical_json() + " for " + target);
  ASSERT_EQ(refusal(spec, target), "accepted");
  const Plan plan = resolve(spec, target_from_name(target));
  std::int64_t next = gemm.shape.m_min;
  for (const PlannedKernel& kernel : plan.kernels) {
    if (kernel.name.find("gather") != std::string::npos) continue;
    EXPECT_EQ(kernel.size_min, next);
    next = kernel.size_max + 1;
    EXPECT_NE(kernel.name.find("o" + std::to_string(gemm.weight.group_offset)), std::string::npos);
  }
  EXPECT_EQ(next, gemm.shape.m_max + 1);
}

// Wherever whole matrices are served.
TEST(ServedShards, OfEveryTargetAndPath) {
  int served = 0;
  for (const char* target : {"sm_75", "a100", "rtx4090", "h200", "b200", "rtx5090"}) {
    for (const Path path : {Path::kAuto, Path::kTuring, Path::kAmpere, Path::kHopper}) {
      for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt, ZeroPoint::kFloat}) {
        for (const auto& [group, offset] :
             {std::pair{128, 96}, {128, 16}, {64, 32}, {32, 16}, {256, 128}, {48, 32}}) {
          for (const DType scale : {DType::kFp16, DType::kFp32}) {
            GemmSpec gemm = spec_of(520, 2784, group, zero, scale);
            gemm.shape.m_max = 300;
            gemm.path = path;
            GemmSpec whole = gemm;
            whole.weight.group_size = 32;
            if (refusal(Spec::from_gemm(whole), target) != "accepted") continue;
            gemm.weight.group_offset = offset;
            expect_served(gemm, target);
            ++served;
          }
        }
      }
    }
  }
  EXPECT_GT(served, 500);
}

TEST(ServedShards, OfEveryKind) {
  for (const char* target : {"sm_75", "a100", "h200", "rtx5090"}) {
    GemmSpec gemm = spec_of(512, 1376, 128);
    gemm.weight.group_offset = 96;
    gemm.act_order = true;
    gemm.epilogue = {true, Activation::kSilu, true, true};
    expect_served(gemm, target);
    gemm.act_order = false;
    gemm.weight.tensor_scale = true;
    gemm.weight.interleave = Interleave::kTrtllm;
    expect_served(gemm, target);
    for (int bits = 1; bits <= 8; ++bits) {
      gemm = spec_of(512, 1376, 128, ZeroPoint::kInt);
      gemm.weight.bits = bits;
      gemm.weight.group_offset = 16 * ((bits % 7) + 1);
      expect_served(gemm, target);
    }
    for (const auto& [type, bits, group, scale] :
         {std::tuple{WeightType::kE4m3, 8, 128, DType::kFp32},
          {WeightType::kE5m2, 8, 32, DType::kE8m0},
          {WeightType::kE2m3, 6, 96, DType::kE8m0},
          {WeightType::kE2m1, 4, 32, DType::kE8m0},
          {WeightType::kE2m1, 4, 64, DType::kE4m3},
          {WeightType::kNf4, 4, 64, DType::kFp16}}) {
      gemm = spec_of(512, 1376, group, ZeroPoint::kNone, scale);
      gemm.weight.type = type;
      gemm.weight.bits = bits;
      gemm.weight.group_offset = 16;
      expect_served(gemm, target);
    }
  }
}

TEST(ServedShards, OfWeightOperations) {
  WeightOpSpec op;
  op.shape = {64, 352};
  op.weight.group_offset = 96;
  const auto answer = [&](Op which) { return refusal(Spec::from_weight_op(which, op), "sm_75"); };
  EXPECT_EQ(answer(Op::kDequantize), "accepted");
  EXPECT_NE(answer(Op::kQuantizeWeight).find("a scale is made from all columns of its group"),
            std::string::npos);
  for (const CheckpointFormat format :
       {CheckpointFormat::kAwq, CheckpointFormat::kGptq, CheckpointFormat::kGptqV2}) {
    op.format = format;
    EXPECT_EQ(answer(Op::kDequantize), "accepted");
    EXPECT_EQ(answer(Op::kRepack), "accepted");
  }
  op.act_order = true;
  EXPECT_NE(answer(Op::kRepack).find("/weight/group_offset"), std::string::npos);
}

// What was measured for whole matrices says nothing of a shard, whose chunks are larger.
TEST(ServedShards, HaveTunedEntriesOfTheirOwn) {
  GemmSpec whole = spec_of(4096, 4096, 128, ZeroPoint::kInt);
  GemmSpec shard = whole;
  shard.weight.group_offset = 64;
  EXPECT_TRUE(same_format(whole, whole));
  EXPECT_FALSE(same_format(whole, shard));
  EXPECT_NE(format_text(whole), format_text(shard));
}

}  // namespace
}  // namespace heddle

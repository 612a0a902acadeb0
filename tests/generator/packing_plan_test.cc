// Plans and sources of repack and quantize_weight.
#include <gtest/gtest.h>

#include "generator/families/family.h"
#include "generator/families/tile_kernel.h"
#include "heddle/plan.h"
#include "heddle/source.h"
#include "tests/generator/plan_refusals.h"

namespace heddle {
namespace {

WeightOpSpec repack_spec(CheckpointFormat format = CheckpointFormat::kGptq) {
  WeightOpSpec spec;
  spec.shape = {512, 1024};
  spec.format = format;
  spec.weight.zero_point = ZeroPoint::kInt;
  return spec;
}

Plan plan_of(Op op, const WeightOpSpec& spec, const char* target = "h200") {
  return resolve(Spec::from_weight_op(op, spec), target_from_name(target));
}

Pointers refused(Op op, const WeightOpSpec& spec, const char* target = "h200") {
  return refused_fields(Spec::from_weight_op(op, spec), target);
}

TEST(RepackPlan, HasOneKernelThatEveryTargetHolds) {
  for (const Target& target : known_targets()) {
    const Plan plan = resolve(Spec::from_weight_op(Op::kRepack, repack_spec()), target);
    ASSERT_EQ(plan.kernels.size(), 1u);
    const TileKernel& kernel = tile_kernel_of(plan.kernels.front());
    EXPECT_EQ(plan.kernels.front().family->name(), "repack");
    EXPECT_EQ(kernel.tile_columns, WeightLayout::kChunkK);
    EXPECT_EQ(kernel.tile_rows % WeightLayout::kRowBlock, 0);
    EXPECT_LE(kernel.shared_bytes, 48 * 1024) << target.name;
    EXPECT_LE(kernel.blocks_per_sm * kernel.threads, target.threads_per_sm) << target.name;
    EXPECT_LE(kernel.blocks_per_sm * (kernel.shared_bytes + 1024), target.shared_per_sm)
        << target.name;
  }
}

TEST(WeightOpPlan, KernelsAreNamedAfterWhatTheyReadAndWrite) {
  const auto name = [](Op op, const WeightOpSpec& spec) {
    return tile_kernel_of(plan_of(op, spec).kernels.front()).name;
  };
  EXPECT_EQ(name(Op::kRepack, repack_spec()), "heddle_repack_gptq_uint4z_g128_n512_k1024");
  WeightOpSpec spec = repack_spec(CheckpointFormat::kAwq);
  EXPECT_EQ(name(Op::kDequantize, spec), "heddle_dequantize_awq_fp16_uint4z_g128_n512_k1024");
  spec = repack_spec(CheckpointFormat::kHeddle);
  spec.dtype = DType::kBf16;
  EXPECT_EQ(name(Op::kQuantizeWeight, spec), "heddle_quantize_weight_bf16_uint4z_g128_n512_k1024");
  spec.weight = {};
  spec.weight.type = WeightType::kE2m1;
  spec.weight.group_size = 16;
  spec.weight.tensor_scale = true;
  EXPECT_EQ(name(Op::kDequantize, spec), "heddle_dequantize_heddle_bf16_e2m1_g16_ts_n512_k1024");
}

TEST(WeightOpPlan, EachRefusesTheSameTargets) {
  for (const auto& [op, pointer] :
       {std::pair{Op::kDequantize, "/output/dtype"}, {Op::kQuantizeWeight, "/input/dtype"}}) {
    WeightOpSpec spec = repack_spec(CheckpointFormat::kHeddle);
    EXPECT_EQ(refused(op, spec, "sm_75"), Pointers{});
    spec.dtype = DType::kBf16;
    EXPECT_EQ(refused(op, spec, "sm_75"), Pointers{pointer});
    EXPECT_EQ(refused(op, spec, "sm_80"), Pointers{});
  }
  WeightOpSpec spec = repack_spec();
  spec.dtype = DType::kBf16;
  EXPECT_EQ(refused(Op::kRepack, spec, "sm_75"), Pointers{});
}

TEST(RepackPlan, RefusesWithReasons) {
  WeightOpSpec spec = repack_spec(CheckpointFormat::kHeddle);
  EXPECT_EQ(refused(Op::kRepack, spec), Pointers{"/source/format"});
  spec = repack_spec(CheckpointFormat::kAwq);
  spec.weight.bits = 8;
  EXPECT_EQ(refused(Op::kRepack, spec), Pointers{"/weight/bits"});
  // 8 zero points of 2 bits are half a word.
  spec = repack_spec();
  spec.weight.bits = 2;
  spec.shape.n = 8;
  EXPECT_EQ(refused(Op::kRepack, spec), Pointers{"/shape/n"});
  spec.weight.zero_point = ZeroPoint::kNone;
  EXPECT_EQ(refused(Op::kRepack, spec), Pointers{});
}

TEST(RepackPlan, RendersTheFormatsCodes) {
  const auto text = [](const WeightOpSpec& spec) {
    return render(plan_of(Op::kRepack, spec), 0).text;
  };
  EXPECT_NE(text(repack_spec(CheckpointFormat::kAwq)).find("using Codes = AwqCodes<Config>"),
            std::string::npos);
  const std::string v1 = text(repack_spec());
  EXPECT_NE(v1.find("using Codes = GptqCodes<Config>"), std::string::npos);
  EXPECT_NE(v1.find("kZeroBias = 1;"), std::string::npos);
  EXPECT_NE(v1.find("struct Encode {"), std::string::npos);
  EXPECT_NE(text(repack_spec(CheckpointFormat::kGptqV2)).find("kZeroBias = 0;"), std::string::npos);
  WeightOpSpec gathered = repack_spec();
  gathered.act_order = true;
  EXPECT_NE(text(gathered).find("using Codes = GptqGather<Config>"), std::string::npos);
}

TEST(QuantizeWeightPlan, ASpanIsWholeChunksAndWholeGroups) {
  const struct {
    int group;
    int columns;
  } cases[] = {{16, 128},  {32, 128},           {128, 128}, {96, 384},   {256, 256},
               {384, 384}, {kPerChannel, 1536}, {768, 768}, {1536, 1536}};
  for (const auto& [group, columns] : cases) {
    WeightOpSpec spec;
    spec.shape = {64, 1536};
    spec.weight.group_size = group;
    EXPECT_EQ(tile_kernel_of(plan_of(Op::kQuantizeWeight, spec).kernels.front()).tile_columns,
              columns)
        << group;
  }
}

TEST(QuantizeWeightPlan, RefusesWithReasons) {
  WeightOpSpec spec;
  spec.shape = {64, 128};
  EXPECT_EQ(refused(Op::kQuantizeWeight, spec), Pointers{});
  spec.dtype = DType::kBf16;
  EXPECT_EQ(refused(Op::kQuantizeWeight, spec, "sm_75"), Pointers{"/input/dtype"});
  EXPECT_EQ(refused(Op::kQuantizeWeight, spec, "sm_80"), Pointers{});
  spec.weight.type = WeightType::kNf4;
  EXPECT_EQ(refused(Op::kQuantizeWeight, spec), Pointers{"/weight/type"});
  spec.weight.type = WeightType::kUint;
  spec.weight.bits = 1;
  EXPECT_EQ(refused(Op::kQuantizeWeight, spec), Pointers{"/weight/bits"});
  spec.weight.zero_point = ZeroPoint::kFloat;
  EXPECT_EQ(refused(Op::kQuantizeWeight, spec), Pointers{"/weight/zero_point"});
  spec.weight = {};
  spec.weight.tensor_scale = true;
  EXPECT_EQ(refused(Op::kQuantizeWeight, spec), Pointers{"/weight/tensor_scale"});
  spec.weight = {};
  spec.weight.group_size = kPerTensor;
  EXPECT_EQ(refused(Op::kQuantizeWeight, spec), Pointers{"/weight/group_size"});
}

}  // namespace
}  // namespace heddle

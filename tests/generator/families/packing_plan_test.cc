// Plans and sources of repack and quantize_weight.
#include <gtest/gtest.h>

#include "generator/families/configuration.h"
#include "generator/families/family.h"
#include "generator/families/fields.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "quantize_weight/config.h"
#include "repack/config.h"
#include "tests/generator/families/weight_op_plans.h"

namespace heddle {
namespace {

WeightOpSpec repack_spec(CheckpointFormat format = CheckpointFormat::kGptq) {
  WeightOpSpec spec;
  spec.shape = {512, 1024};
  spec.format = format;
  spec.weight.zero_point = ZeroPoint::kInt;
  return spec;
}

TEST(RepackPlan, HasOneKernelThatEveryTargetHolds) {
  for (const Target& target : known_targets()) {
    const Plan plan = resolve(Spec::from_weight_op(Op::kRepack, repack_spec()), target);
    ASSERT_EQ(plan.kernels.size(), 1u);
    const PlannedKernel& kernel = plan.kernels.front();
    const device::MatrixTiles& tiles = config_of<device::RepackConfig>(kernel).tiles;
    EXPECT_EQ(kernel.family->name(), "repack");
    EXPECT_EQ(tiles.columns, WeightLayout::kChunkK);
    EXPECT_EQ(tiles.rows % WeightLayout::kRowBlock, 0);
    EXPECT_LE(kernel.shared_bytes, 48 * 1024) << target.name;
    EXPECT_LE(kernel.blocks_per_sm * kernel.threads, target.threads_per_sm) << target.name;
    EXPECT_LE(kernel.blocks_per_sm * (kernel.shared_bytes + 1024), target.shared_per_sm)
        << target.name;
  }
}

TEST(WeightOpPlan, KernelsAreNamedAfterWhatTheyReadAndWrite) {
  const auto name = [](Op op, const WeightOpSpec& spec) {
    return weight_op_plan(op, spec).kernels.front().name;
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
    EXPECT_EQ(refused_fields(op, spec, "sm_75"), Pointers{});
    spec.dtype = DType::kBf16;
    EXPECT_EQ(refused_fields(op, spec, "sm_75"), Pointers{pointer});
    EXPECT_EQ(refused_fields(op, spec, "sm_80"), Pointers{});
  }
  WeightOpSpec spec = repack_spec();
  spec.dtype = DType::kBf16;
  EXPECT_EQ(refused_fields(Op::kRepack, spec, "sm_75"), Pointers{});
}

TEST(RepackPlan, RefusesWithReasons) {
  WeightOpSpec spec = repack_spec(CheckpointFormat::kHeddle);
  EXPECT_EQ(refused_fields(Op::kRepack, spec), Pointers{"/source/format"});
  spec = repack_spec(CheckpointFormat::kAwq);
  spec.weight.bits = 8;
  EXPECT_EQ(refused_fields(Op::kRepack, spec), Pointers{"/weight/bits"});
  // 8 zero points of 2 bits are half a word.
  spec = repack_spec();
  spec.weight.bits = 2;
  spec.shape.n = 8;
  EXPECT_EQ(refused_fields(Op::kRepack, spec), Pointers{"/shape/n"});
  spec.weight.zero_point = ZeroPoint::kNone;
  EXPECT_EQ(refused_fields(Op::kRepack, spec), Pointers{});
}

TEST(RepackPlan, ReadsTheFormat) {
  using device::RepackSource;
  const auto config = [](const WeightOpSpec& spec) {
    return config_of<device::RepackConfig>(weight_op_plan(Op::kRepack, spec).kernels.front());
  };
  EXPECT_EQ(config(repack_spec(CheckpointFormat::kAwq)).source, RepackSource::kAwq);
  EXPECT_EQ(config(repack_spec()).source, RepackSource::kGptq);
  // The first version stores zero points less one.
  EXPECT_EQ(config(repack_spec()).zero_bias, 1);
  EXPECT_EQ(config(repack_spec(CheckpointFormat::kGptqV2)).zero_bias, 0);
  WeightOpSpec gathered = repack_spec();
  gathered.act_order = true;
  EXPECT_EQ(config(gathered).source, RepackSource::kGptqGather);
}

// Which row of W a kernel has for each row of the row blocks.
TEST(WeightOpPlan, GatedRowsTakeTurns) {
  WeightOpSpec spec = repack_spec();
  spec.shape.n = 64;
  for (const bool gated : {false, true}) {
    spec.gated = gated;
    const auto config =
        config_of<device::RepackConfig>(weight_op_plan(Op::kRepack, spec).kernels.front());
    EXPECT_EQ(config.packed.gated, gated);
    const auto row = [&](int packed_row) { return config.packed.row_of_w(packed_row, 64); };
    for (int i = 0; i < 64; ++i) {
      // Row block i / 16 has gates from 8 * (i / 16) on and, from its ninth row on, their ups.
      const int wanted = i / 16 * 8 + i % 8 + (i % 16 < 8 ? 0 : 32);
      EXPECT_EQ(row(i), gated ? wanted : i);
    }
  }
  spec = repack_spec(CheckpointFormat::kHeddle);
  spec.gated = true;
  EXPECT_EQ(refused_fields(Op::kDequantize, spec), Pointers{});
  spec.format = CheckpointFormat::kGptq;
  EXPECT_EQ(refused_fields(Op::kDequantize, spec), Pointers{"/epilogue/gated"});
  spec.shape.n = 40;
  EXPECT_EQ(refused_fields(Op::kRepack, spec), Pointers{"/shape/n"});
}

TEST(RepackPlan, RendersTheConfigurationAndThePacking) {
  const std::string text = render(weight_op_plan(Op::kRepack, repack_spec()), 0).text;
  EXPECT_NE(text.find("static constexpr RepackConfig value{"), std::string::npos);
  EXPECT_NE(text.find("/*source=*/RepackSource::kGptq,"), std::string::npos);
  EXPECT_NE(text.find("struct Encode {"), std::string::npos);
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
    const Plan plan = weight_op_plan(Op::kQuantizeWeight, spec);
    const auto& config = config_of<device::QuantizeWeightConfig>(plan.kernels.front());
    EXPECT_EQ(config.tiles.columns, columns) << group;
    EXPECT_EQ(config.groups(), group == kPerChannel ? 1 : columns / group) << group;
  }
}

TEST(QuantizeWeightPlan, ALaunchHasTheThreadsAndTheMemoryOfItsConfiguration) {
  for (const int group : {16, 128, 768, kPerChannel}) {
    WeightOpSpec spec;
    spec.shape = {64, 1536};
    spec.weight.group_size = group;
    const Plan plan = weight_op_plan(Op::kQuantizeWeight, spec);
    const PlannedKernel& kernel = plan.kernels.front();
    const auto& config = config_of<device::QuantizeWeightConfig>(kernel);
    EXPECT_EQ(kernel.threads, config.step_chunks() * 128) << group;
    // A byte for each code of a step, 16 for each group of each row.
    EXPECT_EQ(kernel.shared_bytes, config.step_chunks() * 16 * 128 + config.groups() * 16 * 16)
        << group;
    EXPECT_LE(kernel.shared_bytes, plan.target.shared_per_block) << group;
  }
}

TEST(QuantizeWeightPlan, RefusesWithReasons) {
  WeightOpSpec spec;
  spec.shape = {64, 128};
  EXPECT_EQ(refused_fields(Op::kQuantizeWeight, spec), Pointers{});
  spec.dtype = DType::kBf16;
  EXPECT_EQ(refused_fields(Op::kQuantizeWeight, spec, "sm_75"), Pointers{"/input/dtype"});
  EXPECT_EQ(refused_fields(Op::kQuantizeWeight, spec, "sm_80"), Pointers{});
  spec.weight.type = WeightType::kNf4;
  EXPECT_EQ(refused_fields(Op::kQuantizeWeight, spec), Pointers{"/weight/type"});
  spec.weight.type = WeightType::kUint;
  spec.weight.bits = 1;
  EXPECT_EQ(refused_fields(Op::kQuantizeWeight, spec), Pointers{"/weight/bits"});
  spec.weight.zero_point = ZeroPoint::kFloat;
  EXPECT_EQ(refused_fields(Op::kQuantizeWeight, spec), Pointers{"/weight/zero_point"});
  spec.weight = {};
  spec.weight.tensor_scale = true;
  EXPECT_EQ(refused_fields(Op::kQuantizeWeight, spec), Pointers{"/weight/tensor_scale"});
  spec.weight = {};
  spec.weight.group_size = kPerTensor;
  EXPECT_EQ(refused_fields(Op::kQuantizeWeight, spec), Pointers{"/weight/group_size"});
}

}  // namespace
}  // namespace heddle

// The plans and the sources of dequantize.
#include <gtest/gtest.h>

#include "generator/families/configuration.h"
#include "generator/families/dequantize/dequantize_config.h"
#include "generator/families/family.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "tests/generator/families/weight_op_plans.h"

namespace heddle {
namespace {

constexpr CheckpointFormat kFormats[] = {CheckpointFormat::kHeddle, CheckpointFormat::kAwq,
                                         CheckpointFormat::kGptq, CheckpointFormat::kGptqV2};

WeightOpSpec dequantize_spec(CheckpointFormat format, ZeroPoint zero = ZeroPoint::kInt) {
  WeightOpSpec spec;
  spec.shape = {4096, 4096};
  spec.format = format;
  spec.weight.zero_point = zero;
  return spec;
}

Plan dequantize_plan(const WeightOpSpec& spec, const char* target = "h200") {
  return weight_op_plan(Op::kDequantize, spec, target);
}

std::string dequantize_refusal(const WeightOpSpec& spec, const char* target = "h200") {
  return refusal(Spec::from_weight_op(Op::kDequantize, spec), target);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

template <class Config>
Config config_for(const WeightOpSpec& spec) {
  return std::get<Config>(config_of<DequantizeConfig>(dequantize_plan(spec).kernels.front()));
}

TEST(ResolveDequantize, MakesOneKernelForEveryFormatAndTarget) {
  for (const Target& target : known_targets()) {
    for (const CheckpointFormat format : kFormats) {
      const Plan plan =
          resolve(Spec::from_weight_op(Op::kDequantize, dequantize_spec(format)), target);
      ASSERT_EQ(plan.kernels.size(), 1u) << target.name;
      const PlannedKernel& kernel = plan.kernels.front();
      EXPECT_EQ(kernel.family->name(), "dequantize");
      EXPECT_LE(kernel.shared_bytes, target.shared_per_block);
      EXPECT_EQ(kernel.threads % 32, 0);
      EXPECT_EQ(render(plan, 0).threads, kernel.threads);
    }
  }
}

TEST(ResolveDequantize, DecodesInTheOrderOfTheFormat) {
  EXPECT_EQ(dequantize_plan(dequantize_spec(CheckpointFormat::kHeddle)).decode->request.order,
            ElementOrder::kFragment);
  EXPECT_EQ(dequantize_plan(dequantize_spec(CheckpointFormat::kGptq)).decode->request.order,
            ElementOrder::kLinear);
  const DecodeRequest awq =
      dequantize_plan(dequantize_spec(CheckpointFormat::kAwq)).decode->request;
  EXPECT_EQ(awq.order, ElementOrder::kAwq);
  EXPECT_EQ(awq.zero_order, ZeroOrder::kElements);
}

// The plans of all formats are the proven ones: heddle plan --prove says so, too.
TEST(ResolveDequantize, PlansAreProvable) {
  for (const CheckpointFormat format : kFormats) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
      const DecodeProof proof =
          prove_decode_plan(dequantize_plan(dequantize_spec(format, zero)).decode);
      EXPECT_EQ(proof.mismatches, 0u) << to_string(format);
      EXPECT_GT(proof.codes_checked, 0u);
    }
  }
}

TEST(ResolveDequantize, RefusesWithTheReason) {
  WeightOpSpec spec = dequantize_spec(CheckpointFormat::kHeddle);
  spec.dtype = DType::kBf16;
  EXPECT_TRUE(has(dequantize_refusal(spec, "sm_75"), "/output/dtype"));
  EXPECT_EQ(dequantize_refusal(spec, "sm_80"), "accepted");

  spec = dequantize_spec(CheckpointFormat::kGptq);
  spec.weight.interleave = Interleave::kLinear;
  EXPECT_TRUE(has(dequantize_refusal(spec), "/weight/interleave"));

  spec = dequantize_spec(CheckpointFormat::kGptq);
  spec.weight.bits = 3;
  spec.shape.n = 4104;  // 3 * 4104 bits are no whole words
  EXPECT_TRUE(has(dequantize_refusal(spec), "/shape/n"));
  spec.weight.zero_point = ZeroPoint::kNone;
  EXPECT_EQ(dequantize_refusal(spec), "accepted");

  spec = dequantize_spec(CheckpointFormat::kAwq);
  spec.weight.bits = 8;
  spec.weight.group_size = 100000;
  const std::string both = dequantize_refusal(spec);
  EXPECT_TRUE(has(both, "/weight/bits"));
  EXPECT_TRUE(has(both, "/weight/group_size"));
}

TEST(RenderDequantize, HoldsTheTemplateOfTheFormatAndItsDecodePlan) {
  const char* functions[] = {"dequantize_packed<", "dequantize_awq<", "dequantize_gptq<",
                             "dequantize_gptq<"};
  for (std::size_t i = 0; i < std::size(kFormats); ++i) {
    const Plan plan = dequantize_plan(dequantize_spec(kFormats[i]));
    const std::string text = render(plan, 0).text;
    EXPECT_TRUE(has(text, std::string("heddle::") + functions[i]));
    EXPECT_TRUE(has(text, "immLut 0xea"));
    EXPECT_TRUE(has(text, plan.spec.canonical_json()));
    EXPECT_FALSE(has(text, "#include"));
  }
}

TEST(ResolveDequantize, TheTilesAreWholeWarpsThatCoverW) {
  for (const std::int64_t k : {64, 128, 256, 512, 4096}) {
    WeightOpSpec spec = dequantize_spec(CheckpointFormat::kHeddle);
    spec.shape = {4096, k};
    spec.weight.group_size = 64;
    const auto packed = config_for<device::DequantizePackedConfig>(spec);
    EXPECT_EQ(packed.tiles.rows * packed.tiles.columns,
              device::kDequantizeWarps * device::Chunk::kRows * device::Chunk::kColumns);
    // A warp's chunk has columns of W, if there are any for it.
    EXPECT_TRUE(packed.tiles.columns == device::Chunk::kColumns || packed.tiles.columns / 2 < k)
        << k;
    EXPECT_GE(packed.tiles.column_tiles() * packed.tiles.columns, k);
    EXPECT_GE(packed.tiles.row_tiles() * packed.tiles.rows, 4096);
  }
  for (const int bits : {2, 3, 4, 8}) {
    WeightOpSpec spec = dequantize_spec(CheckpointFormat::kGptq);
    spec.weight.bits = bits;
    const auto gptq = config_for<device::DequantizeGptqConfig>(spec);
    EXPECT_EQ(gptq.unit * bits % 32, 0) << bits;
    EXPECT_EQ(gptq.tiles.columns % gptq.warp_columns(), 0) << bits;
    EXPECT_EQ(gptq.tiles.rows % gptq.kWarpRows, 0) << bits;
  }
}

// The two versions of GPTQ differ in one number.
TEST(ResolveDequantize, OnlyTheFirstVersionOfGptqAddsOneToZeroPoints) {
  using Config = device::DequantizeGptqConfig;
  EXPECT_EQ(config_for<Config>(dequantize_spec(CheckpointFormat::kGptq)).zero_bias, 1);
  EXPECT_EQ(config_for<Config>(dequantize_spec(CheckpointFormat::kGptqV2)).zero_bias, 0);
}

TEST(ResolveDequantize, ScalesInPlaceOnlyWhereOneProductIsTheOneRounding) {
  using device::ScaleProduct;
  const auto product = [](const WeightOpSpec& spec) {
    return config_for<device::DequantizePackedConfig>(spec).scaling.product;
  };
  WeightOpSpec spec = dequantize_spec(CheckpointFormat::kHeddle);
  EXPECT_EQ(product(spec), ScaleProduct::kPacked);
  spec.weight.tensor_scale = true;
  EXPECT_EQ(product(spec), ScaleProduct::kExact);
  spec.weight.scale_dtype = DType::kFp32;
  EXPECT_EQ(product(spec), ScaleProduct::kToOdd);
  EXPECT_EQ(product(dequantize_spec(CheckpointFormat::kHeddle, ZeroPoint::kFloat)),
            ScaleProduct::kToOdd);
}

// The kernel has the numbers of its plan, with their names.
TEST(RenderDequantize, WritesTheConfiguration) {
  const std::string text =
      render(dequantize_plan(dequantize_spec(CheckpointFormat::kGptq)), 0).text;
  EXPECT_TRUE(has(text, "static constexpr DequantizeGptqConfig value{"));
  EXPECT_TRUE(has(text, "/*zero_bias=*/1,"));
  EXPECT_TRUE(has(text, "/*product=*/ScaleProduct::kPacked,"));
}

}  // namespace
}  // namespace heddle

// The plans and the sources of dequantize.
#include <gtest/gtest.h>

#include "generator/families/family.h"
#include "generator/families/tile_kernel.h"
#include "heddle/plan.h"
#include "heddle/source.h"
#include "tests/generator/plan_refusals.h"

namespace heddle {
namespace {

constexpr CheckpointFormat kFormats[] = {CheckpointFormat::kHeddle, CheckpointFormat::kAwq,
                                         CheckpointFormat::kGptq, CheckpointFormat::kGptqV2};

WeightOpSpec spec_of(CheckpointFormat format, ZeroPoint zero = ZeroPoint::kInt) {
  WeightOpSpec spec;
  spec.shape = {4096, 4096};
  spec.format = format;
  spec.weight.zero_point = zero;
  return spec;
}

Plan plan_of(const WeightOpSpec& spec, const char* target = "h200") {
  return resolve(Spec::from_weight_op(Op::kDequantize, spec), target_from_name(target));
}

std::string refusal(const WeightOpSpec& spec, const char* target = "h200") {
  return heddle::refusal(Spec::from_weight_op(Op::kDequantize, spec), target);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string text_of(const WeightOpSpec& spec) { return render(plan_of(spec), 0).text; }

TEST(ResolveDequantize, MakesOneKernelForEveryFormatAndTarget) {
  for (const Target& target : known_targets()) {
    for (const CheckpointFormat format : kFormats) {
      const Plan plan = resolve(Spec::from_weight_op(Op::kDequantize, spec_of(format)), target);
      ASSERT_EQ(plan.kernels.size(), 1u) << target.name;
      const TileKernel& kernel = tile_kernel_of(plan.kernels.front());
      EXPECT_EQ(plan.kernels.front().family->name(), "dequantize");
      EXPECT_LE(kernel.shared_bytes, target.shared_per_block);
      EXPECT_EQ(kernel.threads % 32, 0);
      EXPECT_EQ(render(plan, 0).threads, kernel.threads);
    }
  }
}

TEST(ResolveDequantize, DecodesInTheOrderOfTheFormat) {
  EXPECT_EQ(plan_of(spec_of(CheckpointFormat::kHeddle)).decode.request.order,
            ElementOrder::kFragment);
  EXPECT_EQ(plan_of(spec_of(CheckpointFormat::kGptq)).decode.request.order, ElementOrder::kLinear);
  const DecodeRequest awq = plan_of(spec_of(CheckpointFormat::kAwq)).decode.request;
  EXPECT_EQ(awq.order, ElementOrder::kAwq);
  EXPECT_EQ(awq.zero_order, ZeroOrder::kElements);
}

// The plans of all formats are the proven ones: heddle plan --prove says so, too.
TEST(ResolveDequantize, PlansAreProvable) {
  for (const CheckpointFormat format : kFormats) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt}) {
      const DecodeProof proof = prove_decode_plan(plan_of(spec_of(format, zero)).decode);
      EXPECT_EQ(proof.mismatches, 0u) << to_string(format);
      EXPECT_GT(proof.codes_checked, 0u);
    }
  }
}

TEST(ResolveDequantize, RefusesWithTheReason) {
  WeightOpSpec spec = spec_of(CheckpointFormat::kHeddle);
  spec.dtype = DType::kBf16;
  EXPECT_TRUE(has(refusal(spec, "sm_75"), "/output/dtype"));
  EXPECT_EQ(refusal(spec, "sm_80"), "accepted");

  spec = spec_of(CheckpointFormat::kGptq);
  spec.weight.interleave = Interleave::kLinear;
  EXPECT_TRUE(has(refusal(spec), "/weight/interleave"));

  spec = spec_of(CheckpointFormat::kGptq);
  spec.weight.bits = 3;
  spec.shape.n = 4104;  // 3 * 4104 bits are no whole words
  EXPECT_TRUE(has(refusal(spec), "/shape/n"));
  spec.weight.zero_point = ZeroPoint::kNone;
  EXPECT_EQ(refusal(spec), "accepted");

  spec = spec_of(CheckpointFormat::kAwq);
  spec.weight.bits = 8;
  spec.weight.group_size = 100000;
  const std::string both = refusal(spec);
  EXPECT_TRUE(has(both, "/weight/bits"));
  EXPECT_TRUE(has(both, "/weight/group_size"));
}

TEST(RenderDequantize, HoldsTheTemplateOfTheFormatAndItsDecodePlan) {
  const char* functions[] = {"dequantize_packed<", "dequantize_awq<", "dequantize_gptq<",
                             "dequantize_gptq<"};
  for (std::size_t i = 0; i < std::size(kFormats); ++i) {
    const Plan plan = plan_of(spec_of(kFormats[i]));
    const std::string text = render(plan, 0).text;
    EXPECT_TRUE(has(text, std::string("heddle::") + functions[i]));
    EXPECT_TRUE(has(text, "immLut 0xea"));
    EXPECT_TRUE(has(text, plan.spec.canonical_json()));
    EXPECT_FALSE(has(text, "#include"));
  }
}

// The two versions of GPTQ differ in one number.
TEST(RenderDequantize, OnlyTheFirstVersionOfGptqAddsOneToZeroPoints) {
  EXPECT_TRUE(has(text_of(spec_of(CheckpointFormat::kGptq)), "kZeroBias = 1;"));
  EXPECT_TRUE(has(text_of(spec_of(CheckpointFormat::kGptqV2)), "kZeroBias = 0;"));
}

TEST(RenderDequantize, ScalesInPlaceOnlyWhereOneProductIsTheOneRounding) {
  WeightOpSpec spec = spec_of(CheckpointFormat::kHeddle);
  EXPECT_TRUE(has(text_of(spec), "kPackedScale = true;"));
  spec.weight.tensor_scale = true;
  EXPECT_TRUE(has(text_of(spec), "kPackedScale = false;"));
  EXPECT_TRUE(has(text_of(spec), "kExactProduct = true;"));
  spec.weight.scale_dtype = DType::kFp32;
  EXPECT_TRUE(has(text_of(spec), "kExactProduct = false;"));
  spec = spec_of(CheckpointFormat::kHeddle, ZeroPoint::kFloat);
  EXPECT_TRUE(has(text_of(spec), "kPackedScale = false;"));
  EXPECT_TRUE(has(text_of(spec), "kExactProduct = false;"));
}

}  // namespace
}  // namespace heddle

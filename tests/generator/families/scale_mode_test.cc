// Where scales go, and who takes the power of two of decoded codes: it follows from the types.
#include "generator/families/scale_mode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "generator/families/gemm_variant.h"
#include "tests/generator/gemm_plans.h"

namespace heddle {
namespace {

// Every candidate, whatever it is faster or slower than.
struct Kernels {
  Plan plan;
  std::vector<GemmVariant> variants;
};

Kernels kernels_of(const GemmSpec& spec) {
  Kernels kernels{unplanned(spec, target_from_name("h200")), {}};
  for (const auto& [first, last] : {std::pair{1, 8}, {9, 16}, {17, 64}, {513, 8192}}) {
    for (const Candidate& one : gemm_candidates(kernels.plan, {first, last})) {
      kernels.variants.push_back(one.variant);
    }
  }
  EXPECT_FALSE(kernels.variants.empty());
  return kernels;
}

void expect_mode(const GemmSpec& spec, ScaleMode mode) {
  for (const GemmVariant& v : kernels_of(spec).variants) EXPECT_EQ(v.scale_mode, mode);
}

TEST(ScaleMode, FollowsFromTheTypes) {
  GemmSpec spec = small_spec();
  spec.weight.scale_dtype = DType::kFp32;  // no product in FP16 is exact
  expect_mode(spec, ScaleMode::kAccumulator);
  spec.weight.group_size = kPerChannel;
  expect_mode(spec, ScaleMode::kChannel);
  spec = small_spec();
  spec.weight.zero_point = ZeroPoint::kFloat;  // meets the sums of the tokens
  expect_mode(spec, ScaleMode::kAccumulator);
}

TEST(ScaleMode, SumsAreScaledWhereRegistersHoldThoseOfAGroupBeside) {
  for (const GemmVariant& v : kernels_of(small_spec()).variants) {
    const bool by_warps = v.kernel == GemmKernel::kTiles;
    if (by_warps && v.scale_mode == ScaleMode::kAccumulator) {
      EXPECT_TRUE(has_room_for_partial_sums(v));
    }
  }
}

// Codes that e4m3 scales and a tensor scale fit are scaled exactly.
TEST(ScaleMode, NothingIsRoundedTwice) {
  GemmSpec spec = small_spec();
  spec.weight = {4, WeightType::kE2m1, 16, ZeroPoint::kNone, DType::kE4m3, true};
  for (const GemmVariant& v : kernels_of(spec).variants) {
    // The scale takes the power of two: what it multiplies stays exact.
    EXPECT_EQ(v.scale_mode, ScaleMode::kWeight);
    EXPECT_TRUE(v.fold_power);
  }
  spec.weight.type = WeightType::kE4m3;
  spec.weight.bits = 8;
  for (const GemmVariant& v : kernels_of(spec).variants) {
    EXPECT_EQ(v.fold_power, v.scale_mode != ScaleMode::kWeight);
  }
  spec.weight.type = WeightType::kE2m1;
  spec.weight.bits = 4;
  spec.weight.scale_dtype = DType::kE8m0;
  for (const GemmVariant& v : kernels_of(spec).variants) {
    EXPECT_EQ(v.scale_mode, ScaleMode::kAccumulator) << "FP16 has too few exponents for e8m0";
    EXPECT_TRUE(v.fold_power);
  }
  // A bfloat16 scale has room for half of the power of two, one of sums for none: whatever M is.
  spec.activation = DType::kBf16;
  for (const DType scale : {DType::kE8m0, DType::kBf16}) {
    spec.weight.scale_dtype = scale;
    const Kernels kernels = kernels_of(spec);
    for (const GemmVariant& v : kernels.variants) {
      EXPECT_EQ(v.scale_mode, ScaleMode::kWeight);
      EXPECT_TRUE(v.fold_power);
      EXPECT_EQ(power_of_scale(spec, v, decode_plan_of(kernels.plan, v)), 63);
    }
  }
}

// A bfloat16 scale has room for the power of two of integers, an FP16 one may not.
TEST(ScaleMode, ScalesTakeThePowerOfTwoOfIntegersToBf16) {
  GemmSpec spec = small_spec();
  for (const GemmVariant& v : kernels_of(spec).variants) EXPECT_FALSE(v.fold_power);
  spec = small_spec(DType::kBf16);
  const Kernels kernels = kernels_of(spec);
  for (const GemmVariant& v : kernels.variants) {
    const DecodePlan decode = decode_plan_of(kernels.plan, v);
    EXPECT_NE(v.fold_power, v.fold_scale);
    EXPECT_EQ(v.fold_scale, v.scale_mode == ScaleMode::kWeight);
    EXPECT_EQ(decode.result_exponent, v.fold_scale ? 66 : 2);
    EXPECT_EQ(power_of_scale(spec, v, decode), 0);
  }
  // Zero points times scales would have to be rounded.
  spec.weight.zero_point = ZeroPoint::kInt;
  const Kernels with_zeros = kernels_of(spec);
  for (const GemmVariant& v : with_zeros.variants) {
    EXPECT_FALSE(v.fold_scale);
    EXPECT_EQ(power_of_scale(spec, v, decode_plan_of(with_zeros.plan, v)),
              v.scale_mode == ScaleMode::kWeight ? 2 : 0);
  }
  // Float zero points count in units of the code.
  spec.weight.zero_point = ZeroPoint::kFloat;
  for (const GemmVariant& v : kernels_of(spec).variants) EXPECT_FALSE(v.fold_power);
}

// What a plan's kernels decode by stands in it, each plan once.
TEST(ScaleMode, ThePlanTellsHowItsKernelsDecode) {
  const Plan plan = plan_of(small_spec(DType::kBf16), "h200");
  const auto json = nlohmann::json::parse(plan_to_json(plan));
  EXPECT_EQ(json["decode"]["result_exponent"], 0);
  const std::vector<GemmVariant> variants = gemm_variants(plan);
  const auto any = [&variants](bool GemmVariant::*field) {
    return std::any_of(variants.begin(), variants.end(),
                       [field](const GemmVariant& v) { return v.*field; });
  };
  ASSERT_EQ(json.contains("folded_decode"), any(&GemmVariant::fold_power));
  ASSERT_EQ(json.contains("scaled_decode"), any(&GemmVariant::fold_scale));
  if (any(&GemmVariant::fold_power)) {
    EXPECT_EQ(json["folded_decode"]["result_exponent"], 2);
  }
  if (any(&GemmVariant::fold_scale)) {
    EXPECT_EQ(json["scaled_decode"]["result_exponent"], 66);
  }
  EXPECT_NE(describe(plan).find("9 operations for 8 weights"), std::string::npos);
  EXPECT_EQ(describe(plan).find("11 operations for 8 weights"), std::string::npos);
}

}  // namespace
}  // namespace heddle

// Where scales go, and who takes the power of two of decoded codes: it follows from the types.
#include "generator/families/scale_mode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "generator/families/tiles/sums.h"
#include "tests/generator/planner/gemm_plans.h"

namespace heddle {
namespace {

ScaleMode mode_of(const PlannedKernel& kernel) {
  const auto name = kernel.family->json(kernel)["scaling"]["mode"];
  for (const ScaleMode mode : {ScaleMode::kAccumulator, ScaleMode::kWeight}) {
    if (name == families::enumerator_name(mode)) return mode;
  }
  return ScaleMode::kChannel;
}

// Every candidate, whatever it is faster or slower than.
std::vector<PlannedKernel> kernels_of(const Plan& plan) {
  std::vector<PlannedKernel> kernels;
  for (const auto& [first, last] : {std::pair{1, 8}, {9, 16}, {17, 64}, {513, 8192}}) {
    for (const Candidate& one : all_candidates(plan, {first, last})) kernels.push_back(one.kernel);
  }
  EXPECT_FALSE(kernels.empty());
  return kernels;
}

// A mode that some of them have, with its powers of two and how they decode.
struct Mode {
  device::Scaling scaling;
  DecodePlan decode;
};

std::vector<Mode> modes_of(const GemmSpec& spec) {
  const Plan plan = unplanned(spec, target_from_name("h200"));
  std::vector<Mode> modes;
  for (const PlannedKernel& kernel : kernels_of(plan)) {
    const ScaleMode mode = mode_of(kernel);
    const auto is_same = [mode](const Mode& other) { return other.scaling.mode == mode; };
    if (std::any_of(modes.begin(), modes.end(), is_same)) continue;
    modes.push_back(
        {scaling_of(gemm_request(plan), mode), kernel.family->decode_plan(plan, kernel)});
  }
  return modes;
}

void expect_mode(const GemmSpec& spec, ScaleMode mode) {
  for (const Mode& one : modes_of(spec)) EXPECT_EQ(one.scaling.mode, mode);
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
  const Plan plan = unplanned(small_spec(), target_from_name("h200"));
  for (const PlannedKernel& kernel : kernels_of(plan)) {
    if (is_tiles(kernel) && mode_of(kernel) == ScaleMode::kAccumulator) {
      EXPECT_TRUE(has_room_for_partial_sums(config_of<device::TilesConfig>(kernel)));
    }
  }
}

// Codes that e4m3 scales and a tensor scale fit are scaled exactly.
TEST(ScaleMode, NothingIsRoundedTwice) {
  GemmSpec spec = small_spec();
  spec.weight = {4, WeightType::kE2m1, 16, ZeroPoint::kNone, DType::kE4m3, true};
  for (const Mode& one : modes_of(spec)) {
    // The scale takes the power of two: what it multiplies stays exact.
    EXPECT_EQ(one.scaling.mode, ScaleMode::kWeight);
    EXPECT_TRUE(one.decode.request.fold_power);
  }
  spec.weight.type = WeightType::kE4m3;
  spec.weight.bits = 8;
  for (const Mode& one : modes_of(spec)) {
    EXPECT_EQ(one.decode.request.fold_power, one.scaling.mode != ScaleMode::kWeight);
  }
  spec.weight.type = WeightType::kE2m1;
  spec.weight.bits = 4;
  spec.weight.scale_dtype = DType::kE8m0;
  for (const Mode& one : modes_of(spec)) {
    EXPECT_EQ(one.scaling.mode, ScaleMode::kAccumulator) << "FP16 has too few exponents for e8m0";
    EXPECT_TRUE(one.decode.request.fold_power);
  }
  // A bfloat16 scale has room for half of the power of two, one of sums for none: whatever M is.
  spec.activation = DType::kBf16;
  for (const DType scale : {DType::kE8m0, DType::kBf16}) {
    spec.weight.scale_dtype = scale;
    for (const Mode& one : modes_of(spec)) {
      EXPECT_EQ(one.scaling.mode, ScaleMode::kWeight);
      EXPECT_TRUE(one.decode.request.fold_power);
      EXPECT_EQ(one.scaling.scale_exponent, 63);
    }
  }
}

// A bfloat16 scale has room for the power of two of integers, an FP16 one may not.
TEST(ScaleMode, ScalesTakeThePowerOfTwoOfIntegersToBf16) {
  GemmSpec spec = small_spec();
  for (const Mode& one : modes_of(spec)) EXPECT_FALSE(one.decode.request.fold_power);
  spec = small_spec(DType::kBf16);
  for (const Mode& one : modes_of(spec)) {
    const DecodeRequest& request = one.decode.request;
    EXPECT_NE(request.fold_power, request.fold_scale);
    EXPECT_EQ(request.fold_scale, one.scaling.mode == ScaleMode::kWeight);
    EXPECT_EQ(one.decode.result_exponent, request.fold_scale ? 66 : 2);
    EXPECT_EQ(one.scaling.scale_exponent, 0);
  }
  // Zero points times scales would have to be rounded.
  spec.weight.zero_point = ZeroPoint::kInt;
  for (const Mode& one : modes_of(spec)) {
    EXPECT_FALSE(one.decode.request.fold_scale);
    EXPECT_EQ(one.scaling.scale_exponent, one.scaling.mode == ScaleMode::kWeight ? 2 : 0);
  }
  // Float zero points count in units of the code.
  spec.weight.zero_point = ZeroPoint::kFloat;
  for (const Mode& one : modes_of(spec)) EXPECT_FALSE(one.decode.request.fold_power);
}

// What a plan's kernels decode by stands in it, each plan once.
TEST(ScaleMode, ThePlanTellsHowItsKernelsDecode) {
  const Plan plan = plan_of(small_spec(DType::kBf16), "h200");
  const auto json = nlohmann::json::parse(plan_to_json(plan));
  EXPECT_EQ(json["decode"]["result_exponent"], 0);
  const std::vector<SharedDecodePlan> decodes = decode_plans_of(plan);
  const auto any = [&decodes](bool DecodeRequest::*field) {
    return std::any_of(decodes.begin(), decodes.end(),
                       [field](const DecodePlan& one) { return one.request.*field; });
  };
  ASSERT_EQ(json.contains("folded_decode"), any(&DecodeRequest::fold_power));
  ASSERT_EQ(json.contains("scaled_decode"), any(&DecodeRequest::fold_scale));
  if (any(&DecodeRequest::fold_power)) {
    EXPECT_EQ(json["folded_decode"]["result_exponent"], 2);
  }
  if (any(&DecodeRequest::fold_scale)) {
    EXPECT_EQ(json["scaled_decode"]["result_exponent"], 66);
  }
  EXPECT_NE(describe(plan).find("9 operations for 8 weights"), std::string::npos);
  EXPECT_EQ(describe(plan).find("11 operations for 8 weights"), std::string::npos);
}

}  // namespace
}  // namespace heddle

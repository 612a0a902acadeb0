// Kernels for every M while some of a plan's are not there yet.
#include "generator/planner/stand_in.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "generator/families/family.h"
#include "heddle/inspect/source.h"
#include "tests/generator/planner/gemm_plans.h"

namespace heddle {
namespace {

// The shapes of llama-3-8b's matrices.
GemmSpec llama(std::int64_t n, std::int64_t k) {
  GemmSpec spec = spec_of(n, k);
  spec.weight.zero_point = ZeroPoint::kInt;
  return spec;
}

// Every M of the spec has a kernel, and its code computes it.
void check_serves_all(const Plan& complete, const StandIn& stand_in) {
  const Plan& plan = stand_in.plan;
  const MRange m = complete.spec.m_range();
  ASSERT_EQ(stand_in.code.size(), plan.kernel_count());
  ASSERT_EQ(plan.before.size(), complete.before.size());
  std::int64_t next = m.min;
  for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
    const PlannedKernel& kernel = plan.kernels[i];
    EXPECT_EQ(kernel.size_min, next);
    next = kernel.size_max + 1;
    const std::size_t code = stand_in.code[i];
    if (code == kGeneralCode) {
      ASSERT_TRUE(stand_in.general);
      const PlannedKernel& general = stand_in.general->kernels.front();
      EXPECT_EQ(general.size_min, m.min);
      EXPECT_EQ(general.size_max, m.max);
      EXPECT_EQ(general.name, kernel.name);
      continue;
    }
    const PlannedKernel& own = complete.kernels[code];
    EXPECT_EQ(own.name, kernel.name);
    EXPECT_GE(own.family->most_size(complete, own), kernel.size_max);
  }
  EXPECT_EQ(next, m.max + 1);
  for (std::size_t i = plan.kernels.size(); i < plan.kernel_count(); ++i) {
    EXPECT_EQ(stand_in.code[i], complete.kernels.size() + i - plan.kernels.size());
  }
}

std::size_t codes(const StandIn& stand_in, std::size_t code) {
  return static_cast<std::size_t>(std::count(stand_in.code.begin(), stand_in.code.end(), code));
}

TEST(StandIn, UrgentKernelsAreThoseOfTheRangeAndWhatRunsBefore) {
  GemmSpec spec = llama(4096, 14336);
  spec.act_order = true;
  const Plan plan = plan_of(spec, "h100");
  const std::vector<bool> urgent = kernels_for(plan, {2, 20});
  ASSERT_EQ(urgent.size(), plan.kernel_count());
  ASSERT_EQ(plan.before.size(), 1U);
  EXPECT_TRUE(urgent.back());
  for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
    EXPECT_EQ(urgent[i], plan.kernels[i].size_min <= 20 && plan.kernels[i].size_max >= 2);
  }
  check_serves_all(plan, stand_in(plan, urgent));
}

TEST(StandIn, OnHopperOneSmallTileServesWhatIsNotUrgent) {
  for (const auto& [n, k] : {std::pair{6144, 4096}, {4096, 4096}, {28672, 4096}, {4096, 14336}}) {
    const Plan plan = plan_of(llama(n, k), "h100");
    const StandIn made = stand_in(plan, kernels_for(plan, {1, 16}));
    check_serves_all(plan, made);
    ASSERT_TRUE(made.general);
    const PlannedKernel& general = made.general->kernels.front();
    ASSERT_TRUE(is_tiles(general));
    EXPECT_EQ(config_if<device::TilesConfig>(general)->tile_m, 64);
    EXPECT_GT(made.plan.kernels.back().size_min, 16);
    EXPECT_EQ(made.plan.workspace_bytes(65536), 0U);
    EXPECT_EQ(codes(made, kGeneralCode), 1U);
    EXPECT_NE(render(*made.general, 0).text.find("M 1 to 65536"), std::string::npos);
  }
}

TEST(StandIn, AnUrgentKernelThatTakesAnyMNeedsNoOther) {
  // With as many rows as that K is not split.
  const Plan plan = plan_of(llama(28672, 4096), "a100");
  const std::vector<bool> urgent = kernels_for(plan, {9, 16});
  const StandIn made = stand_in(plan, urgent);
  check_serves_all(plan, made);
  EXPECT_FALSE(made.general);
  for (const std::size_t code : made.code) EXPECT_TRUE(urgent[code]);
  EXPECT_EQ(made.plan.kernels.back().size_max, 65536);
}

TEST(StandIn, RowTransformsNeedNoOther) {
  RowTransformSpec row;
  row.shape.columns = 4096;
  row.norm.type = NormType::kRms;
  row.norm.epsilon = 1e-5F;
  const Plan plan = resolve(Spec::from_row_transform(row), target_from_name("h100"), TunedTables());
  ASSERT_EQ(plan.kernels.size(), 2U);
  for (const MRange& urgent : {MRange{1, 16}, MRange{1000, 1000}}) {
    const StandIn made = stand_in(plan, kernels_for(plan, urgent));
    check_serves_all(plan, made);
    EXPECT_EQ(made.plan.kernels.size(), 1U);
  }
}

TEST(StandIn, NothingAtHand) {
  for (const char* target : {"h100", "a100", "t4", "rtx5090", "b200"}) {
    for (const std::int64_t m_max : {1, 5, 40, 65536}) {
      GemmSpec spec = llama(4096, 4096);
      spec.shape.m_max = m_max;
      const Plan plan = plan_of(spec, target);
      const StandIn made = stand_in(plan, std::vector<bool>(plan.kernel_count(), false));
      check_serves_all(plan, made);
      EXPECT_EQ(made.plan.kernels.size(), 1U) << target << " M up to " << m_max;
    }
  }
}

TEST(StandIn, EverythingAtHandIsThePlan) {
  const Plan plan = plan_of(llama(4096, 4096), "h100");
  const StandIn made = stand_in(plan, std::vector<bool>(plan.kernel_count(), true));
  check_serves_all(plan, made);
  EXPECT_EQ(made.plan.kernels.size(), plan.kernels.size());
  EXPECT_FALSE(made.general);
}

TEST(StandIn, WhatItNeedsIsAddedToWhatIsAtHand) {
  GemmSpec spec = llama(28672, 4096);
  const Plan open = plan_of(spec, "a100");
  spec.path = Path::kAmpere;  // has no general kernel: its own ones stand in
  for (const Plan& plan : {open, plan_of(spec, "h100")}) {
    std::vector<bool> at_hand(plan.kernel_count(), false);
    const auto made = add_stand_in(plan, &at_hand);
    ASSERT_TRUE(made);
    EXPECT_FALSE(made->general);
    for (std::size_t i = 0; i < at_hand.size(); ++i) EXPECT_EQ(at_hand[i], codes(*made, i) != 0);
  }
  std::vector<bool> all(open.kernel_count(), true);
  EXPECT_FALSE(add_stand_in(open, &all)) << "nothing is missing";
}

TEST(StandIn, KernelsOfLargerMServeSmallerOnes) {
  const Plan plan = plan_of(llama(4096, 4096), "h100");
  ASSERT_GT(plan.kernels.size(), 4U);
  std::vector<bool> at_hand(plan.kernel_count(), false);
  at_hand.back() = true;
  at_hand[2] = true;
  const StandIn made = stand_in(plan, at_hand);
  check_serves_all(plan, made);
  EXPECT_EQ(made.code, (std::vector<std::size_t>{2, plan.kernels.size() - 1}));
}

TEST(StandIn, WhatASpecSetsIsHonouredMeanwhile) {
  GemmSpec spec = llama(4096, 4096);
  spec.path = Path::kHopper;
  const Plan plan = plan_of(spec, "h100");
  const StandIn made = stand_in(plan, kernels_for(plan, {1, 16}));
  check_serves_all(plan, made);
  EXPECT_FALSE(made.general);
  for (const PlannedKernel& kernel : made.plan.kernels) EXPECT_EQ(path_of(kernel), Path::kHopper);
}

TEST(StandIn, EveryKindOfWeights) {
  for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInt, ZeroPoint::kFloat}) {
    for (const int bits : {1, 3, 4, 8}) {
      for (const int group : {32, 128, kPerChannel}) {
        GemmSpec spec = spec_of(1536, 1536);
        spec.weight.bits = bits;
        spec.weight.zero_point = zero;
        spec.weight.group_size = group;
        spec.pre_scale = bits == 3;
        spec.epilogue.gated = bits == 8;
        if (bits == 8) spec.epilogue.activation = Activation::kSilu;
        const Plan plan = plan_of(spec, "h100");
        check_serves_all(plan, stand_in(plan, kernels_for(plan, {1, 16})));
      }
    }
  }
}

TEST(StandIn, OperationsWithoutMAreUrgentAsTheyAre) {
  const Spec spec =
      Spec::parse(R"({"heddle":1,"op":"dequantize","shape":{"n":64,"k":256},"weight":{"bits":4},)"
                  R"("source":{"format":"heddle"},"output":{"dtype":"fp16"}})");
  const Plan plan = resolve(spec, target_from_name("h100"), TunedTables());
  const std::vector<bool> urgent = kernels_for(plan, {1000, 2000});
  EXPECT_EQ(urgent, std::vector<bool>(plan.kernel_count(), true));
}

}  // namespace
}  // namespace heddle

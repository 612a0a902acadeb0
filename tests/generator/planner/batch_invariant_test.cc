// Plans of batch-invariant specs: whichever of its kernels a launch takes, a token is added up in
// the same order. That kernels of one arithmetic have the same bits is tests/emulator's to hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "generator/families/byte_codes.h"
#include "generator/planner/candidates.h"
#include "generator/planner/explain.h"
#include "generator/planner/one_arithmetic.h"
#include "generator/planner/predicted_times.h"
#include "generator/planner/stand_in.h"
#include "tests/byte_gemm.h"
#include "tests/expert_layer.h"
#include "tests/generator/planner/gemm_draws.h"
#include "tests/generator/planner/gemm_plans.h"
#include "tests/generator/planner/plan_refusals.h"

namespace heddle {
namespace {

GemmSpec invariant(GemmSpec spec) {
  spec.batch_invariant = true;
  return spec;
}

MoeSpec invariant_layer(std::int64_t tokens_max, const WeightSpec& weight, DType activation) {
  MoeSpec spec = expert_layer(
      {.hidden = 2048, .intermediate = 768, .experts = 64, .top_k = 8, .tokens_max = tokens_max},
      activation, weight);
  spec.batch_invariant = true;
  return spec;
}

std::set<std::optional<std::string>> arithmetics_of(const Plan& plan) {
  std::set<std::optional<std::string>> all;
  for (const PlannedKernel& kernel : plan.kernels) all.insert(arithmetic_of(plan, kernel));
  return all;
}

// Whether the launch leaves each tile's K to the same number of blocks, whatever its tokens are.
void expect_launches_that_share_alike(const Plan& plan, std::size_t index) {
  const PlannedKernel& kernel = plan.kernels[index];
  const auto* wgmma = config_if<WarpgroupKernel>(kernel);
  const KernelLaunch of_most = plan.launch(index, {kernel.size_max});
  for (const std::int64_t m : {kernel.size_min, (kernel.size_min + kernel.size_max) / 2}) {
    const KernelLaunch launch = plan.launch(index, {m});
    EXPECT_EQ(launch.grid_z, of_most.grid_z);
    EXPECT_EQ(launch.cluster, of_most.cluster);
    if (wgmma == nullptr) continue;
    EXPECT_EQ(launch.schedule, of_most.schedule);
    if (launch.schedule == 0) continue;
    EXPECT_EQ(launch.grid_x, of_most.grid_x);
  }
}

void expect_one_arithmetic(const Plan& plan) {
  const auto all = arithmetics_of(plan);
  ASSERT_EQ(all.size(), 1U) << describe(plan);
  ASSERT_TRUE(all.begin()->has_value()) << describe(plan);
  const std::string reason = "batch invariant: every kernel adds and scales in the same way: ";
  EXPECT_NE(std::find(plan.reasons.begin(), plan.reasons.end(), reason + **all.begin()),
            plan.reasons.end());
  const bool is_of_any_order = **all.begin() == kIntegerArithmetic;
  for (std::size_t i = 0; i < plan.kernels.size() && !is_of_any_order; ++i) {
    if (plan.kernels[i].phases == 1) expect_launches_that_share_alike(plan, i);
  }
}

TEST(BatchInvariant, EveryKernelOfAPlanHasOneArithmetic) {
  GemmDraws draws(41);
  int plans = 0, refusals = 0;
  for (const Target& target : known_targets()) {
    for (int i = 0; i < 12; ++i) {
      GemmDraw draw = draws.next(target);
      draw.spec.batch_invariant = true;
      SCOPED_TRACE(draw.text());
      try {
        expect_one_arithmetic(plan_of(draw.spec, target));
        ++plans;
      } catch (const Error& error) {
        // A path may have kernels for few tokens alone.
        EXPECT_NE(draw.spec.path, Path::kAuto) << error.what();
        EXPECT_EQ(error.problems().front().pointer, "/shape/m") << error.what();
        ++refusals;
      }
    }
  }
  EXPECT_GT(plans, 10 * refusals);
}

TEST(BatchInvariant, SoItIsWithEightBits) {
  std::vector<GemmSpec> specs{block_gemm(4096, 7168), two_level_gemm(4096, 4096)};
  for (const DType dtype : kEightBitTypes) specs.push_back(byte_gemm(1536, 4096, dtype));
  for (const DType dtype : {DType::kInt8, DType::kFp8E4m3}) {
    specs.push_back(four_bit_gemm(4096, 4096, dtype));
    specs.push_back(with_groups(byte_gemm(4096, 4096, dtype), dtype));
  }
  int plans = 0;
  for (const char* target : {"h200", "rtx4090", "b200", "a100", "t4"}) {
    for (GemmSpec spec : specs) {
      for (const std::int64_t m_max : {1, 16, 100, 4096}) {
        spec.shape.m_max = m_max;
        const bool is_served = refusal(spec, target) == "accepted";
        spec.batch_invariant = true;
        SCOPED_TRACE(Spec::from_gemm(spec).canonical_json() + " for " + target);
        EXPECT_EQ(refusal(spec, target) == "accepted", is_served);
        if (is_served) expect_one_arithmetic(plan_of(spec, target));
        plans += is_served ? 1 : 0;
        spec.batch_invariant = false;
      }
    }
  }
  EXPECT_GT(plans, 50);
}

TEST(BatchInvariant, SoItIsWithExperts) {
  WeightSpec four_bits;
  four_bits.scale_dtype = DType::kBf16;
  WeightSpec channels = four_bits;
  channels.group_size = kPerChannel;
  for (const char* target : {"h200", "a100", "rtx5090", "b200"}) {
    for (const std::int64_t tokens_max : {1, 16, 64, 4096}) {
      for (const WeightSpec& weight : {four_bits, channels, plain_weight(DType::kBf16)}) {
        for (const RouterScores scores : {RouterScores::kNone, RouterScores::kSoftmax}) {
          MoeSpec spec = invariant_layer(tokens_max, weight, DType::kBf16);
          spec.router.scores = scores;
          SCOPED_TRACE(Spec::from_moe(spec).canonical_json() + " for " + target);
          expect_one_arithmetic(
              resolve(Spec::from_moe(spec), target_from_name(target), TunedTables()));
        }
      }
    }
  }
}

// Few and many tokens usually have kernels that split K differently, or have scales elsewhere.
TEST(BatchInvariant, ItMakesADifference) {
  for (const char* target : {"h200", "a100"}) {
    const Plan usual = plan_of(small_spec(), target);
    EXPECT_GT(arithmetics_of(usual).size(), 1U);
    const Plan plan = plan_of(invariant(small_spec()), target);
    EXPECT_NE(usual.kernels.front().family->json(usual.kernels.front()),
              plan.kernels.front().family->json(plan.kernels.front()));
  }
  // Sums of integers are the same in every order: the usual kernels serve.
  const Plan usual = plan_of(byte_gemm(4096, 4096, DType::kInt8), "h200");
  const Plan plan = plan_of(invariant(byte_gemm(4096, 4096, DType::kInt8)), "h200");
  ASSERT_EQ(usual.kernels.size(), plan.kernels.size());
  for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
    EXPECT_EQ(usual.kernels[i].name, plan.kernels[i].name);
    EXPECT_TRUE(is_same_kernel(usual.kernels[i], plan.kernels[i]));
  }
}

// The steps of a spec with the candidates of each arithmetic that has some for all steps.
std::map<std::string, StepCandidates> steps_by_arithmetic(const Plan& plan) {
  const MRange m = plan.spec.m_range();
  std::map<std::string, StepCandidates> all;
  const std::vector<std::int64_t> ends = steps_of(plan, m);
  for (std::size_t step = 0; step < ends.size(); ++step) {
    const MRange range{step == 0 ? m.min : ends[step - 1] + 1, ends[step]};
    for (const Candidate& one : all_candidates(plan, range)) {
      const auto arithmetic = arithmetic_of(plan, one.kernel);
      if (!arithmetic) continue;
      StepCandidates& steps = all[*arithmetic];
      steps.first = m.min;
      steps.ends = ends;
      steps.candidates.resize(ends.size());
      steps.candidates[step].push_back(one);
    }
  }
  std::erase_if(all, [](const auto& one) {
    const auto& steps = one.second.candidates;
    return std::any_of(steps.begin(), steps.end(), [](const auto& step) { return step.empty(); });
  });
  return all;
}

TEST(BatchInvariant, TheArithmeticIsTheFastest) {
  for (const char* target : {"h200", "a100"}) {
    for (const std::int64_t m_max : {16, 128, 4096}) {
      GemmSpec spec = invariant(small_spec());
      spec.shape.m_max = m_max;
      const Plan plan = plan_of(spec, target);
      const auto all = steps_by_arithmetic(unplanned(spec, plan.target));
      ASSERT_GT(all.size(), 1U);
      const auto time_of = [&](const StepCandidates& steps) {
        const PredictedTimes times(plan, steps);
        return weighted_time(times, best_ranges(times, kMostKernels));
      };
      const std::string chosen = *arithmetic_of(plan, plan.kernels.front());
      ASSERT_EQ(all.count(chosen), 1U) << chosen;
      for (const auto& [arithmetic, steps] : all) {
        EXPECT_GE(time_of(steps), time_of(all.at(chosen))) << arithmetic << "; " << chosen;
      }
    }
  }
}

// On the path hopper sm_100 has streams for up to 16 tokens, and tiles of an older path for more.
TEST(BatchInvariant, SizesWithoutKernelsThatAddAlikeAreRefused) {
  GemmSpec spec = small_spec();
  spec.shape.m_max = 4096;
  spec.path = Path::kHopper;
  EXPECT_EQ(refusal(spec, "b200"), "accepted");
  spec = invariant(spec);
  EXPECT_EQ(refusal(spec, "b200"),
            "/shape/m: batch_invariant: no kernels that add in the same order serve all of these "
            "sizes, got [1, 4096]; allowed: [1, 16]");
  spec.shape.m_max = 16;
  expect_one_arithmetic(plan_of(spec, "b200"));
  spec.shape.m_max = 4096;
  spec.path = Path::kAuto;
  expect_one_arithmetic(plan_of(spec, "b200"));
}

// Whatever kernels are still being compiled, those that stand in for them add alike.
TEST(BatchInvariant, StandInsAddAlike) {
  int general = 0;
  for (const char* target : {"h200", "a100", "rtx4090", "b200"}) {
    for (const std::int64_t m_max : {16, 4096}) {
      GemmSpec spec = invariant(small_spec());
      spec.shape.m_max = m_max;
      const Plan plan = plan_of(spec, target);
      for (std::size_t at_hand = 0; at_hand <= plan.kernel_count(); ++at_hand) {
        std::vector<bool> flags(plan.kernel_count(), false);
        if (at_hand < flags.size()) flags[at_hand] = true;
        const StandIn made = stand_in(plan, flags);
        for (const PlannedKernel& kernel : made.plan.kernels) {
          EXPECT_EQ(arithmetic_of(made.plan, kernel), arithmetic_of(plan, plan.kernels.front()));
        }
        general += made.general ? 1 : 0;
      }
    }
  }
  RecordProperty("general_kernels", general);
}

TEST(BatchInvariant, ExplainSaysWhyAFasterKernelIsNotTaken) {
  const Plan plan = plan_of(invariant(small_spec()), "h200");
  const Explanation one = explain_choice(plan, 1);
  EXPECT_NE(one.why.find(", but adds as the plan's other kernels do; " + arithmetic_reason(plan)),
            std::string::npos)
      << one.why;
}

}  // namespace
}  // namespace heddle

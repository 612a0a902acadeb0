// decode_attention's kernels are chosen as every operation's are: the fastest predicted candidate
// of each step.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "decode_attention/config.h"
#include "generator/families/configuration.h"
#include "generator/planner/candidates.h"
#include "generator/planner/choose.h"
#include "generator/planner/explain.h"
#include "tests/attention_spec.h"

namespace heddle {
namespace {

constexpr const char* kForms[] = {
    R"("dtype":"int8")",
    R"("dtype":"int4")",
    R"("dtype":"int2")",
    R"("dtype":"nvfp4")",
    R"("dtype":"fp16")",
    R"("dtype":"int4","granularity":"group","group_size":32)",
    R"("dtype":"int4","k":{"granularity":"channel","group_size":64})"};

// From many short sequences to a long one.
constexpr LaunchSize kLaunches[] = {{1024, 256}, {8160, 31}, {8161, 31}, {131072, 1}};

std::vector<Plan> plans() {
  std::vector<Plan> all;
  for (const char* target : {"h200", "b200", "a100", "rtx4090"}) {
    for (const char* form : kForms) {
      for (const AttentionShape& shape : {AttentionShape{32, 8, 128, 1},
                                          {64, 8, 64, 1},
                                          {4, 2, 128, 4},
                                          {8, 1, 256, 1},
                                          {96, 96, 80, 1}}) {
        try {
          all.push_back(resolve(attention_spec(form, "", shape, false), target_from_name(target)));
        } catch (const Error&) {
          continue;  // heads that a format has no rows for
        }
      }
    }
  }
  return all;
}

TEST(AttentionChoice, TheFastestPredictedServesEachStep) {
  const std::vector<Plan> all = plans();
  EXPECT_GT(all.size(), 100U);
  for (const Plan& plan : all) {
    std::int64_t first = 1;
    for (const std::int64_t last : steps_of(plan, {1, plan.kernels.back().size_max})) {
      const MRange step{first, last};
      const PlannedKernel& own = plan.kernels[plan.kernel_for(last)];
      EXPECT_EQ(plan.kernel_for(first), plan.kernel_for(last));
      EXPECT_DOUBLE_EQ(usual_us(plan, own, step), all_candidates(plan, step).front().us)
          << plan.spec.canonical_json() << plan.target.name << kernel_label(own);
      first = last + 1;
    }
  }
}

// Each has a label of its own, room on its SM, and its parts where the plan's kernels have theirs.
TEST(AttentionChoice, CandidatesDifferAndFit) {
  for (const Plan& plan : plans()) {
    std::set<std::string> labels;
    for (const CandidatePlan& one : candidate_plans(plan, LaunchSize{4096, 8})) {
      const PlannedKernel& kernel = one.plan.kernels.front();
      EXPECT_TRUE(labels.insert(kernel_label(kernel)).second) << kernel_label(kernel);
      EXPECT_LE(kernel.shared_bytes, plan.target.shared_per_block);
      EXPECT_LE(kernel.blocks_per_sm * (kernel.shared_bytes + 1024), plan.target.shared_per_sm);
      EXPECT_EQ(one.plan.max_workspace_bytes(), plan.max_workspace_bytes());
      EXPECT_GT(one.us, 0);
    }
    EXPECT_FALSE(labels.empty());
  }
}

// More to read takes longer, and more memory to read it with does not.
TEST(AttentionChoice, PredictedTimesFollowTheWork) {
  for (const Plan& plan : plans()) {
    Plan faster = plan;
    faster.target.memory_gb_per_s *= 2;
    for (const Candidate& one : all_candidates(plan, {1, 8160})) {
      for (const LaunchSize& size : kLaunches) {
        const double us = predicted_us(plan, one.kernel, size);
        LaunchSize longer = size;
        longer.size *= 4;
        EXPECT_GT(predicted_us(plan, one.kernel, longer), us) << kernel_label(one.kernel);
        EXPECT_LE(predicted_us(faster, one.kernel, size), us) << kernel_label(one.kernel);
      }
    }
  }
}

// A cost that no predicted time depends on would be measured for nothing.
TEST(AttentionChoice, EveryCostChangesThePredictedTimeOfSomeKernel) {
  std::set<std::string_view> used;
  const Plan plan =
      resolve(attention_spec(kForms[1], "", {32, 8, 128, 1}, false), target_from_name("h200"));
  for (const Candidate& one : all_candidates(plan, {1, 8160})) {
    const Family& family = *one.kernel.family;
    const std::vector<double> values = values_of(family.cost_parameters());
    for (const LaunchSize& size : kLaunches) {
      const double us = family.predicted_us(plan, one.kernel, size, values);
      for (std::size_t i = 0; i < values.size(); ++i) {
        std::vector<double> others = values;
        others[i] *= 10;
        if (family.predicted_us(plan, one.kernel, size, others) != us) {
          used.insert(family.cost_parameters()[i].name);
        }
      }
    }
    EXPECT_LE(values.size(), 10U);
  }
  EXPECT_EQ(used.size(), plan.kernels.front().family->cost_parameters().size());
}

// Those that tools/bench-kv has measured on an H200.
TEST(AttentionChoice, MeasuredSpecsKeepTheirKernels) {
  using Labels = std::vector<std::string>;
  const Labels one_of_bytes{"warps 4 stages 3 blocks 2"};
  const Labels one_of_halves{"warps 4 stages 3 blocks 1"};
  const Labels four_bits{"warps 4 stages 3 blocks 4", "warps 8 stages 3 blocks 2"};
  const Labels groups{"warps 4 stages 3 blocks 3", "warps 6 stages 3 blocks 2"};
  const std::vector<std::pair<const char*, Labels>> rows = {
      {R"("dtype":"int8")", one_of_bytes},
      {R"("dtype":"fp8_e4m3","granularity":"tensor")", one_of_bytes},
      {R"("dtype":"int8","granularity":"group","group_size":64)", one_of_bytes},
      {R"("dtype":"int8","symmetric":false)", one_of_bytes},
      {R"("dtype":"fp16")", one_of_halves},
      {R"("dtype":"int4")", four_bits},
      {R"("dtype":"int4","page_size":16)", four_bits},
      {R"("dtype":"int4","granularity":"group","group_size":64)", groups},
      {R"("dtype":"int4","granularity":"group","group_size":32)", groups},
      {R"("dtype":"int4","k":{"granularity":"channel","group_size":64})", groups}};
  const auto labels_of = [](const Plan& plan) {
    Labels labels;
    for (const PlannedKernel& kernel : plan.kernels) labels.push_back(kernel_label(kernel));
    return labels;
  };
  for (const auto& [form, expected] : rows) {
    for (const int heads : {32, 64}) {
      const Plan plan =
          resolve(attention_spec(form, "", {heads, 8, 128, 1}, false), target_from_name("h200"));
      EXPECT_EQ(labels_of(plan), expected) << form << heads;
      EXPECT_EQ(plan.kernels.back().size_min, expected.size() > 1 ? 8161 : 1) << form;
    }
  }
  // One query head for each head of K and V.
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{5}}) {
    const Plan plan = resolve(attention_spec(rows[i].first, "", {32, 32, 128, 1}, false),
                              target_from_name("h200"));
    EXPECT_EQ(labels_of(plan), rows[i].second) << rows[i].first;
  }
}

// Also where one kernel serves both steps.
TEST(AttentionChoice, TheReasonsTimeIsThatOfAllLoadsThatItNames) {
  std::size_t joined = 0;
  for (const Plan& plan : plans()) {
    const std::vector<std::int64_t> steps = steps_of(plan, {1, plan.kernels.back().size_max});
    if (steps.size() > 1 && plan.kernels.size() == 1) ++joined;
    for (const PlannedKernel& kernel : plan.kernels) {
      const double us = usual_us(plan, kernel, {kernel.size_min, kernel.size_max});
      const std::string text = fmt::format("predicted {:.1f} us", us);
      EXPECT_TRUE(std::any_of(
          plan.reasons.begin(), plan.reasons.end(),
          [&text](const std::string& reason) { return reason.find(text) != std::string::npos; }))
          << text;
    }
  }
  EXPECT_GT(joined, 0U);
}

TEST(AttentionChoice, IsExplainedForALoad) {
  const Plan plan =
      resolve(attention_spec(kForms[1], "", {32, 8, 128, 1}, false), target_from_name("h200"));
  const Explanation few = explain_choice(plan, LaunchSize{1024, 64});
  EXPECT_EQ(few.step.max, 8160);
  EXPECT_EQ(kernel_label(few.candidates[few.chosen].plan.kernels.front()),
            kernel_label(plan.kernels.front()));
  EXPECT_NE(few.why.find("predicted to be the fastest on average of 1x1024, 64x1024"),
            std::string::npos)
      << few.why;
  const auto slower = [](const CandidatePlan& a, const CandidatePlan& b) { return a.us < b.us; };
  EXPECT_TRUE(std::is_sorted(few.candidates.begin(), few.candidates.end(), slower));
  EXPECT_GE(few.candidates.size(), 4U);
  EXPECT_TRUE(few.absent.empty());
  const Explanation one = explain_choice(plan, LaunchSize{32768, 1});
  EXPECT_EQ(one.chosen_range.min, 8161);
  EXPECT_EQ(one.candidates[one.chosen].plan.launch(0, one.size).grid_x, 264U);
}

}  // namespace
}  // namespace heddle

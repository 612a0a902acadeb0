// What `heddle tune` measures and writes, on a faked GPU with a faked clock.
#include "tools/tune/tuner.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "generator/planner/candidates.h"
#include "generator/planner/choose.h"
#include "heddle/error.h"
#include "heddle/inspect/source.h"
#include "tests/byte_gemm.h"
#include "tests/tools/tune/fake_device.h"
#include "tools/tune/shortlist.h"
#include "tools/tune/time_shares.h"

namespace heddle {
namespace {

GemmSpec gemm(std::int64_t n, std::int64_t m_max) {
  GemmSpec spec;
  spec.shape.n = n;
  spec.shape.k = 4096;
  spec.shape.m_max = m_max;
  return spec;
}

TuneJob job(std::int64_t n, std::int64_t m_max) {
  const Spec spec = Spec::from_gemm(gemm(n, m_max));
  return {fmt::format("gemm{}", n), resolve(spec, target_from_name("h200"), TunedTables())};
}

// Kernels take their predicted times, but those that a test says otherwise of.
class FakeDevice final : public FakeTuneDevice {
 public:
  std::function<double(const std::string& label, std::int64_t m, double predicted)> time =
      [](const std::string&, std::int64_t, double predicted) { return predicted; };
  std::function<std::string(const std::string& label)> fault = [](const std::string&) {
    return std::string();
  };

 protected:
  std::string fault_of(const Plan& plan) override {
    return fault(kernel_label(plan.kernels.front()));
  }
  double time_of(const Plan& plan, std::int64_t m) override {
    const PlannedKernel& kernel = plan.kernels.front();
    return noise_(random_) * time(kernel_label(kernel), m, predicted_us(plan, kernel, m));
  }

 private:
  std::mt19937 random_{1};
  std::normal_distribution<double> noise_{1, 0.002};
};

class TunerTest : public testing::Test {
 protected:
  TuneReport run(const std::vector<TuneJob>& jobs) {
    TuneHooks hooks;
    hooks.seconds = [this] { return device.clock; };
    hooks.interrupted = [this] { return device.timed >= interrupt_after; };
    hooks.show = [this](const std::string& line, bool is_result) {
      if (is_result) lines.push_back(line);
    };
    return tune(device, jobs, options, hooks);
  }

  FakeDevice device;
  TuneOptions options;
  std::size_t interrupt_after = 1U << 30;
  std::vector<std::string> lines;  // with results
};

// The steps that the report has of a job, as "1-1".
std::vector<std::string> steps_of(const TuneReport& report, const std::string& name) {
  std::vector<std::string> steps;
  for (const TunedStep& step : report.steps) {
    if (step.name == name) steps.push_back(fmt::format("{}-{}", step.m.min, step.m.max));
  }
  return steps;
}

using Texts = std::vector<std::string>;

TEST_F(TunerTest, EveryStepHasAnEntryAndThePlanTakesIt) {
  const TuneJob one = job(4096, 64);
  const TuneReport report = run({one});
  EXPECT_TRUE(report.faults.empty());
  EXPECT_TRUE(report.not_measured.empty());
  EXPECT_FALSE(report.interrupted);
  EXPECT_EQ(steps_of(report, "gemm4096"),
            (Texts{"1-1", "2-2", "3-4", "5-8", "9-16", "17-32", "33-48", "49-64"}));
  TunedTables tables;
  tables.add(TunedTable::from_entries("h200", report.entries));
  const Plan plan = resolve(one.plan.spec, one.plan.target, tables);
  std::int64_t next = 1;
  for (const TunedEntry& entry : report.entries) {
    EXPECT_EQ(entry.m_first, next);
    next = entry.m_last + 1;
    EXPECT_GT(entry.us, 0);
    const PlannedKernel& kernel = plan.kernels[plan.kernel_for(entry.m_last)];
    EXPECT_EQ(kernel.family->name(), entry.family);
    EXPECT_EQ(kernel_label(kernel), entry.kernel);
  }
  EXPECT_EQ(next, 65);
  EXPECT_EQ(lines.size(), report.steps.size());
}

// X and W of eight bits, next to one of 16.
TEST_F(TunerTest, EightBitsAreMeasuredAndThePlanTakesThem) {
  std::vector<TuneJob> jobs{job(4096, 32)};
  for (GemmSpec spec : {byte_gemm(4096, 4096, DType::kInt8), block_gemm(4096, 4096)}) {
    spec.shape.m_max = 32;
    jobs.push_back({fmt::format("bytes{}", jobs.size()),
                    resolve(Spec::from_gemm(spec), target_from_name("h200"), TunedTables())});
  }
  const TuneReport report = run(jobs);
  EXPECT_TRUE(report.faults.empty());
  EXPECT_TRUE(report.not_measured.empty());
  TunedTables tables;
  tables.add(TunedTable::from_entries("h200", report.entries));
  const TunedTable& table = tables.tables().front();
  for (const TuneJob& one : jobs) {
    const std::vector<TunedEntry> entries = table.entries_for(one.plan.spec.gemm());
    ASSERT_FALSE(entries.empty()) << one.name;
    const Plan plan = resolve(one.plan.spec, one.plan.target, tables);
    for (const TunedEntry& entry : entries) {
      EXPECT_EQ(kernel_label(plan.kernels[plan.kernel_for(entry.m_last)]), entry.kernel);
    }
  }
  EXPECT_EQ(table.entries().size(), report.entries.size());
}

TEST_F(TunerTest, MeasuredTimesWinOverPredictedOnes) {
  const TuneJob one = job(4096, 16);
  const std::vector<Candidate> all = all_candidates(one.plan, {9, 16});
  const std::string wanted = kernel_label(all[4].kernel);
  device.time = [&](const std::string& label, std::int64_t, double predicted) {
    return label == wanted ? 0.5 * predicted : predicted;
  };
  const TuneReport report = run({one});
  EXPECT_EQ(report.entries.back().kernel, wanted);
  EXPECT_EQ(report.entries.back().m_last, 16);
  EXPECT_EQ(report.steps.back().kernel, wanted);
  EXPECT_GT(report.steps.back().first_us, 1.5 * report.steps.back().us);
}

TEST_F(TunerTest, OneKernelServesNeighboursWhereItIsAsFast) {
  device.time = [](const std::string&, std::int64_t, double) { return 10; };
  const TuneReport report = run({job(4096, 64)});
  // Nothing is faster than anything, so the kernels of the largest step of each family serve as
  // many steps as their family can.
  EXPECT_LE(report.entries.size(), 3U);
  device = FakeDevice();
  device.time = [](const std::string&, std::int64_t m, double) {
    return 10.0 + static_cast<double>(m);
  };
  EXPECT_EQ(run({job(4096, 64)}).entries.size(), report.entries.size());
}

// A kernel of a larger step that is slow at the smaller one does not serve it.
TEST_F(TunerTest, AKernelServesOnlyWhereItWasMeasuredToBeFast) {
  const TuneJob one = job(4096, 64);
  const TuneReport report = run({one});
  for (const TunedStep& step : report.steps) {
    const auto entry =
        std::find_if(report.entries.begin(), report.entries.end(), [&](const TunedEntry& other) {
          return other.m_first <= step.m.min && step.m.max <= other.m_last;
        });
    ASSERT_NE(entry, report.entries.end());
    for (const Candidate& candidate : all_candidates(one.plan, {entry->m_first, entry->m_last})) {
      if (candidate.kernel.family->name() != entry->family ||
          kernel_label(candidate.kernel) != entry->kernel) {
        continue;
      }
      const Plan plan = plan_of_candidate(one.plan, candidate);
      EXPECT_LE(predicted_us(plan, plan.kernels.front(), step.m.max), 1.05 * step.us)
          << step.m.max << " " << entry->kernel;
    }
  }
}

TEST_F(TunerTest, WhatIsWrongIsNotTakenAndTold) {
  const TuneJob one = job(4096, 1);
  const std::vector<Candidate> all = all_candidates(one.plan, {1, 1});
  const std::string wrong = kernel_label(all[0].kernel);
  device.fault = [&](const std::string& label) {
    return label == wrong ? std::string("wrong results") : std::string();
  };
  const TuneReport report = run({one});
  ASSERT_EQ(report.entries.size(), 1U);
  EXPECT_NE(report.entries.front().kernel, wrong);
  ASSERT_EQ(report.faults.size(), 1U);
  EXPECT_EQ(report.faults.front(), fmt::format("gemm4096, M 1: {} {}: wrong results",
                                               all[0].kernel.family->name(), wrong));
  EXPECT_EQ(report.steps.front().first_us, 0);
}

TEST_F(TunerTest, AStepWithoutAKernelThatWorksIsNotReached) {
  device.fault = [](const std::string&) { return std::string("wrong results"); };
  const TuneReport report = run({job(4096, 1)});
  EXPECT_TRUE(report.entries.empty());
  EXPECT_EQ(report.not_measured, (Texts{"gemm4096, M 1"}));
}

TEST_F(TunerTest, TheBudgetHoldsAndWhatItDidNotReachIsNamed) {
  options.seconds = 3;
  const TuneReport report = run({job(4096, 4096), job(8192, 4096)});
  EXPECT_LE(device.clock, 3 + 1);  // a step that has begun ends
  EXPECT_EQ(report.steps.size() + report.not_measured.size(), 2 * 18U);
  const std::set<std::string> names(report.not_measured.begin(), report.not_measured.end());
  EXPECT_EQ(names.size(), report.not_measured.size());
}

TEST_F(TunerTest, JobsGetTheSameShareOfTheTime) {
  options.seconds = 40;
  const TuneReport report = run({job(4096, 4096), job(8192, 4096), job(6144, 4096)});
  EXPECT_TRUE(report.not_measured.empty());
  EXPECT_LE(device.clock, 40 * 1.1);
  std::map<std::string, std::size_t> candidates;
  for (const TunedStep& step : report.steps) candidates[step.name] += step.candidates;
  EXPECT_LE(candidates["gemm4096"], 2 * candidates["gemm6144"]);
  EXPECT_LE(candidates["gemm6144"], 2 * candidates["gemm4096"]);
}

TEST_F(TunerTest, WithMoreTimeMoreCandidatesAreTried) {
  options.most = 6;
  for (const TunedStep& step : run({job(4096, 8)}).steps) EXPECT_EQ(step.candidates, 6U);
  device = FakeDevice();
  options.seconds = 0.5;
  for (const TunedStep& step : run({job(4096, 8)}).steps) EXPECT_LE(step.candidates, 5U);
}

TEST_F(TunerTest, InterruptedItKeepsWhatItHas) {
  const TuneReport whole = run({job(4096, 64), job(8192, 64)});
  const std::size_t all = device.timed;
  for (const std::size_t after : {std::size_t{0}, std::size_t{1}, all / 3, all / 2, all - 1}) {
    device = FakeDevice();
    interrupt_after = after;
    const TuneReport report = run({job(4096, 64), job(8192, 64)});
    EXPECT_TRUE(report.interrupted);
    EXPECT_LE(device.timed, after);
    EXPECT_EQ(report.steps.size() + report.not_measured.size(), 16U) << after;
    EXPECT_EQ(report.steps.empty(), report.entries.empty());
    EXPECT_LE(report.steps.size(), whole.steps.size());
    // The table can be written.
    TunedTable::from_entries("h200", report.entries);
  }
}

TEST_F(TunerTest, AFailingDriverEndsItWithWhatItHas) {
  device.fails_after = 150;
  const TuneReport report = run({job(4096, 64), job(8192, 64)});
  ASSERT_EQ(report.faults.size(), 1U);
  EXPECT_NE(report.faults.front().find("it broke"), std::string::npos);
  EXPECT_FALSE(report.entries.empty());
  EXPECT_EQ(report.steps.size() + report.not_measured.size(), 16U);
  EXPECT_FALSE(report.interrupted);
}

TEST_F(TunerTest, OnlyTheStepsOfTheAskedTokens) {
  options.m = {3, 10};
  const TuneReport report = run({job(4096, 4096)});
  EXPECT_EQ(steps_of(report, "gemm4096"), (Texts{"3-4", "5-8", "9-16"}));
  EXPECT_EQ(device.most_tokens, (std::vector<std::int64_t>{16}));
  EXPECT_TRUE(steps_in({1, 1, 1, 8}, {9, 20}).empty());
}

TEST(Shortlist, HasTheFastestAndEachFamilysFastest) {
  const TuneJob one = job(4096, 16);
  const std::vector<Candidate> all = all_candidates(one.plan, {9, 16});
  for (const std::size_t most : {1U, 3U, 6U, 1000U}) {
    const std::vector<Candidate> some = shortlist(all, most);
    EXPECT_EQ(some.size(), std::min<std::size_t>(most, all.size()));
    EXPECT_EQ(some.front().us, all.front().us);
    EXPECT_TRUE(std::is_sorted(some.begin(), some.end(),
                               [](const Candidate& a, const Candidate& b) { return a.us < b.us; }));
    std::set<const Family*> families;
    for (const Candidate& candidate : some) families.insert(candidate.kernel.family);
    std::set<const Family*> all_families;
    for (const Candidate& candidate : all) all_families.insert(candidate.kernel.family);
    EXPECT_EQ(families.size(), std::min(most, all_families.size()));
  }
}

TEST(Shortlist, APlanOfACandidateServesAllTokensUpToItsLargest) {
  const TuneJob one = job(4096, 64);
  for (const Candidate& candidate : all_candidates(one.plan, {9, 16})) {
    const Plan plan = plan_of_candidate(one.plan, candidate);
    ASSERT_EQ(plan.kernels.size(), 1U);
    EXPECT_EQ(plan.kernels.front().size_min, 1);
    EXPECT_EQ(plan.kernels.front().size_max, 16);
    EXPECT_EQ(plan.spec.gemm().shape.m_min, 1);
    EXPECT_EQ(plan.spec.gemm().shape.m_max, 16);
    EXPECT_EQ(kernel_label(plan.kernels.front()), kernel_label(candidate.kernel));
    EXPECT_NE(render(plan, 0).text.find(plan.kernels.front().name), std::string::npos);
  }
}

TEST(TimeShares, WhatOneLeavesOverIsForAllOthers) {
  TimeShares shares(100, 10, 5);
  EXPECT_DOUBLE_EQ(shares.next_deadline(100), 102);
  EXPECT_DOUBLE_EQ(shares.next_deadline(104), 105.5);  // it took two too much
  EXPECT_DOUBLE_EQ(shares.next_deadline(104, 2), 108);
  EXPECT_FALSE(shares.is_spent(109.9));
  EXPECT_TRUE(shares.is_spent(110));
  EXPECT_DOUBLE_EQ(shares.next_deadline(111), 111);
}

TEST(KernelRate, FollowsWhatWasMeasured) {
  KernelRate rate;
  EXPECT_EQ(rate.kernels_in(100, 12), 12U);
  EXPECT_EQ(rate.kernels_in(0, 12), 2U);
  EXPECT_EQ(rate.kernels_in(0, 1), 1U);
  rate.add(100, 1000);
  EXPECT_EQ(rate.kernels_in(100, 12), 10U);
}

}  // namespace
}  // namespace heddle

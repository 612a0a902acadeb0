// What `heddle tune --calibrate` measures and makes of it, on a faked GPU with other costs than the
// built-in ones, and with a faked clock.
#include "tools/tune/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "generator/families/registry.h"
#include "generator/planner/candidates.h"
#include "generator/planner/measured_costs.h"
#include "heddle/error.h"
#include "tests/generator/tuned/tables.h"
#include "tests/tools/tune/fake_gpu.h"
#include "tools/tune/informative.h"

namespace heddle {
namespace {

std::size_t cells_in(const std::vector<CalibrationJob>& jobs) {
  std::size_t cells = 0;
  for (const CalibrationJob& job : jobs) cells += job.m.size();
  return cells;
}

CalibrationMeasurement measure(FakeGpu& gpu, const std::vector<CalibrationJob>& jobs,
                               double seconds, std::size_t interrupt_after = 1U << 30) {
  CalibrationOptions options;
  options.seconds = seconds;
  TuneHooks hooks;
  hooks.seconds = [&gpu] { return gpu.clock; };
  hooks.interrupted = [&gpu, interrupt_after] { return gpu.timed >= interrupt_after; };
  hooks.show = [](const std::string&, bool) {};
  return measure_calibration(gpu, jobs, options, hooks);
}

TEST(CalibrationProblems, EveryGpuHasThemAndTheirTokensAreEndsOfSteps) {
  for (const char* gpu : {"h100", "h200", "a100", "rtx4090", "b200"}) {
    const std::vector<CalibrationJob> jobs = jobs_for(gpu);
    EXPECT_GE(jobs.size(), 12U) << gpu;
    for (const CalibrationJob& job : jobs) {
      for (const std::int64_t m : job.m) {
        EXPECT_EQ(step_of(job.plan, m).max, m) << job.name;
      }
      EXPECT_TRUE(std::is_sorted(job.m.begin(), job.m.end()));
    }
  }
}

// The measured times follow from each parameter of each family.
TEST(CalibrationProblems, ExerciseEveryParameter) {
  FakeGpu gpu(other_costs(1));
  const CalibrationMeasurement measured = measure(gpu, jobs_for("h100"), 600);
  for (const GemmFamily* family : gemm_families()) {
    const std::vector<CostParameter>& parameters = family->cost_parameters();
    const Values values = values_of(parameters);
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::size_t depend = 0;
      for (const CalibrationCell& cell : measured.cells) {
        for (const TimedKernel& one : cell.kernels) {
          if (&one.family() != family) continue;
          Values other = values;
          other[i] *= 1.1;
          const double us = one.predicted_us(values);
          depend += std::abs(one.predicted_us(other) / us - 1) > 0.001 ? 1 : 0;
        }
      }
      EXPECT_GE(depend, 4U) << parameters[i].name << " of " << family->name();
    }
  }
}

TEST(Calibration, FindsCostsThatPredictWhatWasHeldOut) {
  for (const char* gpu : {"h100", "a100"}) {
    for (const unsigned seed : {1U, 2U, 3U}) {
      FakeGpu device(other_costs(seed));
      const std::vector<CalibrationJob> jobs = jobs_for(gpu);
      const CalibrationMeasurement measured = measure(device, jobs, 60);
      EXPECT_TRUE(measured.faults.empty());
      EXPECT_TRUE(measured.not_measured.empty());
      EXPECT_EQ(measured.cells.size(), cells_in(jobs));
      const std::vector<FamilyCalibration> families = calibrate(measured.cells);
      EXPECT_EQ(families.size(), std::string(gpu) == "h100" ? gemm_families().size() : 3U);
      for (const FamilyCalibration& one : families) {
        SCOPED_TRACE(testing::Message() << one.family->name() << " on " << gpu << ", " << seed);
        EXPECT_EQ(one.verdict, CalibrationVerdict::kBetter);
        EXPECT_GT(one.before.median, one.after.median);
        EXPECT_LT(one.after.median, 0.03);
        EXPECT_LT(one.after.p90, 0.08);
      }
      const std::vector<TunedCosts> costs = costs_to_write(families, "a test");
      EXPECT_EQ(costs.size(), families.size());
      // What is written can be read, and is what plans are then predicted with.
      TunedTables tables;
      tables.add(TunedTable::from_entries(gpu, {}, costs));
      const Plan plan = resolve(jobs.front().plan.spec, jobs.front().plan.target, tables);
      for (const FamilyCalibration& one : families) {
        const Costs used = costs_of(plan, *one.family);
        EXPECT_EQ(Values(used.begin(), used.end()), one.values);
      }
    }
  }
}

// The built-in costs are right here: there is nothing to find but noise.
TEST(Calibration, ChangesLittleWhereTheCostsAreRight) {
  std::map<const GemmFamily*, Values> built_in;
  for (const GemmFamily* family : gemm_families()) {
    built_in[family] = values_of(family->cost_parameters());
  }
  FakeGpu device(built_in);
  for (const FamilyCalibration& one : calibrate(measure(device, jobs_for("h100"), 60).cells)) {
    EXPECT_LT(one.after.median, 0.03) << one.family->name();
    for (std::size_t i = 0; i < one.values.size(); ++i) {
      EXPECT_LT(std::abs(std::log(one.values[i] / one.current[i])), 0.5)
          << one.family->cost_parameters()[i].name << " of " << one.family->name();
    }
  }
}

// Cells that are held out, counted in each family, are as the current costs say; all others are
// not.
TEST(Calibration, CostsThatPredictWorseAreNotWritten) {
  FakeGpu device(other_costs(5));
  std::vector<CalibrationCell> cells = measure(device, jobs_for("h100"), 60).cells;
  std::map<const GemmFamily*, std::size_t> seen;
  for (CalibrationCell& cell : cells) {
    std::set<const GemmFamily*> families;
    for (TimedKernel& one : cell.kernels) {
      families.insert(&one.family());
      const bool is_held_out = seen[&one.family()] % kHoldOut == kHoldOut - 1;
      one.us = one.predicted_us(values_of(one.family().cost_parameters()));
      if (!is_held_out) one.us *= 1.5;
    }
    for (const GemmFamily* family : families) ++seen[family];
  }
  const std::vector<FamilyCalibration> families = calibrate(cells);
  EXPECT_EQ(families.size(), gemm_families().size());
  for (const FamilyCalibration& one : families) {
    EXPECT_EQ(one.verdict, CalibrationVerdict::kNotBetter) << one.family->name();
    EXPECT_GT(one.after.median, one.before.median);
  }
  EXPECT_TRUE(costs_to_write(families, "a test").empty());
}

TEST(Calibration, InterruptedItKeepsWhatItHas) {
  const std::vector<CalibrationJob> jobs = jobs_for("h100");
  FakeGpu whole(other_costs(6));
  measure(whole, jobs, 60);
  for (const std::size_t after : {std::size_t{0}, std::size_t{10}, whole.timed / 2}) {
    FakeGpu device(other_costs(6));
    const CalibrationMeasurement measured = measure(device, jobs, 60, after);
    EXPECT_TRUE(measured.interrupted);
    EXPECT_LE(device.timed, after);
    EXPECT_EQ(measured.cells.size() + measured.not_measured.size(), cells_in(jobs));
    const std::vector<FamilyCalibration> families = calibrate(measured.cells);
    if (after < 100) {
      for (const FamilyCalibration& one : families) {
        EXPECT_EQ(one.verdict, CalibrationVerdict::kTooLittle);
        EXPECT_TRUE(one.values.empty());
      }
      EXPECT_TRUE(costs_to_write(families, "").empty());
    } else {
      EXPECT_FALSE(costs_to_write(families, "").empty());
    }
  }
}

TEST(Calibration, TheBudgetHoldsAndWhatItDidNotReachIsNamed) {
  const std::vector<CalibrationJob> jobs = jobs_for("h100");
  FakeGpu device(other_costs(7));
  const CalibrationMeasurement measured = measure(device, jobs, 5);
  EXPECT_LE(device.clock, 5 + 2);  // a cell that has begun ends
  EXPECT_EQ(measured.cells.size() + measured.not_measured.size(), cells_in(jobs));
  EXPECT_FALSE(measured.not_measured.empty());
  const std::set<std::string> names(measured.not_measured.begin(), measured.not_measured.end());
  EXPECT_EQ(names.size(), measured.not_measured.size());
}

TEST(Calibration, AFailingDriverEndsItWithWhatItHas) {
  const std::vector<CalibrationJob> jobs = jobs_for("h100");
  FakeGpu device(other_costs(8));
  device.fails_after = 500;
  const CalibrationMeasurement measured = measure(device, jobs, 60);
  ASSERT_EQ(measured.faults.size(), 1U);
  EXPECT_NE(measured.faults.front().find("it broke"), std::string::npos);
  EXPECT_FALSE(measured.cells.empty());
  EXPECT_EQ(measured.cells.size() + measured.not_measured.size(), cells_in(jobs));
}

TEST(Calibration, KernelsWithWrongResultsTakeNoPartAndAreTold) {
  FakeGpu device(other_costs(9));
  device.fault = [](const Plan& plan) {
    const bool is_wrong = plan.kernels.front().family->name() == "gemv";
    return is_wrong ? std::string("wrong results") : std::string();
  };
  const CalibrationMeasurement measured = measure(device, jobs_for("a100"), 60);
  EXPECT_FALSE(measured.faults.empty());
  for (const std::string& fault : measured.faults) {
    EXPECT_NE(fault.find("gemv"), fault.npos) << fault;
    EXPECT_TRUE(fault.ends_with(": wrong results")) << fault;
  }
  for (const FamilyCalibration& one : calibrate(measured.cells)) {
    EXPECT_NE(one.family->name(), "gemv");
  }
}

TEST(InformativeKernels, PicksEachFamilysFastestAndThenOthersOfAllKinds) {
  const CalibrationJob job = jobs_for("h100").front();
  const std::vector<Candidate> all = all_candidates(job.plan, {9, 16});
  std::map<const Family*, const Candidate*> fastest;
  for (const Candidate& one : all) fastest.try_emplace(one.kernel.family, &one);
  InformativeKernels informative;
  const std::vector<Candidate> picked = informative.pick(job.plan, all, 16, 10);
  ASSERT_EQ(picked.size(), 10U);
  std::set<std::string> labels;
  for (std::size_t i = 0; i < picked.size(); ++i) {
    const PlannedKernel& kernel = picked[i].kernel;
    labels.insert(std::string(kernel.family->name()) + kernel_label(kernel));
    const double best = fastest.at(kernel.family)->us;
    EXPECT_LE(picked[i].us, InformativeKernels::kSlowest * best);
    if (i < fastest.size()) {
      EXPECT_EQ(picked[i].us, best);
    }
  }
  EXPECT_EQ(labels.size(), picked.size());
  // With few places the fastest families go first.
  EXPECT_EQ(informative.pick(job.plan, all, 16, 1).front().us, all.front().us);
  EXPECT_LE(informative.pick(job.plan, all, 16, 1000).size(), all.size());
}

}  // namespace
}  // namespace heddle

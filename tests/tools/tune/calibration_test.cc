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
#include <string_view>
#include <utility>
#include <vector>

#include "generator/families/registry.h"
#include "generator/planner/candidates.h"
#include "generator/planner/measured_costs.h"
#include "heddle/error.h"
#include "tests/generator/tuned/tables.h"
#include "tools/tune/calibration_problems.h"
#include "tools/tune/informative.h"

namespace heddle {
namespace {

using Values = std::vector<double>;

// Of each family the built-in values times factors between 0.6 and 1.6.
std::map<const GemmFamily*, Values> other_costs(unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> factor(std::log(0.6), std::log(1.6));
  std::map<const GemmFamily*, Values> all;
  for (const GemmFamily* family : gemm_families()) {
    for (const CostParameter& one : family->cost_parameters()) {
      const CostRange range = range_of(one);
      const double value = one.value * std::exp(factor(random));
      all[family].push_back(std::clamp(value, range.least, range.most));
    }
  }
  return all;
}

constexpr double kCompileSeconds = 0.1;
constexpr double kReplaySeconds = 0.003;

// Kernels take what the costs of this GPU say, but for noise.
class FakeGpu final : public TuneDevice {
 public:
  explicit FakeGpu(std::map<const GemmFamily*, Values> costs) : costs_(std::move(costs)) {}

  double noise = 0.03;
  double clock = 0;
  std::size_t timed = 0;
  std::size_t fails_after = 1U << 30;  // of times
  std::function<std::string(const Plan&)> fault = [](const Plan&) { return std::string(); };

  void compile(std::vector<Plan> plans) override {
    for (const Plan& plan : plans) compiled_.insert(text_of(plan));
  }
  void begin(const Plan&, std::int64_t max_m) override {
    kernels_.clear();
    most_tokens_ = max_m;
  }
  Admission admit(const Plan& plan, std::int64_t m) override {
    EXPECT_TRUE(compiled_.contains(text_of(plan)));
    EXPECT_GE(m, plan.spec.gemm().shape.m_min);
    EXPECT_LE(m, plan.spec.gemm().shape.m_max);
    clock += kCompileSeconds;
    kernels_.push_back(plan);
    return {kernels_.size() - 1, fault(plan)};
  }
  double time_us(std::size_t kernel, std::int64_t m) override {
    if (++timed > fails_after) throw Error(ErrorCategory::kDriver, "driver.failed", "it broke");
    EXPECT_LE(m, most_tokens_);
    clock += kReplaySeconds;
    const TimedKernel one{kernels_.at(kernel), m, 0};
    return one.predicted_us(costs_.at(&one.family())) * (1 + noise * normal_(random_));
  }

 private:
  static std::string text_of(const Plan& plan) {
    return plan.spec.canonical_json() + kernel_label(plan.kernels.front());
  }

  std::map<const GemmFamily*, Values> costs_;
  std::set<std::string> compiled_;
  std::vector<Plan> kernels_;
  std::int64_t most_tokens_ = 0;
  std::mt19937 random_{1};
  std::normal_distribution<double> normal_;
};

std::vector<CalibrationJob> jobs_for(const char* gpu) {
  std::vector<CalibrationJob> jobs;
  for (const CalibrationProblem& one : calibration_problems()) {
    jobs.push_back({one.name,
                    resolve(Spec::from_gemm(one.gemm), target_from_name(gpu), TunedTables()),
                    one.m});
  }
  return jobs;
}

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
    for (const CalibrationJob& job : jobs_for(gpu)) {
      for (const std::int64_t m : job.m) {
        EXPECT_EQ(step_of(job.plan.spec.gemm().shape, m).max, m) << job.name;
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
      EXPECT_EQ(families.size(), std::string(gpu) == "h100" ? gemm_families().size() : 2U);
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

// All kernels of a family for one problem whose predicted time the parameter does not change.
std::vector<TimedKernel> kernels_without(const GemmFamily& family, std::string_view parameter,
                                         const CalibrationJob& job, std::int64_t m,
                                         Costs true_costs) {
  const std::vector<CostParameter>& parameters = family.cost_parameters();
  Values other = values_of(parameters);
  for (std::size_t i = 0; i < other.size(); ++i) {
    if (parameters[i].name == parameter) other[i] *= 2;
  }
  std::vector<TimedKernel> kernels;
  for (const Candidate& one : gemm_candidates(job.plan, step_of(job.plan.spec.gemm().shape, m))) {
    if (one.kernel.family != &family) continue;
    TimedKernel timed{job.plan, m, 0};
    timed.plan.kernels = {one.kernel};
    if (timed.predicted_us(other) != timed.predicted_us(values_of(parameters))) continue;
    timed.us = timed.predicted_us(true_costs);
    kernels.push_back(std::move(timed));
  }
  return kernels;
}

TEST(CostFit, LeavesAloneWhatNoKernelDependsOn) {
  const std::vector<CalibrationJob> jobs = jobs_for("h100");
  for (const char* name : {"gemv", "stream", "tiles"}) {
    const GemmFamily& family = family_named(name);
    const Values truth = other_costs(4).at(&family);
    std::vector<TimedKernel> kernels;
    for (const CalibrationJob& job : jobs) {
      // Of kernels that do not share K.
      for (TimedKernel& one : kernels_without(family, "exchange", job, 1, truth)) {
        kernels.push_back(std::move(one));
      }
    }
    ASSERT_GT(kernels.size(), 10U) << name;
    std::vector<WeightedKernel> weighted;
    for (const TimedKernel& one : kernels) weighted.push_back({&one, 1});
    const std::vector<CostParameter>& parameters = family.cost_parameters();
    const Values fitted = fit_costs(family, weighted, values_of(parameters));
    bool has_changed = false;
    for (std::size_t i = 0; i < fitted.size(); ++i) {
      if (parameters[i].name == "exchange") {
        EXPECT_EQ(fitted[i], parameters[i].value) << name;
      } else {
        has_changed = has_changed || fitted[i] != parameters[i].value;
      }
    }
    EXPECT_TRUE(has_changed) << name;
    EXPECT_LT(cost_errors(kernels, fitted).median, 0.02) << name;
  }
}

TEST(CostFit, KeepsValuesInTheirRangesWhateverTheTimes) {
  const CalibrationJob job = jobs_for("h100").front();
  for (const double times : {0.001, 0.1, 10.0, 1000.0}) {
    for (const GemmFamily* family : gemm_families()) {
      const Values current = values_of(family->cost_parameters());
      std::vector<TimedKernel> kernels;
      for (const std::int64_t m : {1, 16, 64}) {
        for (TimedKernel& one : kernels_without(*family, "", job, m, current)) {
          one.us *= times;
          kernels.push_back(std::move(one));
        }
      }
      std::vector<WeightedKernel> weighted;
      for (const TimedKernel& one : kernels) weighted.push_back({&one, 1});
      const Values fitted = fit_costs(*family, weighted, current);
      for (std::size_t i = 0; i < fitted.size(); ++i) {
        const CostParameter& parameter = family->cost_parameters()[i];
        EXPECT_GE(fitted[i], range_of(parameter).least * (1 - 1e-9)) << parameter.name;
        EXPECT_LE(fitted[i], range_of(parameter).most * (1 + 1e-9)) << parameter.name;
        EXPECT_LE(std::abs(std::log(fitted[i] / current[i])), std::log(kMostChange) + 1e-9);
      }
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
    EXPECT_EQ(one.family->name(), "tiles");
  }
}

TEST(InformativeKernels, PicksEachFamilysFastestAndThenOthersOfAllKinds) {
  const CalibrationJob job = jobs_for("h100").front();
  const std::vector<Candidate> all = gemm_candidates(job.plan, {9, 16});
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

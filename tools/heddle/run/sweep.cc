#include "tools/heddle/run/sweep.h"

#include <fmt/format.h>

#include <cstddef>

#include "generator/families/family.h"
#include "generator/planner/choose.h"
#include "tools/heddle/shared/launch_text.h"

namespace heddle {
namespace {

constexpr std::size_t kFinalists = 8;
constexpr int kFinalRounds = 5;

std::vector<std::string> names_of(const std::vector<Plan>& plans) {
  std::vector<std::string> names;
  for (const Plan& plan : plans) {
    const PlannedKernel& kernel = plan.kernels.front();
    names.push_back(fmt::format("{} {}", kernel.family->name(), kernel.family->tile_text(kernel)));
  }
  return names;
}

}  // namespace

void show_bench_progress(Progress* progress, const std::vector<std::string>& names,
                         BenchOptions* options) {
  options->on_build = [=](const BuildResult& built, std::size_t done, std::size_t total) {
    progress->show(fmt::format("[{}/{}] {}", done, total, built.kernel_name), true);
  };
  options->on_spec = [=](std::size_t i) {
    progress->show(fmt::format("[{}/{}] timing {}", i + 1, names.size(), names[i]), true);
  };
}

Sweep sweep_at(Runtime& runtime, const std::vector<CandidatePlan>& candidates,
               const LaunchSize& size, const TimingBudget& budget, bool skewed) {
  std::vector<Plan> plans;
  plans.reserve(candidates.size());
  for (const CandidatePlan& one : candidates) plans.push_back(one.plan);
  BenchOptions options;
  options.budget = budget;
  options.skewed = skewed;
  Progress progress(true);
  show_bench_progress(&progress, names_of(plans), &options);
  const Harness& harness = harness_of(plans.front().spec);
  Sweep sweep = sweep_of(harness.time_plans(runtime, plans, size, options));
  sweep.launch = launch_text(plans.front().spec, size);
  for (const CandidatePlan& one : candidates) {
    sweep.predicted_us.push_back(one.us);
    sweep.labels.push_back(kernel_label(one.plan.kernels.front()));
  }
  const std::vector<std::size_t> best = finalists(sweep, kFinalists);
  std::vector<Plan> rounds;
  for (int round = 0; round < kFinalRounds; ++round) {
    for (const std::size_t place : best) rounds.push_back(plans[place]);
  }
  show_bench_progress(&progress, names_of(rounds), &options);
  settle(best, harness.time_plans(runtime, rounds, size, options), &sweep);
  return sweep;
}

}  // namespace heddle

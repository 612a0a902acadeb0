#include "tools/tune/calibrator.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "generator/planner/candidates.h"
#include "generator/planner/choose.h"
#include "heddle/error.h"
#include "tools/tune/admit.h"
#include "tools/tune/informative.h"
#include "tools/tune/median_time.h"
#include "tools/tune/shortlist.h"
#include "tools/tune/time_shares.h"

namespace heddle {
namespace {

constexpr std::size_t kRounds = 7;

// One M of one job.
struct JobCell {
  const CalibrationJob* job = nullptr;
  std::int64_t m = 1;
  bool is_first = false;  // of its job

  std::string text() const { return fmt::format("{}, M = {}", job->name, m); }
};

// A kernel that may run.
struct TimedRunner {
  std::size_t handle = 0;
  TimedKernel kernel;
  std::vector<double> times;
};

class Calibrator {
 public:
  Calibrator(TuneDevice& device, const std::vector<CalibrationJob>& jobs,
             const CalibrationOptions& options, const TuneHooks& hooks)
      : device_(device),
        options_(options),
        hooks_(hooks),
        cells_(cells_of(jobs)),
        shares_(hooks.seconds(), options.seconds, cells_.size()) {}

  CalibrationMeasurement run() {
    std::size_t reached = 0;
    try {
      for (; reached < cells_.size() && !must_end(); ++reached) measure(reached);
    } catch (const Error& error) {
      result_.faults.emplace_back(error.what());
    }
    for (; reached < cells_.size(); ++reached) {
      result_.not_measured.push_back(cells_[reached].text());
    }
    result_.interrupted = hooks_.interrupted();
    return std::move(result_);
  }

 private:
  static std::vector<JobCell> cells_of(const std::vector<CalibrationJob>& jobs) {
    std::vector<JobCell> cells;
    for (const CalibrationJob& job : jobs) {
      for (const std::int64_t m : job.m) cells.push_back({&job, m, m == job.m.front()});
    }
    return cells;
  }

  bool must_end() const { return hooks_.interrupted() || shares_.is_spent(hooks_.seconds()); }

  void measure(std::size_t index) {
    const JobCell& cell = cells_[index];
    if (cell.is_first) device_.begin(cell.job->plan, cell.job->m.back());
    const double start = hooks_.seconds();
    const double deadline = shares_.next_deadline(start);
    if (prepared_ != index) prepare(index, deadline - start);
    std::vector<TimedRunner> runners = admit_all(cell, std::move(plans_), start, deadline);
    if (index + 1 < cells_.size() && !must_end()) prepare(index + 1, deadline - start);
    time_all(cell, &runners, deadline);
    keep(cell, std::move(runners));
  }

  // Has a cell's kernels compiled, the next one's while this one's run.
  void prepare(std::size_t index, double seconds) {
    const JobCell& cell = cells_[index];
    const Plan& plan = cell.job->plan;
    const MRange step = step_of(plan, cell.m);
    prepared_ = index;
    plans_.clear();
    const std::size_t most = rate_.kernels_in(kPartToCompile * seconds, options_.most);
    for (const Candidate& one : informative_.pick(plan, all_candidates(plan, step), cell.m, most)) {
      plans_.push_back(plan_of_candidate(plan, one));
    }
    device_.compile(plans_);
  }

  std::vector<TimedRunner> admit_all(const JobCell& cell, std::vector<Plan> plans, double start,
                                     double deadline) {
    std::vector<TimedRunner> runners;
    const double last = start + kPartToCompile * (deadline - start);
    const std::int64_t least = step_of(cell.job->plan, cell.m).min;
    for (const AdmittedKernel& one :
         admit_kernels(device_, hooks_, cell.text(), plans, least, last, &result_.faults)) {
      runners.push_back({one.handle, {std::move(plans[one.plan]), cell.m, 0}, {}});
    }
    rate_.add(std::max<std::size_t>(runners.size(), 1), hooks_.seconds() - start);
    return runners;
  }

  // All in each round; at least so many rounds that there is a result.
  void time_all(const JobCell& cell, std::vector<TimedRunner>* runners, double deadline) {
    for (std::size_t round = 0; round < kRounds; ++round) {
      if (round >= kFewestTimes && hooks_.seconds() >= deadline) return;
      hooks_.show(
          fmt::format("{}: round {} of {} kernels", cell.text(), round + 1, runners->size()),
          false);
      for (TimedRunner& one : *runners) {
        if (hooks_.interrupted()) return;
        one.times.push_back(device_.time_us(one.handle, cell.m));
      }
    }
  }

  void keep(const JobCell& cell, std::vector<TimedRunner> runners) {
    CalibrationCell measured{cell.text(), {}};
    for (TimedRunner& one : runners) {
      if (one.times.size() < kFewestTimes) continue;
      one.kernel.us = median_time(std::move(one.times)).us;
      measured.kernels.push_back(std::move(one.kernel));
    }
    if (measured.kernels.empty()) {
      result_.not_measured.push_back(measured.name);
      return;
    }
    hooks_.show(fmt::format("{}: {} kernels timed", measured.name, measured.kernels.size()), true);
    result_.cells.push_back(std::move(measured));
  }

  TuneDevice& device_;
  const CalibrationOptions& options_;
  const TuneHooks& hooks_;
  std::vector<JobCell> cells_;
  TimeShares shares_;
  KernelRate rate_;
  InformativeKernels informative_;
  std::optional<std::size_t> prepared_;
  std::vector<Plan> plans_;  // of that cell
  CalibrationMeasurement result_;
};

}  // namespace

CalibrationMeasurement measure_calibration(TuneDevice& device,
                                           const std::vector<CalibrationJob>& jobs,
                                           const CalibrationOptions& options,
                                           const TuneHooks& hooks) {
  return Calibrator(device, jobs, options, hooks).run();
}

}  // namespace heddle

#include "tools/tune/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "generator/planner/candidates.h"
#include "generator/planner/choose.h"
#include "generator/tuned/format.h"
#include "heddle/error.h"
#include "tools/tune/admit.h"
#include "tools/tune/measured_steps.h"
#include "tools/tune/race.h"
#include "tools/tune/shortlist.h"
#include "tools/tune/time_shares.h"

namespace heddle {
namespace {

// Shares of a job for the question which kernels also serve smaller steps.
constexpr std::size_t kSharesToExtend = 2;

std::string m_text(const MRange& m) {
  return m.min == m.max ? fmt::format("M {}", m.max) : fmt::format("M {} to {}", m.min, m.max);
}

// One step of one job.
struct StepCell {
  const TuneJob* job = nullptr;
  std::size_t step = 0;
  MRange m;

  std::string text() const { return fmt::format("{}, {}", job->name, m_text(m)); }
};

struct RaceRunner {
  MeasuredKernel kernel;
  bool is_first = false;  // predicted to be the fastest
};

class Tuner {
 public:
  Tuner(TuneDevice& device, const std::vector<TuneJob>& jobs, const TuneOptions& options,
        const TuneHooks& hooks)
      : device_(device),
        options_(options),
        hooks_(hooks),
        cells_(cells_of(jobs, options.m)),
        shares_(hooks.seconds(), options.seconds, cells_.size() + kSharesToExtend * jobs.size()) {}

  TuneReport run() {
    try {
      for (std::size_t i = 0; i < cells_.size();) i = tune_job(i);
    } catch (const Error& error) {
      report_.faults.emplace_back(error.what());
      finish_job();
    }
    for (; reached_ < cells_.size(); ++reached_) {
      report_.not_measured.push_back(cells_[reached_].text());
    }
    report_.interrupted = hooks_.interrupted();
    return std::move(report_);
  }

 private:
  static std::vector<StepCell> cells_of(const std::vector<TuneJob>& jobs, const MRange& m) {
    std::vector<StepCell> cells;
    for (const TuneJob& job : jobs) {
      std::size_t step = 0;
      for (const MRange& range : steps_in(job.plan.spec.gemm().shape, m)) {
        cells.push_back({&job, step++, range});
      }
    }
    return cells;
  }

  bool must_end() const { return hooks_.interrupted() || shares_.is_spent(hooks_.seconds()); }

  // Returns the first cell of the next job.
  std::size_t tune_job(std::size_t first) {
    const TuneJob& job = *cells_[first].job;
    std::size_t end = first;
    std::vector<MRange> steps;
    for (; end < cells_.size() && cells_[end].job == &job; ++end) steps.push_back(cells_[end].m);
    if (must_end()) return cells_.size();
    job_ = &job;
    measured_.emplace(std::move(steps));
    device_.begin(job.plan, cells_[end - 1].m.max);
    for (std::size_t i = first; i < end; ++i) {
      if (must_end()) break;
      tune_cell(i);
      reached_ = i + 1;
    }
    if (!must_end()) extend();
    finish_job();
    return end;
  }

  void tune_cell(std::size_t index) {
    const StepCell& cell = cells_[index];
    const double start = hooks_.seconds();
    const double deadline = shares_.next_deadline(start);
    if (prepared_ != index) prepare(index, deadline - start);
    std::vector<RaceRunner> runners = admit_all(cell, plans_, start, deadline);
    if (index + 1 < cells_.size() && !must_end()) prepare(index + 1, deadline - start);
    Race race(runners.size());
    const auto times_us = [&](std::size_t runner) {
      return device_.time_us(runners[runner].kernel.handle, cell.m.max);
    };
    run_race(&race, deadline, times_us, [&](std::size_t best) {
      return fmt::format("{}: {} of {} candidates, best {} {}", cell.text(), race.ranking().size(),
                         runners.size(), runners[best].kernel.family, runners[best].kernel.label);
    });
    if (race.has_result()) {
      keep(cell, runners, race);
    } else {
      report_.not_measured.push_back(cell.text());
    }
  }

  // Has a cell's kernels compiled, the next one's while this one's run.
  void prepare(std::size_t index, double seconds) {
    const StepCell& cell = cells_[index];
    const Plan& plan = cell.job->plan;
    prepared_ = index;
    plans_.clear();
    const std::size_t most = rate_.kernels_in(kPartToCompile * seconds, options_.most);
    for (const Candidate& one : shortlist(all_candidates(plan, cell.m), most)) {
      plans_.push_back(plan_of_candidate(plan, one));
    }
    device_.compile(plans_);
  }

  // The predicted fastest first.
  std::vector<RaceRunner> admit_all(const StepCell& cell, const std::vector<Plan>& plans,
                                    double start, double deadline) {
    std::vector<RaceRunner> runners;
    const double last = start + kPartToCompile * (deadline - start);
    for (const AdmittedKernel& one :
         admit_kernels(device_, hooks_, cell.text(), plans, cell.m.min, last, &report_.faults)) {
      const PlannedKernel& kernel = plans[one.plan].kernels.front();
      const GemmFamily& family = gemm_family_of(kernel);
      runners.push_back(
          {{one.handle, std::string(family.name()), family.version(), family.label(kernel)},
           one.plan == 0});
    }
    rate_.add(std::max<std::size_t>(runners.size(), 1), hooks_.seconds() - start);
    return runners;
  }

  // Until the race is over or its time; but so many rounds that there is a result.
  template <class TimeUs, class Text>
  void run_race(Race* race, double deadline, const TimeUs& time_us, const Text& text) {
    while (!hooks_.interrupted()) {
      const std::vector<std::size_t> round = race->next_round();
      if (round.empty() || (race->has_result() && hooks_.seconds() >= deadline)) return;
      for (const std::size_t runner : round) {
        if (hooks_.interrupted()) return;
        race->record(runner, time_us(runner));
      }
      race->end_round();
      const std::size_t best = race->ranking().front();
      hooks_.show(fmt::format("{}, {:.2f} us", text(best), race->time(best).us), false);
    }
  }

  void keep(const StepCell& cell, const std::vector<RaceRunner>& runners, const Race& race) {
    const std::vector<std::size_t> order = race.ranking();
    for (const std::size_t one : order) {
      measured_->add(cell.step, runners[one].kernel, race.time(one).us);
    }
    const RaceRunner& best = runners[order.front()];
    const MedianTime time = race.time(order.front());
    hooks_.show(
        fmt::format("{}: {} {}, {:.2f} us +- {:.2f}, the fastest of {}", cell.text(),
                    best.kernel.family, best.kernel.label, time.us, time.error, runners.size()),
        true);
    const double first_us = runners.front().is_first ? race.time(0).us : 0;
    report_.steps.push_back({cell.job->name, cell.m, best.kernel.family, best.kernel.label, time.us,
                             time.error, first_us, runners.size()});
  }

  // From the last step down: which kernels of later steps serve smaller ones, too.
  void extend() {
    extend_deadline_ = shares_.next_deadline(hooks_.seconds(), kSharesToExtend);
    for (std::size_t step = measured_->steps().size(); step-- > 0;) {
      if (must_end() || hooks_.seconds() >= extend_deadline_) return;
      const std::vector<KernelPlace> asked = measured_->may_serve(step);
      if (!asked.empty()) extend_to(step, asked);
    }
  }

  // The step's own best kernel runs, too: times count relative to its time then and now.
  void extend_to(std::size_t step, const std::vector<KernelPlace>& asked) {
    const KernelPlace best = measured_->best_at(step);
    Race race(asked.size() + 1);
    const std::int64_t m = measured_->steps()[step].max;
    const auto time_us = [&](std::size_t runner) {
      const KernelPlace& place = runner == 0 ? best : asked[runner - 1];
      return device_.time_us(measured_->kernel(place).handle, m);
    };
    run_race(&race, extend_deadline_, time_us, [&](std::size_t) {
      return fmt::format("{}, {}: kernels of larger steps", job_->name,
                         m_text(measured_->steps()[step]));
    });
    if (!race.has_result()) return;
    const double scale = measured_->own_us(best) / race.time(0).us;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      measured_->set_time(asked[i], step, scale * race.time(i + 1).us);
    }
  }

  void finish_job() {
    if (!measured_) return;
    const GemmSpec& spec = job_->plan.spec.gemm();
    for (const MeasuredRange& range : measured_->ranges()) {
      TunedEntry entry = entry_of(spec);
      entry.m_first = range.m.min;
      entry.m_last = range.m.max;
      entry.family = range.kernel.family;
      entry.family_version = range.kernel.version;
      entry.kernel = range.kernel.label;
      entry.us = range.us;
      entry.from = options_.from;
      report_.entries.push_back(std::move(entry));
    }
    measured_.reset();
  }

  TuneDevice& device_;
  const TuneOptions& options_;
  const TuneHooks& hooks_;
  std::vector<StepCell> cells_;
  TimeShares shares_;
  KernelRate rate_;
  double extend_deadline_ = 0;
  std::size_t reached_ = 0;  // cells that are done with
  std::optional<std::size_t> prepared_;
  std::vector<Plan> plans_;  // of that cell
  const TuneJob* job_ = nullptr;
  std::optional<MeasuredSteps> measured_;  // of that job
  TuneReport report_;
};

}  // namespace

std::vector<MRange> steps_in(const GemmShape& shape, const MRange& m) {
  std::vector<MRange> steps;
  std::int64_t first = shape.m_min;
  for (const std::int64_t last : token_steps(shape.m_min, shape.m_max)) {
    if (first <= m.max && last >= m.min) steps.push_back({first, last});
    first = last + 1;
  }
  return steps;
}

TuneReport tune(TuneDevice& device, const std::vector<TuneJob>& jobs, const TuneOptions& options,
                const TuneHooks& hooks) {
  return Tuner(device, jobs, options, hooks).run();
}

}  // namespace heddle

// The predicted times of candidates at every step of sizes, as ranges.h asks for them.
#ifndef HEDDLE_GENERATOR_PLANNER_PREDICTED_TIMES_H_
#define HEDDLE_GENERATOR_PLANNER_PREDICTED_TIMES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "generator/planner/candidate_times.h"
#include "generator/planner/ranges.h"
#include "heddle/inspect/plan.h"

namespace heddle {

// Steps of sizes, and the candidates for each.
struct StepCandidates {
  std::int64_t first = 0;                          // size
  std::vector<std::int64_t> ends;                  // the last size of each step
  std::vector<std::vector<Candidate>> candidates;  // of each, the fastest first

  std::size_t count() const { return ends.size(); }
  MRange sizes(std::size_t step) const {
    return {step == 0 ? first : ends[step - 1] + 1, ends[step]};
  }
};

// Candidates of a step, the fastest first, that may serve smaller sizes than those of the step,
// too.
inline constexpr std::size_t kMostExtended = 32;

// Refers to the plan, which outlives it. Precondition: every step has a candidate.
class PredictedTimes final : public StepTimes {
 public:
  PredictedTimes(const Plan& plan, StepCandidates steps);

  std::size_t steps() const override { return steps_.count(); }
  std::int64_t size(std::size_t step) const override { return steps_.ends[step]; }
  std::size_t kernels(std::size_t step) const override { return steps_.candidates[step].size(); }
  double best_us(std::size_t step) const override { return steps_.candidates[step].front().us; }
  double kernel_is_worth() const override;
  // A kernel serves all sizes below its own that have no kernels of their own.
  std::optional<double> us(std::size_t own, std::size_t kernel, std::size_t step) const override;

  // The kernels of the ranges, which say which sizes they serve.
  std::vector<Candidate> chosen(const std::vector<StepRange>& ranges) const;

 private:
  // Whether the step has kernels of the path that the spec asks for, which this is not of.
  bool leaves_path(const Candidate& candidate, std::size_t step) const;

  const Plan& plan_;
  const Path path_;
  StepCandidates steps_;
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_PREDICTED_TIMES_H_

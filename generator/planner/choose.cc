#include "generator/planner/choose.h"

#include <utility>

#include "generator/planner/one_arithmetic.h"
#include "generator/planner/predicted_times.h"
#include "generator/planner/serving.h"

namespace heddle {

std::vector<Candidate> choose_kernels(const Plan& plan, const MRange& sizes, std::size_t most) {
  StepCandidates steps{sizes.min, steps_of(plan, sizes), {}};
  for (std::size_t step = 0; step < steps.count(); ++step) {
    steps.candidates.push_back(all_candidates(plan, steps.sizes(step)));
    if (steps.candidates.back().empty()) throw_refusals(plan, steps.sizes(step));
  }
  if (is_batch_invariant(plan.spec)) return choose_of_one_arithmetic(plan, steps, most);
  const PredictedTimes times(plan, std::move(steps));
  return times.chosen(best_ranges(times, most));
}

}  // namespace heddle

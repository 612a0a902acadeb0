#include "generator/planner/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generator/families/blocks_that_fit.h"
#include "generator/families/registry.h"
#include "generator/operations/operation.h"
#include "generator/planner/choose.h"
#include "generator/planner/one_arithmetic.h"
#include "generator/planner/serving.h"
#include "generator/planner/tuned_choice.h"

namespace heddle {
namespace {

std::string sizes_text(const Plan& plan, const MRange& sizes) {
  const Operation& operation = operation_of(plan.spec);
  if (sizes.min == sizes.max) return fmt::format("{} = {}", operation.size_name(), sizes.max);
  return operation.size_text(sizes);
}

std::string table_text(const Plan& plan, const ChosenRange& range, const TunedTable& table) {
  const TunedEntry& entry = *range.entry;
  std::string text = fmt::format("the tuned table {} has it for {}", table.gpu(),
                                 sizes_text(plan, {entry.m_first, entry.m_last}));
  if (entry.us > 0 && range.m.max == entry.m_last) {
    text += fmt::format(", measured {:.2f} us at M = {}", entry.us, entry.m_last);
  }
  return text;
}

// The launches that the step's kernels were chosen by, where those are others than the explained
// one.
std::string where_text(const Plan& plan, const Explanation& one) {
  const Operation& operation = operation_of(plan.spec);
  if (operation.usual_launches(one.step).size() > 1) {
    return ' ' + operation.launches_text(one.step);
  }
  if (one.size.size == one.step.max) return "";
  return fmt::format(" for {} tokens, the most of its step of {}", one.step.max,
                     operation.size_text(one.step));
}

// The range that the size was chosen in.
ChosenRange range_of(const TunedChoice& choice, std::int64_t size) {
  const auto ends_before = [size](const ChosenRange& range) { return range.m.max < size; };
  return *std::find_if_not(choice.ranges.begin(), choice.ranges.end(), ends_before);
}

// `plan`: of a spec for the range alone.
std::string why_predicted(const Plan& plan, const Explanation& one, const ChosenRange& range) {
  const PlannedKernel& kernel = one.candidates[one.chosen].plan.kernels.front();
  if (kernel.family->cost_parameters().empty()) return "the family has no other for them";
  const double own = usual_us(plan, plan.kernels[plan.kernel_for(one.size.size)], one.step);
  const std::vector<Candidate> all = all_candidates(plan, one.step);
  const double best = std::min(own, all.front().us);
  const std::string where = where_text(plan, one);
  if (own <= best) return fmt::format("it is predicted to be the fastest{}", where);
  const double more = own / best;
  const std::string slower = fmt::format("it is predicted to take {:.1f} % more than the fastest{}",
                                         100 * (more - 1), where);
  const auto path = [](const PlannedKernel& k) { return k.family->path(k); };
  if (path_of(plan.spec) != Path::kAuto && path(all.front().kernel) != path(kernel)) {
    return fmt::format("{}, but of the path that the spec asks for", slower);
  }
  if (is_batch_invariant(plan.spec) &&
      arithmetic_of(plan, all.front().kernel) != arithmetic_of(plan, kernel)) {
    return fmt::format("{}, but adds as the plan's other kernels do", slower);
  }
  if (more <= kSameTime) {
    return fmt::format("{}, and saves a kernel: it serves {}", slower,
                       sizes_text(plan, one.chosen_range));
  }
  return fmt::format("{}, and keeps {} from having more than {} kernels: it serves {}", slower,
                     sizes_text(plan, range.m), range.most_kernels,
                     sizes_text(plan, one.chosen_range));
}

}  // namespace

Explanation explain_choice(const Plan& whole, const LaunchSize& size, const TunedTable* table) {
  const ChosenRange range = range_of(choose_with_table(whole, table), size.size);
  const Plan plan = with_range(whole, range.m);
  Explanation one;
  one.size = size;
  one.step = step_of(plan, size.size);
  one.candidates = candidate_plans(plan, size);
  // The plan's own comes first. It may also be a candidate of this step alone, as which it takes
  // the same time: that is no choice to show.
  const CandidatePlan& chosen = one.candidates.front();
  const auto is_its_twin = [&chosen](const CandidatePlan& other) {
    return other.us == chosen.us &&
           is_same_configuration(other.plan.kernels.front(), chosen.plan.kernels.front());
  };
  one.candidates.erase(
      std::remove_if(one.candidates.begin() + 1, one.candidates.end(), is_its_twin),
      one.candidates.end());
  const double own = one.candidates.front().us;
  const auto faster = [own](const CandidatePlan& other) { return other.us < own; };
  const auto place = std::find_if_not(one.candidates.begin() + 1, one.candidates.end(), faster);
  std::rotate(one.candidates.begin(), one.candidates.begin() + 1, place);
  one.chosen = static_cast<std::size_t>(place - one.candidates.begin()) - 1;
  const PlannedKernel& kernel = plan.kernels[plan.kernel_for(size.size)];
  one.chosen_range = {kernel.size_min, kernel.size_max};
  one.why = range.entry ? table_text(plan, range, *table) : why_predicted(plan, one, range);
  if (is_batch_invariant(plan.spec)) one.why += "; " + arithmetic_reason(plan);
  for (const Family* family : families_of(plan.spec.op())) {
    const auto is_of_family = [family](const CandidatePlan& candidate) {
      return candidate.plan.kernels.front().family == family;
    };
    if (std::any_of(one.candidates.begin(), one.candidates.end(), is_of_family)) continue;
    one.absent.push_back({family, why_none(*family, plan, one.step)});
  }
  return one;
}

int register_budget(const PlannedKernel& kernel, const Target& target) {
  return register_budget(target, kernel.threads, kernel.blocks_per_sm);
}

}  // namespace heddle

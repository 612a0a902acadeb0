#include "generator/planner/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generator/families/blocks_that_fit.h"
#include "generator/families/registry.h"
#include "generator/planner/choose.h"
#include "generator/planner/serving.h"
#include "generator/planner/tuned_choice.h"

namespace heddle {
namespace {

std::string tokens_text(const MRange& m) {
  return m.min == m.max ? fmt::format("M = {}", m.max) : fmt::format("M {} to {}", m.min, m.max);
}

std::string table_text(const ChosenRange& range, const TunedTable& table) {
  const TunedEntry& entry = *range.entry;
  std::string text = fmt::format("the tuned table {} has it for {}", table.gpu(),
                                 tokens_text({entry.m_first, entry.m_last}));
  if (entry.us > 0 && range.m.max == entry.m_last) {
    text += fmt::format(", measured {:.2f} us at M = {}", entry.us, entry.m_last);
  }
  return text;
}

// The range that M was chosen in.
ChosenRange range_of(const TunedChoice& choice, std::int64_t m) {
  const auto ends_before = [m](const ChosenRange& range) { return range.m.max < m; };
  return *std::find_if_not(choice.ranges.begin(), choice.ranges.end(), ends_before);
}

// `plan`: of a spec for the range alone.
std::string why_predicted(const Plan& plan, const Explanation& one, const ChosenRange& range) {
  const PlannedKernel& kernel = one.candidates[one.chosen].plan.kernels.front();
  const double own = predicted_us(plan, plan.kernels[plan.kernel_for(one.m)], one.step.max);
  const std::vector<Candidate> all = gemm_candidates(plan, one.step);
  const double best = std::min(own, all.front().us);
  const std::string where = one.m == one.step.max
                                ? ""
                                : fmt::format(" for {} tokens, the most of its step of M {} to {}",
                                              one.step.max, one.step.min, one.step.max);
  if (own <= best) return fmt::format("it is predicted to be the fastest{}", where);
  const double more = own / best;
  const std::string slower = fmt::format("it is predicted to take {:.1f} % more than the fastest{}",
                                         100 * (more - 1), where);
  const auto path_of = [](const PlannedKernel& k) { return gemm_family_of(k).path(k); };
  if (plan.spec.gemm().path != Path::kAuto && path_of(all.front().kernel) != path_of(kernel)) {
    return fmt::format("{}, but of the path that the spec asks for", slower);
  }
  if (more <= kSameTime) {
    return fmt::format("{}, and saves a kernel: it serves {}", slower,
                       tokens_text(one.chosen_range));
  }
  return fmt::format("{}, and keeps {} from having more than {} kernels: it serves {}", slower,
                     tokens_text(range.m), range.most_kernels, tokens_text(one.chosen_range));
}

}  // namespace

Explanation explain_choice(const Plan& whole, std::int64_t m, const TunedTable* table) {
  const ChosenRange range = range_of(choose_with_table(whole, table), m);
  const Plan plan = with_range(whole, range.m);
  Explanation one;
  one.m = m;
  one.step = step_of(plan.spec.gemm().shape, m);
  one.candidates = candidate_plans(plan, m);
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
  const PlannedKernel& kernel = plan.kernels[plan.kernel_for(m)];
  one.chosen_range = {kernel.size_min, kernel.size_max};
  one.why = range.entry ? table_text(range, *table) : why_predicted(plan, one, range);
  for (const GemmFamily* family : gemm_families()) {
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

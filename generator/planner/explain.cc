#include "generator/planner/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "generator/families/registry.h"
#include "generator/families/tile_fields.h"
#include "generator/planner/choose.h"

namespace heddle {
namespace {

constexpr int kMostRegisters = 255;  // of a thread, that an instruction can name
constexpr int kRegisterUnit = 8;     // in which a thread gets them

std::string tokens_text(const MRange& m) {
  return m.min == m.max ? fmt::format("M = {}", m.max) : fmt::format("M {} to {}", m.min, m.max);
}

// The entry that the plan's kernel for m was taken from; none if it was chosen by prediction.
std::optional<TunedEntry> entry_of(const Plan& plan, std::int64_t m, const TunedTable* table) {
  const GemmSpec& spec = plan.spec.gemm();
  if (table == nullptr || spec.path != Path::kAuto || sets_any(spec.tile)) return std::nullopt;
  const PlannedKernel& kernel = plan.kernels[plan.kernel_for(m)];
  const int version = dynamic_cast<const GemmFamily&>(*kernel.family).version();
  for (TunedEntry& entry : table->entries_for(spec)) {
    if (m < entry.m_first || m > entry.m_last) continue;
    if (entry.family != kernel.family->name() || entry.family_version != version) continue;
    if (entry.kernel == kernel_label(kernel)) return std::move(entry);
  }
  return std::nullopt;
}

std::string measured_text(const TunedEntry& entry, const TunedTable& table) {
  std::string text =
      fmt::format("the tuned table {} says that it was measured to be the fastest", table.gpu());
  text += fmt::format(" for {}", tokens_text({entry.m_first, entry.m_last}));
  if (entry.us > 0) text += fmt::format(", {:.2f} us at M = {}", entry.us, entry.m_last);
  return text;
}

std::string why_chosen(const Plan& plan, const Explanation& one, const TunedTable* table) {
  if (const auto entry = entry_of(plan, one.m, table)) return measured_text(*entry, *table);
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
  if (plan.spec.gemm().path != Path::kAuto && all.front().variant.path != variant_of(kernel).path) {
    return fmt::format("{}, but of the path that the spec asks for", slower);
  }
  if (more <= kSameTime) {
    return fmt::format("{}, and saves a kernel: it serves {}", slower,
                       tokens_text(one.chosen_range));
  }
  return fmt::format("{}, and keeps the plan from having more than {} kernels: it serves {}",
                     slower, kMostKernels, tokens_text(one.chosen_range));
}

}  // namespace

Explanation explain_choice(const Plan& plan, std::int64_t m, const TunedTable* table) {
  Explanation one;
  one.m = m;
  one.step = step_of(plan.spec.gemm().shape, m);
  one.candidates = candidate_plans(plan, m);
  // The plan's own comes first.
  const double own = one.candidates.front().us;
  const auto faster = [own](const CandidatePlan& other) { return other.us < own; };
  const auto place = std::find_if_not(one.candidates.begin() + 1, one.candidates.end(), faster);
  std::rotate(one.candidates.begin(), one.candidates.begin() + 1, place);
  one.chosen = static_cast<std::size_t>(place - one.candidates.begin()) - 1;
  const PlannedKernel& kernel = plan.kernels[plan.kernel_for(m)];
  one.chosen_range = {kernel.size_min, kernel.size_max};
  one.why = why_chosen(plan, one, table);
  for (const GemmFamily* family : gemm_families()) {
    if (!family->candidates(plan, one.step).empty()) continue;
    one.absent.push_back({family, family->why_none(plan, one.step)});
  }
  return one;
}

int register_budget(const PlannedKernel& kernel, const Target& target) {
  const int share = target.registers_per_sm / (kernel.threads * kernel.blocks_per_sm);
  return std::min(kMostRegisters, share / kRegisterUnit * kRegisterUnit);
}

}  // namespace heddle

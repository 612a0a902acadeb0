#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generator/families/registry.h"
#include "generator/operations/operation.h"
#include "generator/planner/choose.h"
#include "generator/planner/measured_costs.h"
#include "generator/planner/one_arithmetic.h"
#include "generator/planner/serving.h"
#include "generator/planner/tuned_choice.h"
#include "generator/spec/refuse_if_any.h"
#include "generator/target/check_target.h"
#include "heddle/error.h"
#include "heddle/inspect/plan.h"
#include "heddle/tuned.h"

namespace heddle {
namespace {

// Kernels of a fixed size, which no smaller tile could replace.
void refuse_large_kernels(const Plan& plan) {
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < plan.kernel_count(); ++i) {
    const PlannedKernel& kernel = plan.kernel(i);
    if (kernel.shared_bytes <= plan.target.shared_per_block) continue;
    problems.push_back(
        {"",
         fmt::format("{} needs {} bytes of shared memory, {} has {} for a thread block",
                     kernel.family->name(), kernel.shared_bytes, plan.target.name,
                     plan.target.shared_per_block),
         "", "", ""});
  }
  refuse_if_any(plan.spec, std::move(problems));
}

void complete(const Plan& plan, PlannedKernel& kernel) {
  kernel = planned_kernel(plan, kernel, kernel.family->kernel_name(plan, kernel));
}

// Each once, in the order of the plan's kernels.
std::vector<const Family*> families_of_kernels(const Plan& plan) {
  std::vector<const Family*> families;
  for (std::size_t i = 0; i < plan.kernel_count(); ++i) {
    const Family* const family = plan.kernel(i).family;
    if (std::find(families.begin(), families.end(), family) == families.end()) {
      families.push_back(family);
    }
  }
  return families;
}

void add(const std::vector<std::string>& reasons, Plan& plan) {
  plan.reasons.insert(plan.reasons.end(), reasons.begin(), reasons.end());
}

}  // namespace

Plan resolve(const Spec& spec, const Target& target, const TunedTables& tables) {
  check_target(target);
  Plan plan;
  plan.spec = spec;
  plan.target = target;
  std::vector<Problem> problems = check_meaning(spec);
  for (Problem& problem : refuse_on_target(spec, target)) problems.push_back(std::move(problem));
  refuse_if_any(spec, std::move(problems));
  const Family& first = *families_of(spec.op()).front();
  first.prepare(plan);
  const TunedTable* const table = tables.of(target);
  plan.costs = measured_costs(table);
  TunedChoice choice = choose_with_table(plan, table);
  plan.kernels = std::move(choice.kernels);
  for (PlannedKernel& kernel : plan.kernels) complete(plan, kernel);
  for (const Family* family : families_before(spec.op())) {
    for (PlannedKernel& kernel : family->candidates(plan, sizes_of(spec))) {
      complete(plan, kernel);
      plan.before.push_back(std::move(kernel));
    }
  }
  plan.reasons = std::move(choice.reasons);
  if (is_batch_invariant(spec)) plan.reasons.push_back(arithmetic_reason(plan));
  add(first.common_reasons(plan), plan);
  for (const Family* family : families_of_kernels(plan)) add(family->reasons(plan), plan);
  refuse_large_kernels(plan);
  return plan;
}

}  // namespace heddle

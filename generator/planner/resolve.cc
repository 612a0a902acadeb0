#include <fmt/format.h>

#include <utility>

#include "generator/families/registry.h"
#include "generator/planner/resolve_gemm.h"
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

}  // namespace

Plan resolve(const Spec& spec, const Target& target) {
  return resolve(spec, target, TunedTables::shipped());
}

Plan resolve(const Spec& spec, const Target& target, const TunedTables& tables) {
  check_target(target);
  Plan plan;
  plan.spec = spec;
  plan.target = target;
  const std::vector<const Family*>& families = families_of(spec.op());
  if (families.size() == 1) {
    families.front()->plan(plan);
  } else {
    resolve_gemm(plan, tables.of(target));
  }
  refuse_large_kernels(plan);
  return plan;
}

}  // namespace heddle

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generator/families/registry.h"
#include "generator/planner/refuse_if_any.h"
#include "generator/planner/resolve_gemm.h"
#include "generator/target/check_target.h"
#include "heddle/error.h"
#include "heddle/plan.h"

namespace heddle {

void refuse_if_any(const Spec& spec, std::vector<Problem> problems) {
  if (problems.empty()) return;
  if (!spec.name().empty()) {
    for (Problem& problem : problems) problem.message = spec.name() + ": " + problem.message;
  }
  throw Error(ErrorCategory::kUnsupported, "plan.unsupported", std::move(problems));
}

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
  check_target(target);
  Plan plan;
  plan.spec = spec;
  plan.target = target;
  const auto& all = kernel_families();
  const auto planner = std::find_if(all.begin(), all.end(),
                                    [&](const Family* family) { return family->plans(spec.op()); });
  if (planner != all.end()) {
    (*planner)->plan(plan);
  } else {
    resolve_gemm(plan);
  }
  refuse_large_kernels(plan);
  return plan;
}

std::size_t Plan::kernel_for(std::int64_t size) const noexcept {
  std::size_t index = 0;
  while (index + 1 < kernels.size() && size > kernels[index].size_max) ++index;
  return index;
}

KernelLaunch Plan::launch(std::size_t index, const LaunchSize& size) const noexcept {
  const PlannedKernel& one = kernel(index);
  return one.family->launch(*this, one, size);
}

// Counters and sums come first, at the same places for every M, so that nothing else ever writes to
// the counters.
std::size_t Plan::gathered_offset(std::int64_t m) const noexcept {
  const PlannedKernel& one = kernels[kernel_for(m)];
  const std::size_t bytes = one.family->reserved_workspace_bytes(*this, one, m);
  return std::max<std::size_t>(bytes, kWorkspaceCounterBytes);
}

std::size_t Plan::workspace_bytes(std::int64_t m) const noexcept {
  if (spec.op() != Op::kGemm) return max_workspace_bytes();
  const GemmSpec& gemm = spec.gemm();
  if (gemm.act_order) return gathered_offset(m) + static_cast<std::size_t>(2 * m * gemm.shape.k);
  const PlannedKernel& one = kernels[kernel_for(m)];
  return one.family->workspace_bytes(*this, one, m);
}

std::size_t Plan::max_workspace_bytes() const noexcept {
  std::size_t most = 0;
  for (const PlannedKernel& one : kernels) {
    const bool gathers = spec.op() == Op::kGemm && spec.gemm().act_order;
    most = std::max(most, one.family->max_workspace_bytes(*this, one));
    if (gathers) most = std::max(most, workspace_bytes(one.size_max));
  }
  return most;
}

}  // namespace heddle

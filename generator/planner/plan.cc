// What a plan answers about its kernels.
#include "heddle/inspect/plan.h"

#include <algorithm>

#include "generator/families/family.h"
#include "generator/operations/kernel_argument.h"

namespace heddle {

std::size_t Plan::kernel_for(std::int64_t size) const noexcept {
  std::size_t index = 0;
  while (index + 1 < kernels.size() && size > kernels[index].size_max) ++index;
  return index;
}

KernelLaunch Plan::launch(std::size_t index, const LaunchSize& size) const noexcept {
  const PlannedKernel& one = kernel(index);
  KernelLaunch launch = one.family->launch(*this, one, size);
  if (launch.shared_bytes < 0) launch.shared_bytes = one.shared_bytes;
  return launch;
}

// Counters and sums come first, at the same places for every M, so that nothing else ever writes to
// the counters.
std::size_t Plan::gathered_offset(std::int64_t m) const noexcept {
  const PlannedKernel& one = kernels[kernel_for(m)];
  const std::size_t bytes = one.family->reserved_workspace_bytes(*this, one, m);
  return std::max<std::size_t>(bytes, kWorkspaceCounterBytes);
}

std::size_t Plan::workspace_bytes(std::int64_t m) const noexcept {
  if (!spec.has_m()) return max_workspace_bytes();
  if (!before.empty()) {
    return gathered_offset(m) + static_cast<std::size_t>(2 * m * spec.weight_shape().k);
  }
  const PlannedKernel& one = kernels[kernel_for(m)];
  return one.family->workspace_bytes(*this, one, m);
}

std::size_t Plan::max_workspace_bytes() const noexcept {
  std::size_t most = 0;
  for (const PlannedKernel& one : kernels) {
    most = std::max(most, one.family->max_workspace_bytes(*this, one));
    if (!before.empty()) most = std::max(most, workspace_bytes(one.size_max));
  }
  return most;
}

std::string_view to_string(KernelArgument argument) noexcept {
  switch (argument) {
    case KernelArgument::kTokenMap:
      return "tokens";
    case KernelArgument::kX:
      return "x";
    case KernelArgument::kWeights:
      return "weights";
    case KernelArgument::kXScales:
      return "x_scales";
    case KernelArgument::kXScaleMap:
      return "token_scales";
    case KernelArgument::kYScales:
      return "y_scales";
    case KernelArgument::kXZeroPoints:
      return "x_zero_points";
    case KernelArgument::kScales:
      return "scales";
    case KernelArgument::kZeros:
      return "zeros";
    case KernelArgument::kY:
      return "y";
    case KernelArgument::kBias:
      return "bias";
    case KernelArgument::kResidual:
      return "residual";
    case KernelArgument::kPreScale:
      return "pre_scale";
    case KernelArgument::kPermutation:
      return "permutation";
    case KernelArgument::kOrder:
      return "order";
    case KernelArgument::kGathered:
      return "gathered";
    case KernelArgument::kW:
      return "w";
    case KernelArgument::kPacked:
      return "packed";
    case KernelArgument::kWorkspace:
      return "workspace";
    case KernelArgument::kShape:
      return "shape";
    case KernelArgument::kM:
      return "m";
    case KernelArgument::kSchedule:
      return "schedule";
    case KernelArgument::kParameters:
      return "parameters";
  }
  return "";
}

}  // namespace heddle

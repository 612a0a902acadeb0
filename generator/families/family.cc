#include "generator/families/family.h"

namespace heddle {

std::int64_t Family::size_step(const PlannedKernel& /*kernel*/) const noexcept { return 0; }

std::size_t Family::workspace_bytes(const Plan& /*plan*/, const PlannedKernel& /*kernel*/,
                                    std::int64_t /*size*/) const noexcept {
  return 0;
}

std::size_t Family::max_workspace_bytes(const Plan& /*plan*/,
                                        const PlannedKernel& /*kernel*/) const noexcept {
  return 0;
}

std::size_t Family::reserved_workspace_bytes(const Plan& /*plan*/, const PlannedKernel& /*kernel*/,
                                             std::int64_t /*size*/) const noexcept {
  return 0;
}

DecodePlan Family::decode_plan(const Plan& plan, const PlannedKernel& /*kernel*/) const {
  return plan.decode;
}

std::string_view to_string(KernelArgument argument) noexcept {
  switch (argument) {
    case KernelArgument::kTokenMap:
      return "tokens";
    case KernelArgument::kX:
      return "x";
    case KernelArgument::kWeights:
      return "weights";
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

#include "generator/families/family.h"

namespace heddle {

std::vector<std::int64_t> Family::steps(const Plan& /*plan*/, const MRange& sizes) const {
  return {sizes.max};
}

const std::vector<CostParameter>& Family::cost_parameters() const noexcept {
  static const std::vector<CostParameter> none;
  return none;
}

std::int64_t Family::most_size(const Plan& /*plan*/, const PlannedKernel& kernel) const noexcept {
  return kernel.size_max;
}

std::int64_t Family::size_step(const PlannedKernel& /*kernel*/) const noexcept { return 0; }

std::size_t Family::workspace_bytes(const Plan& plan, const PlannedKernel& kernel,
                                    std::int64_t size) const noexcept {
  return reserved_workspace_bytes(plan, kernel, size);
}

std::size_t Family::max_workspace_bytes(const Plan& plan,
                                        const PlannedKernel& kernel) const noexcept {
  return reserved_workspace_bytes(plan, kernel, kernel.size_max);
}

std::size_t Family::reserved_workspace_bytes(const Plan& /*plan*/, const PlannedKernel& /*kernel*/,
                                             std::int64_t /*size*/) const noexcept {
  return 0;
}

DecodePlan Family::decode_plan(const Plan& plan, const PlannedKernel& /*kernel*/) const {
  return plan.decode;
}

}  // namespace heddle

#include "runtime/launch/launch_table.h"

#include <algorithm>

#include "generator/families/family.h"

namespace heddle {
namespace {

// A table up to the most that a spec may have would take seconds to fill, and 700 MB.
constexpr std::int64_t kUsualTokens = 65536;

std::int64_t steps_of(std::int64_t size, std::int64_t step) { return (size + step - 1) / step; }

}  // namespace

LaunchTable::LaunchTable(const Plan& plan, std::size_t index)
    : index_(index), step_(plan.kernel(index).family->size_step(plan.kernel(index))) {
  if (step_ == 0) return;
  const PlannedKernel& kernel = plan.kernel(index);
  first_ = steps_of(kernel.size_min, step_);
  const std::int64_t last = steps_of(std::min(kernel.size_max, kUsualTokens), step_);
  for (std::int64_t steps = first_; steps <= last; ++steps) {
    launches_.push_back(plan.launch(index, {std::min(steps * step_, kernel.size_max)}));
  }
}

KernelLaunch LaunchTable::at(const Plan& plan, const LaunchSize& size) const noexcept {
  if (step_ != 0) {
    const auto place = static_cast<std::size_t>(steps_of(size.size, step_) - first_);
    if (place < launches_.size()) return launches_[place];
  }
  return plan.launch(index_, size);
}

}  // namespace heddle

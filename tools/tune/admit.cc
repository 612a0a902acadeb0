#include "tools/tune/admit.h"

#include <fmt/format.h>

#include "generator/families/family.h"
#include "generator/planner/choose.h"

namespace heddle {

std::vector<AdmittedKernel> admit_kernels(TuneDevice& device, const TuneHooks& hooks,
                                          const std::string& cell, const std::vector<Plan>& plans,
                                          std::int64_t m, double last,
                                          std::vector<std::string>* faults) {
  constexpr std::size_t kFewestAdmitted = 2;
  std::vector<AdmittedKernel> admitted;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (hooks.interrupted() || (admitted.size() >= kFewestAdmitted && hooks.seconds() > last))
      break;
    hooks.show(fmt::format("{}: checking candidate {} of {}", cell, i + 1, plans.size()), false);
    const Admission admission = device.admit(plans[i], m);
    if (admission.fault.empty()) {
      admitted.push_back({i, admission.kernel});
      continue;
    }
    const PlannedKernel& kernel = plans[i].kernels.front();
    faults->push_back(fmt::format("{}: {} {}: {}", cell, kernel.family->name(),
                                  kernel_label(kernel), admission.fault));
  }
  return admitted;
}

}  // namespace heddle

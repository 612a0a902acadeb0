// Which decode plans the kernels of a plan have.
#include <algorithm>
#include <utility>

#include "generator/families/family.h"
#include "heddle/inspect/plan.h"

namespace heddle {

std::vector<SharedDecodePlan> decode_plans_of(const Plan& plan) {
  std::vector<SharedDecodePlan> plans;
  for (const PlannedKernel& kernel : plan.kernels) {
    for (DecodePlan& decode : kernel.family->decode_plans(plan, kernel)) {
      if (decode.elements() == 0) continue;  // codes that are multiplied as they are
      // Of one source each has another exponent.
      const auto is_same = [&decode](const DecodePlan& one) {
        return one.result_exponent == decode.result_exponent &&
               one.request.bits == decode.request.bits && one.request.type == decode.request.type &&
               one.request.zero_point == decode.request.zero_point;
      };
      if (std::none_of(plans.begin(), plans.end(), is_same)) plans.emplace_back(std::move(decode));
    }
  }
  // The plan's own first, then those that leave a power of two to the scale, then those that scale,
  // then those to another type.
  std::stable_sort(plans.begin(), plans.end(), [&plan](const DecodePlan& a, const DecodePlan& b) {
    const auto rank = [&plan](const DecodePlan& one) {
      if (one.request.dtype != plan.decode->request.dtype) return 3;
      return one.request.fold_scale ? 2 : one.request.fold_power ? 1 : 0;
    };
    return rank(a) < rank(b);
  });
  return plans;
}

}  // namespace heddle

// One kernel of a plan for each case of a test, where all of them are too many to compile.
#ifndef HEDDLE_TESTS_GPU_KERNEL_ROTATION_H_
#define HEDDLE_TESTS_GPU_KERNEL_ROTATION_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "generator/families/family.h"
#include "heddle/inspect/plan.h"
#include "tests/every_kernel.h"
#include "tests/gpu/rotate.h"

namespace heddle {

// The sizes (M) that some kernel of the plan serves.
inline std::vector<std::int64_t> served_by(const Plan& plan, std::vector<std::int64_t> sizes) {
  std::erase_if(sizes, [&](std::int64_t size) {
    return std::none_of(plan.kernels.begin(), plan.kernels.end(), [&](const PlannedKernel& one) {
      return one.size_min <= size && size <= one.size_max;
    });
  });
  return sizes;
}

// From case to case of a test the kernel changes so that every value of each of the specs'
// properties meets every family of kernels and every size in some case, as far as the value has
// cases enough; not every combination of values does.
class KernelRotation {
 public:
  // The plan with one of its kernels alone; with every_kernel() with each of them.
  std::vector<Plan> plans_of_one(const Plan& plan, const std::vector<std::int64_t>& sizes) {
    std::vector<Plan> plans(plan.kernels.size(), plan);
    for (std::size_t i = 0; i < plans.size(); ++i) plans[i].kernels = {plan.kernels[i]};
    if (every_kernel()) return plans;
    return {plans[next(plans, sizes)]};
  }

 private:
  // Index of the kernel whose family is new to the most of the spec's values; ties go to the most
  // new sizes.
  std::size_t next(const std::vector<Plan>& plans, const std::vector<std::int64_t>& sizes) {
    const nlohmann::json values =
        nlohmann::json::parse(plans.front().spec.canonical_json()).flatten();
    const std::size_t first = calls_++;  // not always the same one where nothing is new
    std::size_t best = 0;
    std::pair<int, int> most{-1, -1};
    std::set<std::string> meetings_of_best;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const Plan& plan = rotate(plans, first + i);
      std::pair<int, int> fresh;
      std::set<std::string> meetings;
      const auto meets = [&](const std::string& meeting) {
        meetings.insert(meeting);
        return met_.count(meeting) == 0 ? 1 : 0;
      };
      for (const auto& [key, value] : values.items()) {
        const std::string one = key + value.dump() + " meets ";
        fresh.first += meets(one + std::string(plan.kernels.front().family->name()));
        for (const std::int64_t size : served_by(plan, sizes)) {
          fresh.second += meets(one + std::to_string(size));
        }
      }
      if (fresh <= most) continue;
      best = (first + i) % plans.size();
      most = fresh;
      meetings_of_best = std::move(meetings);
    }
    met_.merge(meetings_of_best);
    return best;
  }

  std::size_t calls_ = 0;
  std::set<std::string> met_;  // a value of a property, and a family or a size
};

}  // namespace heddle

#endif  // HEDDLE_TESTS_GPU_KERNEL_ROTATION_H_

#include "tools/tune/shortlist.h"

#include <algorithm>
#include <set>
#include <utility>

namespace heddle {
namespace {

// Each family's first, in their order.
std::vector<std::size_t> firsts_of_families(const std::vector<Candidate>& candidates) {
  std::vector<std::size_t> firsts;
  std::set<const Family*> seen;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (seen.insert(candidates[i].kernel.family).second) firsts.push_back(i);
  }
  return firsts;
}

}  // namespace

std::vector<Candidate> shortlist(const std::vector<Candidate>& candidates, std::size_t most) {
  std::vector<std::size_t> places = firsts_of_families(candidates);
  if (places.size() > most) places.resize(most);
  for (std::size_t i = 0; i < candidates.size() && places.size() < most; ++i) {
    if (std::find(places.begin(), places.end(), i) == places.end()) places.push_back(i);
  }
  std::sort(places.begin(), places.end());
  std::vector<Candidate> chosen;
  chosen.reserve(places.size());
  for (const std::size_t place : places) chosen.push_back(candidates[place]);
  return chosen;
}

Plan plan_of_candidate(const Plan& plan, const Candidate& candidate) {
  PlannedKernel kernel = candidate.kernel;
  kernel.size_min = plan.spec.gemm().shape.m_min;
  Plan one = with_range(plan, {kernel.size_min, kernel.size_max});
  const std::string& name = plan.kernels[plan.kernel_for(kernel.size_max)].name;
  one.kernels = {planned_kernel(plan, std::move(kernel), name)};
  return one;
}

}  // namespace heddle

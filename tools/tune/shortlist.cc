#include "tools/tune/shortlist.h"

#include <algorithm>
#include <set>
#include <utility>

namespace heddle {
namespace {

// Each family's first, in their order.
std::vector<std::size_t> firsts_of_families(const std::vector<Candidate>& candidates) {
  std::vector<std::size_t> firsts;
  std::set<const GemmFamily*> seen;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (seen.insert(candidates[i].family).second) firsts.push_back(i);
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
  GemmVariant variant = candidate.variant;
  variant.m_min = plan.spec.gemm().shape.m_min;
  variant.name = plan.kernels[plan.kernel_for(variant.m_max)].name;
  Plan one = with_range(plan, {variant.m_min, variant.m_max});
  one.kernels = {candidate.family->kernel(plan, variant)};
  return one;
}

}  // namespace heddle

#include "generator/tuned/families.h"

#include <algorithm>

#include "generator/families/registry.h"
#include "heddle/tuned.h"

namespace heddle {

std::vector<std::string_view> tuned_family_names() {
  std::vector<std::string_view> names;
  for (const GemmFamily* family : gemm_families()) names.push_back(family->name());
  return names;
}

TunedFamilyCosts tuned_family_costs(std::string_view name) {
  const auto& all = gemm_families();
  const GemmFamily& family = **std::find_if(
      all.begin(), all.end(), [name](const GemmFamily* one) { return one->name() == name; });
  return {family.cost_version(), family.cost_parameters()};
}

std::map<std::string, int> tuned_cost_versions() {
  std::map<std::string, int> versions;
  for (const GemmFamily* family : gemm_families()) {
    versions.emplace(family->name(), family->cost_version());
  }
  return versions;
}

std::map<std::string, int> tuned_family_versions() {
  std::map<std::string, int> versions;
  for (const GemmFamily* family : gemm_families()) {
    versions.emplace(family->name(), family->version());
  }
  return versions;
}

}  // namespace heddle

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

CostSlots tuned_cost_slots(std::string_view family) {
  const auto& all = gemm_families();
  const auto found = std::find_if(
      all.begin(), all.end(), [family](const GemmFamily* one) { return one->name() == family; });
  CostSlots slots{(*found)->cost_version(), {}};
  for (const CostParameter& one : (*found)->cost_parameters()) {
    slots.slots.push_back({one.name, range_of(one)});
  }
  return slots;
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

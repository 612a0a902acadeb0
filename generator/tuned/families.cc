#include "generator/tuned/families.h"

#include "generator/families/registry.h"
#include "heddle/tuned.h"

namespace heddle {

std::vector<std::string_view> tuned_family_names() {
  std::vector<std::string_view> names;
  for (const GemmFamily* family : gemm_families()) names.push_back(family->name());
  return names;
}

std::map<std::string, int> tuned_family_versions() {
  std::map<std::string, int> versions;
  for (const GemmFamily* family : gemm_families()) {
    versions.emplace(family->name(), family->version());
  }
  return versions;
}

}  // namespace heddle

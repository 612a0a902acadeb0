#include "generator/model/module_rules.h"

#include <algorithm>

namespace heddle {

void ModuleRules::add_name(std::string module, int value) {
  if (names_.empty()) names_place_ = rules_.size();
  names_.emplace_back(std::move(module), value);
}

void ModuleRules::finish() {
  // If two entries have one name, the first one counts, as with two rules.
  std::stable_sort(names_.begin(), names_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
}

const int* ModuleRules::find_name(std::string_view module) const {
  while (!module.empty()) {
    const auto found = std::lower_bound(
        names_.begin(), names_.end(), module,
        [](const auto& entry, std::string_view text) { return entry.first < text; });
    if (found != names_.end() && found->first == module) return &found->second;
    const std::size_t dot = module.rfind('.');
    module = module.substr(0, dot == module.npos ? 0 : dot);
  }
  return nullptr;
}

int ModuleRules::find(std::string_view module) const {
  for (std::size_t i = 0; i <= rules_.size(); ++i) {
    if (i == names_place_) {
      if (const int* value = find_name(module)) return *value;
    }
    if (i < rules_.size() && rules_[i].pattern.matches(module)) return rules_[i].value;
  }
  return kNone;
}

}  // namespace heddle

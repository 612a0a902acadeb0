// ModuleRules: an ordered list of patterns with a value each; the first one that matches counts.
#ifndef HEDDLE_GENERATOR_MODEL_MODULE_RULES_H_
#define HEDDLE_GENERATOR_MODEL_MODULE_RULES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/model/module_pattern.h"

namespace heddle {

// Immutable once it is complete: any thread may call find() then.
class ModuleRules {
 public:
  static constexpr int kNone = -1;

  void add(ModulePattern pattern, int value) { rules_.push_back({std::move(pattern), value}); }
  // A module and all inside of it. A config may name 20,000 of them, so they are looked up, at the
  // place in the order where the first of them was added. The innermost named module counts.
  void add_name(std::string module, int value);
  // Before find(), after the last name.
  void finish();

  // The value of the first rule that matches `module`; kNone where there is none.
  int find(std::string_view module) const;

 private:
  struct Rule {
    ModulePattern pattern;
    int value;
  };

  // Null where neither the module nor one that it is inside of has a name here.
  const int* find_name(std::string_view module) const;

  std::vector<Rule> rules_;
  std::vector<std::pair<std::string, int>> names_;  // ascending after finish()
  std::size_t names_place_ = 0;                     // before the rule of this index
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_MODULE_RULES_H_

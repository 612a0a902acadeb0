// ModuleRules: an ordered list of patterns with a value each; the first one that matches counts.
#ifndef HEDDLE_GENERATOR_MODEL_MODULE_RULES_H_
#define HEDDLE_GENERATOR_MODEL_MODULE_RULES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/model/module_pattern.h"

namespace heddle {

// Immutable once it is complete: any thread may call find() then. Copies share what find() has
// found and the costs of each rule, so neither a copy nor what it was made of may be changed any
// more.
class ModuleRules {
 public:
  static constexpr int kNone = -1;

  // Rules that share it, of one config, have one sum of work.
  using Work = std::shared_ptr<std::atomic<std::uint64_t>>;

  explicit ModuleRules(Work work = std::make_shared<std::atomic<std::uint64_t>>(0));
  const Work& work() const noexcept { return work_; }

  // `pointer` is the pattern's place in the config, for the error that find() throws, as this does.
  void add(ModulePattern pattern, int value, std::string pointer = {});
  // A module and all inside of it. A config may name 20,000 of them, so they are looked up, at the
  // place in the order where the first of them was added. The innermost named module counts.
  void add_name(std::string module, int value);
  // Before find(), after the last name.
  void finish();

  // The value of the first rule that matches `module`; kNone where there is none. A module that was
  // asked for before costs nothing. Throws Error(kUnsupported, "model.quantization") that names the
  // most costly pattern once there was more than kMostMatchingWork (regex_program.h).
  int find(std::string_view module) const;

 private:
  struct Rule {
    ModulePattern pattern;
    int value;
    std::string pointer;
  };
  // The first rule with each text.
  using Lookup = std::map<std::string, std::size_t, std::less<>>;
  struct Known;

  // Null where neither the module nor one that it is inside of has a name here.
  const int* find_name(std::string_view module) const;
  int search(std::string_view module) const;
  std::size_t first_looked_up(std::string_view module) const;
  void spend(std::size_t rule, std::uint64_t work) const;
  [[noreturn]] void refuse_work() const;

  std::vector<Rule> rules_;
  std::vector<std::size_t> searched_;  // rules that are tried one by one
  Lookup exact_;                       // the others
  Lookup inside_;
  Lookup components_;
  std::vector<std::pair<std::string, int>> names_;  // ascending after finish()
  std::size_t names_place_ = 0;                     // before the rule of this index
  Work work_;
  std::shared_ptr<Known> known_;
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_MODULE_RULES_H_

#include "generator/model/module_rules.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "generator/model/regex_program.h"
#include "generator/spec/document.h"
#include "heddle/error.h"

namespace heddle {
namespace {

// In the unit of kMostMatchingWork: some comparisons of names down a tree of a few levels.
constexpr std::uint64_t kWorkOfLookup = 40;

}  // namespace

// What find() has found, and at which cost.
struct ModuleRules::Known {
  std::mutex mutex;
  std::unordered_map<std::string, int> values;
  std::vector<std::uint64_t> work;  // of each rule
};

ModuleRules::ModuleRules(Work work) : work_(std::move(work)), known_(std::make_shared<Known>()) {}

void ModuleRules::add(ModulePattern pattern, int value, std::string pointer) {
  using Kind = ModulePattern::Kind;
  const std::size_t number = rules_.size();
  rules_.push_back({std::move(pattern), value, std::move(pointer)});
  known_->work.push_back(0);
  const ModulePattern& added = rules_.back().pattern;
  switch (added.kind()) {
    case Kind::kExact:
      exact_.try_emplace(added.text(), number);
      break;
    case Kind::kName:
      inside_.try_emplace(added.text(), number);
      break;
    case Kind::kComponents:
      components_.try_emplace(added.text(), number);
      break;
    default:
      searched_.push_back(number);
  }
  spend(number, added.work_to_begin());
}

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

// The first of the rules that need not be tried one by one; rules_.size() where none matches.
std::size_t ModuleRules::first_looked_up(std::string_view module) const {
  std::size_t first = rules_.size();
  if (exact_.empty() && inside_.empty() && components_.empty()) return first;
  std::uint64_t work = 0;
  const auto look_up = [&](const Lookup& lookup, std::string_view text) {
    if (lookup.empty()) return;
    work += kWorkOfLookup;
    const auto found = lookup.find(text);
    if (found != lookup.end()) first = std::min(first, found->second);
  };
  look_up(exact_, module);
  for (std::size_t begin = 0; begin <= module.size(); ++begin) {
    if (begin > 0 && module[begin - 1] != '.') continue;
    if (begin > 0 && components_.empty()) break;  // inside_ has texts from the start on
    for (std::size_t end = begin; end <= module.size(); ++end) {
      if (end < module.size() && module[end] != '.') continue;
      const std::string_view text = module.substr(begin, end - begin);
      if (begin == 0) look_up(inside_, text);
      look_up(components_, text);
    }
  }
  if (first < rules_.size()) known_->work[first] += work;
  if ((*work_ += work) > kMostMatchingWork) refuse_work();
  return first;
}

int ModuleRules::search(std::string_view module) const {
  std::size_t first = first_looked_up(module);
  bool names_asked = names_.empty();
  for (const std::size_t number : searched_) {
    if (number >= first) break;
    if (!names_asked && number >= names_place_) {
      if (const int* value = find_name(module)) return *value;
      names_asked = true;
    }
    std::uint64_t work = 0;
    const bool matches = rules_[number].pattern.matches(module, &work);
    spend(number, work);
    if (matches) first = number;
  }
  if (!names_asked && names_place_ <= first) {
    if (const int* value = find_name(module)) return *value;
  }
  return first < rules_.size() ? rules_[first].value : kNone;
}

int ModuleRules::find(std::string_view module) const {
  const std::lock_guard guard(known_->mutex);
  std::string name(module);
  const auto known = known_->values.find(name);
  if (known != known_->values.end()) return known->second;
  const int value = search(module);
  known_->values.emplace(std::move(name), value);
  return value;
}

void ModuleRules::spend(std::size_t rule, std::uint64_t work) const {
  known_->work[rule] += work;
  if ((*work_ += work) > kMostMatchingWork) refuse_work();
}

// Rules without a place in the config, as that of all other modules, are no patterns of it.
void ModuleRules::refuse_work() const {
  std::size_t most = 0;
  for (std::size_t i = 1; i < rules_.size(); ++i) {
    const bool is_better = rules_[i].pointer.empty() == rules_[most].pointer.empty()
                               ? known_->work[i] > known_->work[most]
                               : rules_[most].pointer.empty();
    if (is_better) most = i;
  }
  const Rule& rule = rules_[most];
  throw Error(
      ErrorCategory::kUnsupported, "model.quantization",
      std::vector<Problem>{
          {rule.pointer, "finding the modules that the patterns mean takes too long, this one most",
           '"' + excerpt(rule.pattern.text()) + '"',
           "fewer or simpler patterns: counted repeats and repeats in repeats cost the most", ""}});
}

}  // namespace heddle

#include "tools/heddle/cache/unused_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generator/planner/tuned_choice.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/options.h"

namespace heddle {

std::vector<std::string> unused_entries(const Plan& plan, const TunedTables& tables) {
  if (!is_gemm(plan.spec)) return {};
  return unused_of_table(plan, tables.of(plan.target));
}

void add_unused(const Plan& plan, const TunedTables& tables, std::string_view name,
                std::vector<std::string>* sentences) {
  for (std::string& one : unused_entries(plan, tables)) {
    std::string sentence = name.empty() ? std::move(one) : fmt::format("{}: {}", name, one);
    if (std::find(sentences->begin(), sentences->end(), sentence) == sentences->end()) {
      sentences->push_back(std::move(sentence));
    }
  }
}

void print_unused(const std::vector<std::string>& sentences) {
  for (const std::string& one : sentences) print_problem("note: " + one);
}

}  // namespace heddle

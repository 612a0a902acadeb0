#include "generator/spec/findings.h"

#include <algorithm>
#include <utility>

namespace heddle {

void Findings::add(std::string_view what, Problem problem) {
  // Several readers of one field find the same.
  const auto is_same = [&](const Problem& known) {
    return known.pointer == problem.pointer && known.message == problem.message &&
           known.value == problem.value && known.allowed == problem.allowed;
  };
  if (!full() && std::any_of(problems_.begin(), problems_.end(), is_same)) return;
  const std::string code = area_ + "." + std::string(what);
  if (problems_.empty()) {
    code_ = code;
  } else if (code_ != code) {
    code_ = area_ + ".invalid";
  }
  if (problems_.size() == kMostProblems) {
    ++dropped_;
    return;
  }
  problems_.push_back(std::move(problem));
}

std::vector<Problem> Findings::problems() const {
  std::vector<Problem> problems = problems_;
  if (dropped_ > 0) {
    problems.push_back({"", "and " + std::to_string(dropped_) + " more problems", "", "", ""});
  }
  return problems;
}

void Findings::throw_if_any() const {
  if (!problems_.empty()) throw Error(ErrorCategory::kSpec, code_, problems());
}

}  // namespace heddle

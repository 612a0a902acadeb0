#include "checkpoint/plan/unconverted.h"

#include <fmt/format.h>

#include "generator/spec/document.h"

namespace heddle {
namespace {

constexpr std::size_t kMostProblems = 50;

}  // namespace

void Unconverted::add(const UnknownTensors& tensors) {
  problems_.push_back({excerpt(tensors.name), tensors.reason, "", "", ""});
}

void Unconverted::add(const Error& error) {
  if (error.category() != ErrorCategory::kUnsupported) throw error;
  problems_.insert(problems_.end(), error.problems().begin(), error.problems().end());
}

void Unconverted::throw_if_any() const {
  if (problems_.empty()) return;
  // With the number of the others and the hint these are as many lines as a message has.
  const std::size_t shown =
      problems_.size() <= kMostProblems ? problems_.size() : kMostProblems - 1;
  std::vector<Problem> problems(problems_.begin(),
                                problems_.begin() + static_cast<std::ptrdiff_t>(shown));
  if (shown < problems_.size()) {
    problems.push_back(
        {"", fmt::format("and {} more that cannot be converted", problems_.size() - shown), "", "",
         ""});
  }
  problems.push_back({"",
                      "--keep PATTERN (CheckpointOptions::choice) takes such tensors as they are, "
                      "--skip PATTERN leaves them out",
                      "", "", ""});
  throw Error(ErrorCategory::kUnsupported, "checkpoint.not_converted", std::move(problems));
}

}  // namespace heddle

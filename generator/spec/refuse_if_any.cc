#include "generator/spec/refuse_if_any.h"

#include <utility>

namespace heddle {

void refuse_if_any(const Spec& spec, std::vector<Problem> problems) {
  if (problems.empty()) return;
  if (!spec.name().empty()) {
    for (Problem& problem : problems) problem.message = spec.name() + ": " + problem.message;
  }
  throw Error(ErrorCategory::kUnsupported, "plan.unsupported", std::move(problems));
}

}  // namespace heddle

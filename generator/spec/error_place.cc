#include "generator/spec/error_place.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace heddle {

Error at_place(std::string_view place, const Error& error) {
  std::vector<Problem> problems = error.problems();
  for (Problem& problem : problems) {
    problem.pointer = problem.pointer.empty() ? std::string(place)
                                              : fmt::format("{}: {}", place, problem.pointer);
  }
  return {error.category(), error.code(), std::move(problems), error.log()};
}

}  // namespace heddle

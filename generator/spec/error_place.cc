#include "generator/spec/error_place.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

std::vector<std::string> problem_lines(const Error& error, const std::string& spec_name) {
  std::vector<std::string> lines;
  for (Problem problem : error.problems()) {
    if (problem.message.starts_with(spec_name + ": "))
      problem.message.erase(0, spec_name.size() + 2);
    const Error alone(error.category(), error.code(), std::vector<Problem>{std::move(problem)});
    lines.emplace_back(alone.what());
  }
  return lines;
}

std::string problem_line(const Error& error) {
  return fmt::format("{}", fmt::join(problem_lines(error, ""), "; "));
}

}  // namespace heddle

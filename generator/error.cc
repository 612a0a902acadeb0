#include "heddle/error.h"

#include <utility>

namespace heddle {
namespace {

std::string one_line(const Problem& problem) {
  std::string line;
  if (!problem.pointer.empty()) line += problem.pointer + ": ";
  line += problem.message;
  if (!problem.value.empty()) line += ", got " + problem.value;
  if (!problem.allowed.empty()) line += "; allowed: " + problem.allowed;
  if (!problem.hint.empty()) line += " (" + problem.hint + ")";
  return line;
}

std::string all_lines(const std::vector<Problem>& problems) {
  std::string text;
  for (const Problem& problem : problems) {
    if (!text.empty()) text += '\n';
    text += one_line(problem);
  }
  return text;
}

}  // namespace

Error::Error(ErrorCategory category, std::string code, std::vector<Problem> problems,
             std::string log)
    : std::runtime_error(all_lines(problems)),
      category_(category),
      code_(std::move(code)),
      problems_(std::move(problems)),
      log_(std::move(log)) {}

Error::Error(ErrorCategory category, std::string code, std::string message, std::string log)
    : Error(category, std::move(code), std::vector<Problem>{{"", std::move(message), "", "", ""}},
            std::move(log)) {}

Error::~Error() = default;

}  // namespace heddle

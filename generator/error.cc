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

// A list of inputs may have a problem in each of them. All are kept for the program, but a message
// shows this many to a person, and how many follow.
constexpr std::size_t kMostLines = 50;

std::string all_lines(const std::vector<Problem>& problems) {
  // A line that says "and 1 more" takes as much room as that one.
  const std::size_t shown = problems.size() <= kMostLines + 1 ? problems.size() : kMostLines;
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    if (!text.empty()) text += '\n';
    text += one_line(problems[i]);
  }
  if (const std::size_t more = problems.size() - shown; more > 0) {
    text += "\nand " + std::to_string(more) + " more problems";
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

// How failures reach the person: one line on stderr for each problem, and an exit code.
#ifndef HEDDLE_TOOLS_HEDDLE_SHARED_ERRORS_H_
#define HEDDLE_TOOLS_HEDDLE_SHARED_ERRORS_H_

#include <string>
#include <string_view>

#include "generator/spec/error_place.h"
#include "heddle/error.h"

namespace heddle {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;  // the work failed
inline constexpr int kExitUsage = 2;   // the command line or an input is wrong

// The category's exit code.
int exit_code(ErrorCategory category) noexcept;
// As above, but for an output that was begun and not completed ("....unfinished"), as on a full
// disk: the work failed.
int exit_code(const Error& error) noexcept;

// "heddle: <message>\n" on stderr. The message is made printable() and a very long one is cut, so
// that no input can disturb the terminal.
void print_problem(std::string_view message);

// Prints every problem of the error and, for a compile error, the compiler's log. Returns the exit
// code.
int report(const Error& error);

// The text with its line breaks replaced by "; ".
std::string one_line(std::string_view text);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_SHARED_ERRORS_H_

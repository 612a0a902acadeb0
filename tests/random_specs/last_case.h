// The case at hand, for the handlers of signals: a crash or a hang must name what it was with.
#ifndef HEDDLE_TESTS_RANDOM_SPECS_LAST_CASE_H_
#define HEDDLE_TESTS_RANDOM_SPECS_LAST_CASE_H_

#include <string_view>

namespace heddle {

// From now on a signal that ends the process, or a case that takes longer than `seconds`, prints
// the last case to stderr and exits with 1.
void watch_cases(unsigned seconds);

// One line, which is kept until the next call.
void note_case(std::string_view line) noexcept;

}  // namespace heddle

#endif  // HEDDLE_TESTS_RANDOM_SPECS_LAST_CASE_H_

// How long the tests of endurance take, and how they tell their figures.
#ifndef HEDDLE_TESTS_CACHE_TORTURE_H_
#define HEDDLE_TESTS_CACHE_TORTURE_H_

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace heddle::testing {

// tools/torture sets HEDDLE_TORTURE and gets the counts of docs/security-and-reliability.md; every
// other run gets the short ones.
inline bool torture() { return std::getenv("HEDDLE_TORTURE") != nullptr; }
inline int rounds(int usual, int torturing) { return torture() ? torturing : usual; }

// One line that tools/torture collects.
inline void tell_figure(const std::string& name, const std::string& value) {
  std::fputs(fmt::format("figure | {} | {}\n", name, value).c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace heddle::testing

#endif  // HEDDLE_TESTS_CACHE_TORTURE_H_

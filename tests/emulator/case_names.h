// The cases of a list as the parameters of a test.
#ifndef HEDDLE_TESTS_EMULATOR_CASE_NAMES_H_
#define HEDDLE_TESTS_EMULATOR_CASE_NAMES_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace heddle {

template <auto kCases>
auto numbers_of() {
  return ::testing::Range<std::size_t>(0, kCases().size());
}

template <auto kCases>
std::string name_of(const ::testing::TestParamInfo<std::size_t>& info) {
  return kCases()[info.param].name;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_CASE_NAMES_H_

// For tests of what launches say of the sizes of their memory.
#ifndef HEDDLE_TESTS_RUNTIME_LAUNCH_SIZE_CHECKS_H_
#define HEDDLE_TESTS_RUNTIME_LAUNCH_SIZE_CHECKS_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/error.h"

namespace heddle::testing {

using Sizes = std::vector<std::pair<std::string, std::size_t*>>;

// The text of the refusal, "" if there is none.
inline std::string text_of(const std::function<void()>& check) {
  try {
    check();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "launch.too_small") << error.what();
    return error.what();
  }
  return {};
}

// `sizes`: the bytes of all memory of the arguments that `check` looks at, by its name.
inline void expect_each_is_needed(const std::function<void()>& check, const Sizes& sizes) {
  ASSERT_EQ(text_of(check), "");
  for (const auto& [name, bytes] : sizes) {
    const std::string needed = std::to_string(*bytes);
    --*bytes;
    EXPECT_EQ(text_of(check),
              name + " has " + std::to_string(*bytes) + " bytes and needs " + needed);
    *bytes = 0;
    EXPECT_NE(text_of(check), "") << name;
    *bytes = PTRDIFF_MAX;
    EXPECT_EQ(text_of(check), "") << name;
    *bytes = std::stoull(needed);
  }
}

}  // namespace heddle::testing

#endif  // HEDDLE_TESTS_RUNTIME_LAUNCH_SIZE_CHECKS_H_

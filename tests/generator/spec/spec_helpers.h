// What the spec tests share.
#ifndef HEDDLE_TESTS_GENERATOR_SPEC_SPEC_HELPERS_H_
#define HEDDLE_TESTS_GENERATOR_SPEC_SPEC_HELPERS_H_

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/error.h"
#include "heddle/spec.h"

namespace heddle {

inline constexpr std::string_view kSmallSpec =
    R"({"heddle":1,"op":"gemm","shape":{"n":64,"k":128},"weight":{"bits":4},)"
    R"("activation":{"dtype":"fp16"}})";

// kSmallSpec with the first `from` replaced.
inline std::string changed(std::string_view from, std::string_view to) {
  std::string text(kSmallSpec);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

// The error that Spec::parse throws; a failure of the test if it throws none.
inline Error parse_error(std::string_view json) {
  try {
    Spec::parse(json);
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kSpec);
    return error;
  }
  ADD_FAILURE() << "accepted: " << json.substr(0, 200);
  return Error(ErrorCategory::kInternal, "none", "");
}

inline std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_GENERATOR_SPEC_SPEC_HELPERS_H_

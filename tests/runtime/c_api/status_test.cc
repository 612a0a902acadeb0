// From exceptions to the C API's statuses.
#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

#include "runtime/c_api/call.h"

namespace heddle {
namespace {

using c_api::guarded;

TEST(CApiStatus, EveryCategoryHasItsOwn) {
  const std::map<ErrorCategory, heddle_status> statuses = {
      {ErrorCategory::kSpec, HEDDLE_ERROR_SPEC},
      {ErrorCategory::kUnsupported, HEDDLE_ERROR_UNSUPPORTED},
      {ErrorCategory::kUsage, HEDDLE_ERROR_USAGE},
      {ErrorCategory::kFile, HEDDLE_ERROR_FILE},
      {ErrorCategory::kCompile, HEDDLE_ERROR_COMPILE},
      {ErrorCategory::kDriver, HEDDLE_ERROR_DRIVER},
      {ErrorCategory::kInternal, HEDDLE_ERROR_INTERNAL},
      {ErrorCategory::kCancelled, HEDDLE_ERROR_CANCELLED},
      {ErrorCategory::kMissing, HEDDLE_ERROR_MISSING},
  };
  for (const auto& [category, status] : statuses) {
    const Error error(category, "some.code", "in words", "a log");
    EXPECT_EQ(guarded([&] { throw error; }), status);
    EXPECT_STREQ(heddle_error_code(), "some.code");
    EXPECT_STREQ(heddle_error_message(), "in words");
    EXPECT_STREQ(heddle_error_log(), "a log");
  }
}

TEST(CApiStatus, NothingElseLeavesTheLibraryEither) {
  EXPECT_EQ(guarded([] { throw std::bad_alloc(); }), HEDDLE_ERROR_OUT_OF_MEMORY);
  EXPECT_STREQ(heddle_error_code(), "memory");
  EXPECT_EQ(guarded([] { throw std::runtime_error("of another kind"); }), HEDDLE_ERROR_INTERNAL);
  EXPECT_STREQ(heddle_error_message(), "of another kind");
  EXPECT_STREQ(heddle_error_log(), "") << "of the failure before";
  EXPECT_EQ(guarded([] { throw 1; }), HEDDLE_ERROR_INTERNAL);
  EXPECT_STREQ(heddle_error_code(), "internal");
}

TEST(CApiStatus, SuccessLeavesTheLastErrorAlone) {
  guarded([] { throw Error(ErrorCategory::kUsage, "some.code", "in words"); });
  EXPECT_EQ(guarded([] {}), HEDDLE_OK);
  EXPECT_STREQ(heddle_error_code(), "some.code");
  c_api::keep_message("no failure");
  EXPECT_STREQ(heddle_error_code(), "");
  EXPECT_STREQ(heddle_error_message(), "no failure");
}

}  // namespace
}  // namespace heddle

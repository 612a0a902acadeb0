#include "runtime/log_threshold.h"

#include <gtest/gtest.h>

#include <string>

#include "heddle/error.h"
#include "heddle/inspect/source.h"
#include "tests/temporary_folder.h"

namespace heddle {
namespace {

Environment with_level(const char* value) {
  return [value](const char* name) {
    return std::string_view(name) == "HEDDLE_LOG" ? value : nullptr;
  };
}

TEST(LogThreshold, IsTheVariables) {
  EXPECT_EQ(log_threshold(LogThreshold::kWarning, with_level(nullptr)), LogThreshold::kWarning);
  EXPECT_EQ(log_threshold(LogThreshold::kWarning, with_level("")), LogThreshold::kWarning);
  EXPECT_EQ(log_threshold(LogThreshold::kWarning, with_level("debug")), LogThreshold::kDebug);
  EXPECT_EQ(log_threshold(LogThreshold::kWarning, with_level("info")), LogThreshold::kInfo);
  EXPECT_EQ(log_threshold(LogThreshold::kInfo, with_level("warning")), LogThreshold::kWarning);
  EXPECT_EQ(log_threshold(LogThreshold::kInfo, with_level("error")), LogThreshold::kError);
  EXPECT_EQ(log_threshold(LogThreshold::kInfo, with_level("off")), LogThreshold::kOff);
}

TEST(LogThreshold, NamesAnUnknownLevel) {
  for (const char* value : {"wraning", "INFO", "1", "warning "}) {
    try {
      log_threshold(LogThreshold::kOff, with_level(value));
      ADD_FAILURE() << value;
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), ErrorCategory::kUsage);
      EXPECT_EQ(error.code(), "log.level");
      const std::string what = error.what();
      EXPECT_NE(what.find("HEDDLE_LOG"), what.npos) << what;
      EXPECT_NE(what.find(value), what.npos) << what;
      EXPECT_NE(what.find("\"debug\", \"info\", \"warning\", \"error\" or \"off\""), what.npos)
          << what;
    }
  }
}

TEST(LogThreshold, LetsThroughWhatIsAsSerious) {
  EXPECT_TRUE(is_told(LogLevel::kDebug, LogThreshold::kDebug));
  EXPECT_FALSE(is_told(LogLevel::kInfo, LogThreshold::kWarning));
  EXPECT_TRUE(is_told(LogLevel::kError, LogThreshold::kError));
  EXPECT_FALSE(is_told(LogLevel::kError, LogThreshold::kOff));
}

TEST(DefaultLog, IsSilentUnlessAsked) {
  EXPECT_FALSE(default_log(with_level(nullptr)));
  EXPECT_FALSE(default_log(with_level("off")));
}

TEST(DefaultLog, WritesALineForEachMessage) {
  const LogCallback log = default_log(with_level("info"));
  ASSERT_TRUE(log);
  testing::internal::CaptureStderr();
  log(LogLevel::kDebug, "unheard");
  log(LogLevel::kInfo, "compiled one");
  log(LogLevel::kWarning, "two\nlines\x1b[31m");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "heddle: info: compiled one\nheddle: warning: two lines [31m\n");
}

// What the C API and Python share.
TEST(DefaultLog, IsThatOfARuntimeWithoutACallback) {
  const TemporaryFolder folder;
  RuntimeOptions options;
  options.cache_dir = folder.write("file", "no folder");
  Source source;
  source.kernel_name = source.file_name = source.text = "kernel";
  source.arch = "sm_80";
  const auto told = [&options, &source](const char* level) {
    const ScopedEnvironment environment("HEDDLE_LOG", level);
    testing::internal::CaptureStderr();
    Runtime(options).find({source});
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(told(nullptr), "");
  EXPECT_NE(told("warning").find("heddle: warning: "), std::string::npos);
  EXPECT_EQ(told("error"), "");
  const ScopedEnvironment environment("HEDDLE_LOG", "loud");
  EXPECT_THROW(Runtime{}, Error);
}

}  // namespace
}  // namespace heddle

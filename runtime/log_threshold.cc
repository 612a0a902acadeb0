#include "runtime/log_threshold.h"

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "generator/spec/document.h"
#include "generator/spec/in_quotes.h"
#include "generator/spec/near_miss.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::array<std::string_view, 5> kLevelWords = {"debug", "info", "warning", "error",
                                                         "off"};

// One line, whatever a kernel's name or a path holds; bytes beyond ASCII are left to the terminal.
void write_line(LogLevel level, std::string_view text) {
  std::string line = "heddle: ";
  line.append(kLevelWords[static_cast<std::size_t>(level)]).append(": ");
  for (const char c : text) line += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? ' ' : c;
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

static_assert(static_cast<int>(LogLevel::kDebug) == static_cast<int>(LogThreshold::kDebug) &&
              static_cast<int>(LogLevel::kInfo) == static_cast<int>(LogThreshold::kInfo) &&
              static_cast<int>(LogLevel::kWarning) == static_cast<int>(LogThreshold::kWarning) &&
              static_cast<int>(LogLevel::kError) == static_cast<int>(LogThreshold::kError));

bool is_told(LogLevel level, LogThreshold threshold) noexcept {
  return static_cast<int>(level) >= static_cast<int>(threshold);
}

LogThreshold log_threshold(LogThreshold otherwise, const Environment& environment) {
  const char* const value = environment("HEDDLE_LOG");
  if (value == nullptr || *value == '\0') return otherwise;
  std::string allowed;
  for (std::size_t i = 0; i < kLevelWords.size(); ++i) {
    if (kLevelWords[i] == value) return static_cast<LogThreshold>(i);
    allowed += i == 0 ? "" : i + 1 == kLevelWords.size() ? " or " : ", ";
    allowed += in_quotes(kLevelWords[i]);
  }
  throw Error(ErrorCategory::kUsage, "log.level",
              std::vector<Problem>{
                  {"", "$HEDDLE_LOG names no level", in_quotes(excerpt(value)), std::move(allowed),
                   did_you_mean(value, {kLevelWords.begin(), kLevelWords.end()})}});
}

LogCallback default_log(const Environment& environment) {
  const LogThreshold threshold = log_threshold(LogThreshold::kOff, environment);
  if (threshold == LogThreshold::kOff) return {};
  return [threshold](LogLevel level, std::string_view text) {
    if (is_told(level, threshold)) write_line(level, text);
  };
}

}  // namespace heddle

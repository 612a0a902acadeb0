#include "tools/heddle/shared/errors.h"

#include <cstdio>
#include <vector>

#include "tools/heddle/shared/printable.h"

namespace heddle {
namespace {

constexpr std::size_t kMaxLine = 2000;

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return lines;
}

}  // namespace

int exit_code(ErrorCategory category) noexcept {
  switch (category) {
    case ErrorCategory::kSpec:
    case ErrorCategory::kUsage:
    case ErrorCategory::kFile:
      return kExitUsage;
    case ErrorCategory::kUnsupported:
    case ErrorCategory::kCompile:
    case ErrorCategory::kDriver:
    case ErrorCategory::kInternal:
    case ErrorCategory::kMissing:
    case ErrorCategory::kCancelled:
      break;
  }
  return kExitFailed;
}

int exit_code(const Error& error) noexcept {
  const bool is_unfinished = std::string_view(error.code()).ends_with(".unfinished");
  return is_unfinished ? kExitFailed : exit_code(error.category());
}

void print_problem(std::string_view message) {
  const std::string_view shown = cut_text(message, kMaxLine);
  const std::string line =
      "heddle: " + printable(shown) + (shown.size() < message.size() ? "...\n" : "\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

int report(const Error& error) {
  for (const std::string_view line : split_lines(error.what())) print_problem(line);
  const std::string log = printable_lines(error.log());
  std::fwrite(log.data(), 1, log.size(), stderr);
  if (!log.empty() && log.back() != '\n') std::fputc('\n', stderr);
  return exit_code(error);
}

std::string one_line(std::string_view text) {
  std::string out;
  for (const std::string_view line : split_lines(text)) {
    if (line.empty()) continue;
    if (!out.empty()) out += "; ";
    out += line;
  }
  return out;
}

}  // namespace heddle

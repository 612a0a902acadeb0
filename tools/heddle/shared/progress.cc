#include "tools/heddle/shared/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "tools/heddle/shared/printable.h"

namespace heddle {
namespace {

constexpr std::string_view kClearLine = "\r\033[K";

void write_error_stream(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

// A line that wraps could not be rewritten.
std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return 79;
  return size.ws_col - 1U;
}

}  // namespace

Progress::Progress(bool enabled) : enabled_(enabled), terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (enabled_ && terminal_) std::fwrite(kClearLine.data(), 1, kClearLine.size(), stderr);
}

void Progress::show(std::string_view line, bool terminal_only) {
  if (!enabled_) return;
  const std::string shown = printable(line);
  if (terminal_) {
    write_error_stream(fmt::format("{}{}", kClearLine, cut_text(shown, terminal_width())));
  } else if (!terminal_only) {
    write_error_stream(fmt::format("{}\n", shown));
  }
}

void Progress::keep(std::string_view line) {
  if (!enabled_) return;
  write_error_stream(fmt::format("{}{}\n", terminal_ ? kClearLine : "", printable(line)));
}

}  // namespace heddle

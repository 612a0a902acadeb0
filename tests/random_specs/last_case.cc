#include "tests/random_specs/last_case.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

namespace heddle {
namespace {

constexpr unsigned kCasesOfAnAlarm = 64;  // setting it anew is a system call

std::array<char, std::size_t{1} << 20> last_line;
std::size_t last_length = 0;
unsigned alarm_seconds = 0;
unsigned cases = 0;

void say(std::string_view text) {
  // What cannot be written to stderr cannot be told either.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

// Calls nothing that a handler may not call.
void tell(int signal) {
  const char* const name = signal == SIGALRM ? "a hang" : ::sigabbrev_np(signal);
  say("\nrandom_specs: ");
  say(name != nullptr ? name : "a signal");
  say(" with\n");
  say({last_line.data(), last_length});
  say("\n");
  ::_exit(1);
}

}  // namespace

void watch_cases(unsigned seconds) {
  alarm_seconds = seconds;
  for (const int signal : {SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGALRM}) {
    std::signal(signal, tell);
  }
}

void note_case(std::string_view line) noexcept {
  last_length = std::min(line.size(), last_line.size());
  std::memcpy(last_line.data(), line.data(), last_length);
  if (cases++ % kCasesOfAnAlarm == 0) ::alarm(alarm_seconds);
}

}  // namespace heddle

#include "tools/heddle/shared/interrupt.h"

namespace heddle {
namespace {

volatile std::sig_atomic_t interrupt_seen = 0;

extern "C" void note_interrupt(int /*signal*/) { interrupt_seen = 1; }

}  // namespace

InterruptGuard::InterruptGuard() {
  interrupt_seen = 0;
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  // The handler is gone once it has run. Reads and writes of files go on as if nothing were.
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &before_);
  // A shell starts background commands with SIGINT ignored; they stay deaf.
  if (before_.sa_handler == SIG_IGN) sigaction(SIGINT, &before_, nullptr);
}

InterruptGuard::~InterruptGuard() { sigaction(SIGINT, &before_, nullptr); }

bool InterruptGuard::interrupted() noexcept { return interrupt_seen != 0; }

}  // namespace heddle

#include "tools/heddle/shared/ended_by_signal.h"

#include <csignal>

#include "cache/new_file.h"

namespace heddle {
namespace {

// The handler is gone once it runs: the signal that it raises again ends the process.
extern "C" void clean_up_and_end(int signal) {
  unlink_new_files();
  ::raise(signal);
}

}  // namespace

void clean_up_after_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    struct sigaction action {};
    action.sa_handler = clean_up_and_end;
    action.sa_flags = SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    ::sigaction(signal, &action, nullptr);
  }
  ::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace heddle

#include "tools/heddle/shared/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "tools/heddle/shared/printable.h"

namespace heddle {

OutputError::OutputError(int error_number)
    : std::runtime_error("cannot write the output: " +
                         std::generic_category().message(error_number)),
      reader_is_gone_(error_number == EPIPE) {}

void hold_standard_streams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    // open() takes the lowest free number, which is this one. Reading from a stream opened for
    // writing fails, and the other way round.
    const int flags = (descriptor == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC;
    if (open("/dev/null", flags) != descriptor) return;
  }
}

void print(std::string_view text) { print_exact(printable_lines(text)); }

void print_exact(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) throw OutputError(errno);
}

void print_json(const nlohmann::ordered_json& document) {
  // A name may hold bytes that are no UTF-8; the document must be valid all the same. In ASCII no
  // character of a name can disturb a terminal.
  constexpr bool kAscii = true;
  print_exact(document.dump(2, ' ', kAscii, nlohmann::ordered_json::error_handler_t::replace) +
              "\n");
}

void flush_output() {
  if (std::fflush(stdout) != 0) throw OutputError(errno);
}

}  // namespace heddle

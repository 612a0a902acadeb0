#include "runtime/compile/numbered_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace heddle {

std::string numbered_lines(std::string_view text) {
  std::string result;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    fmt::format_to(std::back_inserter(result), "{:4} | {}\n", number, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

}  // namespace heddle

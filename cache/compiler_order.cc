// Which of two compilers is later.
#include <compare>
#include <string_view>

#include "cache/cache_layer.h"

namespace heddle {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The run of digits at *at, without leading zeros; moves *at behind it.
std::string_view take_number(std::string_view text, std::size_t* at) {
  while (*at < text.size() && text[*at] == '0') ++*at;
  const std::size_t begin = *at;
  while (*at < text.size() && is_digit(text[*at])) ++*at;
  return text.substr(begin, *at - begin);
}

std::strong_ordering natural_order(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string_view x = take_number(a, &i);
      const std::string_view y = take_number(b, &j);
      if (x.size() != y.size()) return x.size() <=> y.size();
      if (x != y) return x <=> y;
    } else if (a[i] != b[j]) {
      return a[i] <=> b[j];
    } else {
      ++i;
      ++j;
    }
  }
  const auto rest = (a.size() - i) <=> (b.size() - j);
  return std::is_neq(rest) ? rest : a <=> b;  // only leading zeros differ
}

}  // namespace

bool later_compiler(const std::string& a, const std::string& b) {
  return std::is_gt(natural_order(a, b));
}

}  // namespace heddle

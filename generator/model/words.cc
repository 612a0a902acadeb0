#include "generator/model/words.h"

#include <utility>

#include "generator/spec/document.h"

namespace heddle {
namespace {

std::string in_case(std::string text, char first, char last, int change) {
  for (char& c : text) c = c >= first && c <= last ? static_cast<char>(c + change) : c;
  return text;
}

}  // namespace

std::string quoted_excerpt(std::string_view text) { return '"' + excerpt(text) + '"'; }
std::string lower(std::string text) { return in_case(std::move(text), 'A', 'Z', 'a' - 'A'); }
std::string upper(std::string text) { return in_case(std::move(text), 'a', 'z', 'A' - 'a'); }

}  // namespace heddle

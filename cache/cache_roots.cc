#include "cache/cache_roots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "cache/file_io.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::size_t kMarkLength = 3;  // "rw:", "ro:"

bool is_mark(std::string_view text) { return text.starts_with("rw:") || text.starts_with("ro:"); }

// Where the first layer ends: at the colon before the next mark, else at the end.
std::size_t layer_end(std::string_view list) {
  for (std::size_t at = list.find(':', kMarkLength); at != std::string_view::npos;
       at = list.find(':', at + 1)) {
    if (is_mark(list.substr(at + 1))) return at;
  }
  return list.size();
}

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw Error(ErrorCategory::kUsage, "cache.roots",
              fmt::format("cache folder \"{}\": {}; write a folder, or layers as in "
                          "\"rw:/folder:ro:/image/layer:ro:/image/model.hdl\"",
                          text, why));
}

// "rx" of "rx:dir": what looks like a mark, which is a word before a colon.
std::string_view word_before_colon(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end])) != 0) ++end;
  return end > 0 && end < text.size() && text[end] == ':' ? text.substr(0, end)
                                                          : std::string_view();
}

// A list whose mark is misspelt would be a folder of that name.
void check_no_mark(std::string_view text) {
  const std::string_view word = word_before_colon(text);
  if (word.empty()) return;
  refuse(text, fmt::format("\"{}:\" is no kind of layer; allowed: rw: and ro:, or \"./{}\" for a "
                           "folder of that name",
                           word, text));
}

// Inside of a list a mark has two letters, and so has what is meant as one.
void check_marks_in(std::string_view text, std::string_view path) {
  for (std::size_t at = path.find(':'); at != path.npos; at = path.find(':', at + 1)) {
    const std::string_view word = word_before_colon(path.substr(at + 1));
    if (word.size() != kMarkLength - 1) continue;
    refuse(text, fmt::format("\"{}:\" is no kind of layer; allowed: rw: and ro:", word));
  }
}

std::string below(const char* home, const char* rest) {
  return home != nullptr && home[0] == '/' ? std::string(home) + rest : std::string();
}

}  // namespace

const char* process_environment(const char* name) { return ::secure_getenv(name); }

CacheRoots parse_cache_roots(std::string_view text) {
  CacheRoots roots;
  if (!is_mark(text)) {
    check_no_mark(text);
    if (!text.empty()) roots.writable = absolute_path(text);
    return roots;
  }
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = layer_end(rest);
    const std::string_view path = rest.substr(kMarkLength, end - kMarkLength);
    if (path.empty()) refuse(text, "a layer has no path");
    check_marks_in(text, path);
    if (rest.starts_with("ro:")) {
      roots.read_only.push_back(absolute_path(path));
    } else if (roots.writable.empty()) {
      roots.writable = absolute_path(path);
    } else {
      refuse(text, "only one layer can be rw");
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return roots;
}

CacheRoots resolve_cache_roots(const std::string& dir, const Environment& environment) {
  if (!dir.empty()) return parse_cache_roots(dir);
  const char* own = environment("HEDDLE_CACHE");
  if (own != nullptr && own[0] != '\0') return parse_cache_roots(own);
  CacheRoots roots;
  roots.writable = below(environment("XDG_CACHE_HOME"), "/heddle");
  if (roots.writable.empty()) roots.writable = below(environment("HOME"), "/.cache/heddle");
  return roots;
}

}  // namespace heddle

#include "generator/model/module_pattern.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace heddle {
namespace {

constexpr std::size_t kLongestRegex = 1024;
constexpr std::size_t kMostRepeats = 255;  // of one counted repeat

// The GNU library's engine that visits each state at most once for a character: its time is
// bounded, and so is its stack, whatever the pattern is. It has no references back.
#ifdef __GLIBCXX__
constexpr auto kBoundedTime = std::regex_constants::__polynomial;
#else
constexpr auto kBoundedTime = std::regex_constants::ECMAScript;
#endif

// Python's \A and \Z are the ends of the text, which ECMAScript would take for the letters.
std::string from_python(std::string_view pattern) {
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool escape = pattern[i] == '\\' && i + 1 < pattern.size();
    if (escape && pattern[i + 1] == 'A') {
      text += '^';
    } else if (escape && (pattern[i + 1] == 'Z' || pattern[i + 1] == 'z')) {
      text += '$';
    } else {
      text += pattern[i];
      if (escape) text += pattern[i + 1];
    }
    if (escape) ++i;
  }
  return text;
}

// A look-ahead is matched by a run of its own at each character, and one inside of it again at
// each: the time would grow with each level.
bool has_nested_lookahead(std::string_view pattern) {
  std::vector<bool> groups;  // whether each open group is a look-ahead
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
    } else if (pattern[i] == '(') {
      const std::string_view start = pattern.substr(i, 3);
      const bool ahead = start == "(?=" || start == "(?!";
      if (ahead && std::find(groups.begin(), groups.end(), true) != groups.end()) return true;
      groups.push_back(ahead);
    } else if (pattern[i] == ')' && !groups.empty()) {
      groups.pop_back();
    }
  }
  return false;
}

// A counted repeat is that many copies of what it repeats.
bool has_long_repeat(std::string_view pattern) {
  std::size_t count = 0;
  for (std::size_t i = pattern.find('{'); i < pattern.size(); ++i) {
    const bool digit = pattern[i] >= '0' && pattern[i] <= '9';
    count = digit ? count * 10 + static_cast<std::size_t>(pattern[i] - '0') : 0;
    if (count > kMostRepeats) return true;
    if (pattern[i] == '}') i = std::min(pattern.find('{', i), pattern.size());
  }
  return false;
}

// Reads the set that starts at pattern[at] == '['. Returns whether `c` is in it, and moves `at`
// behind it; nothing where the bracket is never closed, which then stands for itself.
std::optional<bool> in_set(std::string_view pattern, std::size_t& at, char c) {
  std::size_t i = at + 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  const std::size_t first = i;
  bool found = false;
  for (; i < pattern.size() && (pattern[i] != ']' || i == first); ++i) {
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      found = found || (pattern[i] <= c && c <= pattern[i + 2]);
      i += 2;
    } else {
      found = found || pattern[i] == c;
    }
  }
  if (i >= pattern.size()) return std::nullopt;
  at = i + 1;
  return found != negated;
}

bool has_components(std::string_view name, std::string_view text) {
  for (std::size_t at = name.find(text); at != name.npos; at = name.find(text, at + 1)) {
    const std::size_t end = at + text.size();
    if ((at == 0 || name[at - 1] == '.') && (end == name.size() || name[end] == '.')) return true;
  }
  return false;
}

bool is_inside(std::string_view name, std::string_view module) {
  return name.starts_with(module) && (name.size() == module.size() || name[module.size()] == '.');
}

}  // namespace

bool matches_glob(std::string_view pattern, std::string_view name) {
  constexpr std::size_t kNoStar = std::string_view::npos;
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = kNoStar;  // behind the last *, from where the match is tried again
  std::size_t star_name = 0;
  while (n < name.size()) {
    std::size_t next = p;
    bool fits = false;
    if (p < pattern.size()) {
      const std::optional<bool> set =
          pattern[p] == '[' ? in_set(pattern, next, name[n]) : std::nullopt;
      if (!set) next = p + 1;
      fits = set ? *set : pattern[p] == '?' || pattern[p] == name[n];
      if (pattern[p] == '*') {
        star = ++p;
        star_name = n;
        continue;
      }
    }
    if (fits) {
      p = next;
      ++n;
    } else if (star != kNoStar) {
      p = star;
      n = ++star_name;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::optional<ModulePattern> ModulePattern::make(Kind kind, std::string text) {
  ModulePattern pattern(kind, std::move(text));
  if (kind == Kind::kRegex || kind == Kind::kRegexStart) {
    if (pattern.text_.size() > kLongestRegex || has_nested_lookahead(pattern.text_) ||
        has_long_repeat(pattern.text_)) {
      return std::nullopt;
    }
    try {
      pattern.regex_ =
          std::regex(from_python(pattern.text_), std::regex::ECMAScript | kBoundedTime);
    } catch (const std::regex_error&) {
      return std::nullopt;
    }
  }
  return pattern;
}

bool ModulePattern::matches(std::string_view name) const {
  const auto search = [&](std::regex_constants::match_flag_type flags) {
    return std::regex_search(name.begin(), name.end(), regex_, flags);
  };
  switch (kind_) {
    case Kind::kEvery:
      return true;
    case Kind::kExact:
      return name == text_;
    case Kind::kName:
      return is_inside(name, text_);
    case Kind::kSubstring:
      return name.find(text_) != name.npos;
    case Kind::kComponents:
      return has_components(name, text_);
    case Kind::kGlob:
      return matches_glob(text_, name);
    case Kind::kRegexStart:
      return search(std::regex_constants::match_continuous);
    case Kind::kRegex:
      return search(std::regex_constants::match_default);
  }
  return false;
}

}  // namespace heddle

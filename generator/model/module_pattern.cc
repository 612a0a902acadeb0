#include "generator/model/module_pattern.h"

#include <utility>

#include "generator/model/regex_program.h"

namespace heddle {
namespace {

// In the unit of kMostMatchingWork.
constexpr std::uint64_t kWorkOfPattern = 10;      // to choose what its kind does
constexpr std::uint64_t kWorkOfGlobStep = 4;      // to compare a character and go on
constexpr std::uint64_t kWorkOfRegexStep = 1000;  // to read one; memory to keep it counts as time

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

bool matches_glob(std::string_view pattern, std::string_view name, std::uint64_t* work) {
  constexpr std::size_t kNoStar = std::string_view::npos;
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = kNoStar;  // behind the last *, from where the match is tried again
  std::size_t star_name = 0;
  std::uint64_t taken = 1;
  const auto tell = [&](bool matching) {
    if (work != nullptr) *work += taken * kWorkOfGlobStep;
    return matching;
  };
  while (n < name.size()) {
    if (++taken > kMostMatchingWork) return tell(false);
    std::size_t next = p;
    bool fits = false;
    if (p < pattern.size()) {
      const std::optional<bool> set =
          pattern[p] == '[' ? in_set(pattern, next, name[n]) : std::nullopt;
      if (pattern[p] == '[') taken += (set ? next : pattern.size()) - p;
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
      return tell(false);
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return tell(p == pattern.size());
}

std::optional<ModulePattern> ModulePattern::make(Kind kind, std::string text) {
  ModulePattern pattern(kind, std::move(text));
  if (kind == Kind::kRegex || kind == Kind::kRegexStart) {
    const auto from = kind == Kind::kRegex ? Regex::From::kAnywhere : Regex::From::kStart;
    pattern.regex_ = Regex::make(pattern.text_, from);
    if (!pattern.regex_) return std::nullopt;
  }
  return pattern;
}

bool ModulePattern::matches(std::string_view name, std::uint64_t* work) const {
  std::uint64_t unwanted = 0;
  if (work == nullptr) work = &unwanted;
  *work += kWorkOfPattern;
  switch (kind_) {
    case Kind::kEvery:
      return true;
    case Kind::kExact:
      return name == text_;
    case Kind::kName:
      return is_inside(name, text_);
    case Kind::kSubstring:
      *work += name.size();
      return name.find(text_) != name.npos;
    case Kind::kComponents:
      *work += name.size();
      return has_components(name, text_);
    case Kind::kGlob:
      return matches_glob(text_, name, work);
    case Kind::kRegexStart:
    case Kind::kRegex:
      return regex_->matches(name, work);
  }
  return false;
}

std::uint64_t ModulePattern::work_to_begin() const {
  return kWorkOfPattern + (regex_ ? regex_->size() * kWorkOfRegexStep : 0);
}

}  // namespace heddle

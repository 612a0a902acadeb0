#include "generator/model/regex_program.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace heddle {
namespace {

using Code = RegexStep::Code;

constexpr int kNoEnd = -1;  // of a repeat without a largest count

struct Repeat {
  int least = 0;
  int most = kNoEnd;
};

LetterSet characters_in(std::string_view text) {
  LetterSet set;
  for (const char c : text) set.set(static_cast<unsigned char>(c));
  return set;
}

// For ASCII characters.
LetterSet letter_range(char first, char last) {
  LetterSet set;
  const auto end = static_cast<unsigned char>(last) + std::size_t{1};
  for (std::size_t c = static_cast<unsigned char>(first); c < end; ++c) set.set(c);
  return set;
}

LetterSet digit_letters() { return letter_range('0', '9'); }
LetterSet space_letters() { return characters_in(" \t\n\r\f\v") | letter_range('\x1c', '\x1f'); }

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Writes the steps while it reads: what a group or a repeat is of are the last steps so far, whose
// distances do not change where they are moved.
class RegexCompiler {
 public:
  explicit RegexCompiler(std::string_view pattern) : pattern_(pattern) {}

  std::optional<RegexProgram> compile() {
    groups_.push_back({});
    while (good_ && !at_end()) read();
    if (!good_ || groups_.size() != 1) return std::nullopt;
    end_branches();
    add({Code::kAccept});
    if (!good_ || program_.size() > kMostRegexSteps) return std::nullopt;
    return std::move(program_);
  }

 private:
  enum class Look { kNone, kAhead, kNotAhead };
  struct Group {
    Look look = Look::kNone;
    std::size_t begin = 0;
    std::size_t branch = 0;          // where the current alternative begins
    std::vector<std::size_t> jumps;  // of the alternatives before it, to the end of the group
  };
  // A character, or a set of them as \d is one.
  struct Letters {
    LetterSet set;
    std::optional<char> one;
  };

  bool at_end() const { return at_ >= pattern_.size(); }
  std::string_view rest() const { return pattern_.substr(at_); }
  bool take(std::string_view text) {
    if (!rest().starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  void fail() { good_ = false; }
  RegexSteps& steps() { return program_.steps; }

  void add(RegexStep step) {
    if (steps().size() >= kMostRegexSteps) return fail();
    steps().push_back(step);
  }
  void insert(std::size_t at, RegexStep step) {
    if (steps().size() >= kMostRegexSteps) return fail();
    steps().insert(steps().begin() + static_cast<std::ptrdiff_t>(at), step);
  }
  static std::int32_t distance(std::size_t steps) { return static_cast<std::int32_t>(steps); }

  void read() {
    switch (pattern_[at_]) {
      case '|':
        ++at_;
        return next_branch();
      case '(':
        return open_group();
      case ')':
        ++at_;
        return close_group();
      case '*':
        ++at_;
        return repeat({0, kNoEnd});
      case '+':
        ++at_;
        return repeat({1, kNoEnd});
      case '?':
        ++at_;
        return repeat({0, 1});
      case '{':
        return counted_repeat();
      default:
        return read_single();
    }
  }

  void read_single() {
    if (take("^") || take("\\A")) return add_condition(Code::kStart);
    if (take("$") || take("\\Z") || take("\\z")) return add_condition(Code::kEnd);
    if (take("\\b")) return add_condition(Code::kWordEdge);
    if (take("\\B")) return add_condition(Code::kNoWordEdge);
    atom_ = steps().size();
    if (take(".")) return add_letters(~characters_in("\n"));
    if (take("[")) return read_set();
    if (const std::optional<Letters> letters = read_letters()) add_letters(letters->set);
  }

  void add_condition(Code code) {
    atom_.reset();  // Python repeats no condition
    add({code});
  }

  void add_letters(const LetterSet& set) {
    std::vector<LetterSet>& sets = program_.sets;
    const auto known = std::find(sets.begin(), sets.end(), set);
    const auto index = static_cast<std::size_t>(known - sets.begin());
    if (known == sets.end()) sets.push_back(set);
    add({Code::kLetter, distance(index)});
  }

  // A character as it stands, or what a backslash makes of one.
  std::optional<Letters> read_letters() {
    char c = pattern_[at_++];
    if (c == '\\') {
      if (at_end()) return refuse();
      c = pattern_[at_++];
      const std::size_t known = std::string_view("dDwWsS").find(c);
      if (known != std::string_view::npos) {
        const LetterSet sets[] = {digit_letters(), word_letters(), space_letters()};
        return Letters{known % 2 == 0 ? sets[known / 2] : ~sets[known / 2], std::nullopt};
      }
      constexpr std::string_view kNames = "ntrfva";
      constexpr std::string_view kControls = "\n\t\r\f\v\a";
      if (const std::size_t name = kNames.find(c); name != kNames.npos) {
        c = kControls[name];
      } else if (c == 'x') {
        return read_hex();
      } else if (is_alphanumeric(c)) {
        return refuse();
      }
    }
    return letter(c);
  }

  std::optional<Letters> read_hex() {
    int value = 0;
    const char* const first = rest().data();
    const char* const last = first + std::min<std::size_t>(2, rest().size());
    const auto [end, error] = std::from_chars(first, last, value, 16);
    if (error != std::errc{} || end != first + 2 || value < 0) return refuse();
    at_ += 2;
    return letter(static_cast<char>(value));
  }

  std::optional<Letters> letter(char c) {
    if (static_cast<unsigned char>(c) >= kOtherLetter) return refuse();
    return Letters{letter_range(c, c), c};
  }

  std::optional<Letters> refuse() {
    fail();
    return std::nullopt;
  }

  // Behind the bracket. One that closes stands for itself in the first place.
  void read_set() {
    const bool negated = take("^");
    LetterSet set;
    for (bool is_first = true; is_first || !rest().starts_with(']'); is_first = false) {
      if (at_end()) return fail();
      const std::optional<Letters> low = read_set_letters();
      if (!low) return;
      set |= low->set;
      if (rest().size() < 2 || rest()[0] != '-' || rest()[1] == ']') continue;
      ++at_;
      const std::optional<Letters> high = read_set_letters();
      if (!high) return;
      if (!low->one || !high->one || *high->one < *low->one) return fail();
      set |= letter_range(*low->one, *high->one);
    }
    ++at_;
    add_letters(negated ? ~set : set);
  }

  std::optional<Letters> read_set_letters() {
    if (take("\\b")) return letter('\b');
    return read_letters();
  }

  void open_group() {
    ++at_;
    Group group;
    if (take("?=")) {
      group.look = Look::kAhead;
    } else if (take("?!")) {
      group.look = Look::kNotAhead;
    } else if (!take("?:") && rest().starts_with('?')) {
      return fail();
    }
    const bool nested = std::any_of(groups_.begin(), groups_.end(),
                                    [](const Group& outer) { return outer.look != Look::kNone; });
    if (group.look != Look::kNone && (nested || program_.aheads.size() == kMostAheads)) {
      return fail();
    }
    group.begin = group.branch = steps().size();
    groups_.push_back(std::move(group));
    atom_.reset();
  }

  // What was read of the group since the last bar is one alternative.
  void next_branch() {
    Group& group = groups_.back();
    insert(group.branch, {Code::kFork, 1, distance(steps().size() - group.branch + 2)});
    group.jumps.push_back(steps().size());
    add({Code::kJump});
    group.branch = steps().size();
    atom_.reset();
  }

  void end_branches() {
    if (!good_) return;
    for (const std::size_t jump : groups_.back().jumps) {
      steps()[jump].first = distance(steps().size() - jump);
    }
  }

  void close_group() {
    if (groups_.size() == 1) return fail();
    end_branches();
    const Group group = std::move(groups_.back());
    groups_.pop_back();
    if (group.look == Look::kNone) {
      atom_ = group.begin;
      return;
    }
    add({Code::kAccept});
    if (!good_) return;
    const auto begin = steps().begin() + static_cast<std::ptrdiff_t>(group.begin);
    program_.aheads.emplace_back(begin, steps().end());
    steps().erase(begin, steps().end());
    atom_.reset();
    add({group.look == Look::kAhead ? Code::kAhead : Code::kNotAhead,
         distance(program_.aheads.size() - 1)});
  }

  // {2}, {2,}, {,3} or {2,3}.
  void counted_repeat() {
    Repeat counts;
    const std::size_t end = rest().find('}');
    if (end == std::string_view::npos) return fail();
    const std::string_view text = rest().substr(1, end - 1);
    const std::size_t comma = text.find(',');
    const std::string_view least = text.substr(0, comma);
    const bool has_comma = comma != std::string_view::npos;
    const std::string_view most = has_comma ? text.substr(comma + 1) : least;
    if (text.empty() || text == ",") return fail();
    if (!least.empty() && !read_count(least, &counts.least)) return fail();
    if (!most.empty() && !read_count(most, &counts.most)) return fail();
    if (counts.most != kNoEnd && counts.most < counts.least) return fail();
    at_ += end + 1;
    repeat(counts);
  }

  static bool read_count(std::string_view text, int* count) {
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, *count);
    return error == std::errc{} && end == last && *count >= 0 && *count <= kMostRepeats;
  }

  // Repeats the last atom, which is so many copies of its steps.
  void repeat(const Repeat& counts) {
    if (!atom_) return fail();
    take("?");  // as few as possible
    const std::size_t begin = *atom_;
    atom_.reset();
    const RegexSteps body(steps().begin() + static_cast<std::ptrdiff_t>(begin), steps().end());
    const std::size_t size = body.size();
    const auto least = static_cast<std::size_t>(counts.least);
    const auto more = counts.most == kNoEnd ? std::size_t{1} : counts.most - least;
    if (begin + least * size + more * (size + 2) > kMostRegexSteps) return fail();
    steps().resize(begin);
    const auto copy = [&] { steps().insert(steps().end(), body.begin(), body.end()); };
    for (std::size_t i = 0; i < least; ++i) copy();
    if (counts.most == kNoEnd && least > 0) {
      return add({Code::kFork, -distance(size), 1});
    }
    if (counts.most == kNoEnd) {
      add({Code::kFork, 1, distance(size + 2)});
      copy();
      return add({Code::kJump, -distance(size + 1)});
    }
    for (std::size_t left = more; left > 0; --left) {
      add({Code::kFork, 1, distance(left * (size + 1))});
      copy();
    }
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  bool good_ = true;
  RegexProgram program_;
  std::vector<Group> groups_;          // that are open; the first one is the pattern
  std::optional<std::size_t> atom_{};  // where what a repeat would be of begins
};

}  // namespace

LetterSet word_letters() {
  LetterSet set = digit_letters() | letter_range('a', 'z') | letter_range('A', 'Z');
  return set.set('_');
}

std::size_t RegexProgram::size() const {
  std::size_t size = steps.size();
  for (const RegexSteps& ahead : aheads) size += ahead.size();
  return size;
}

std::optional<RegexProgram> compile_regex(std::string_view pattern) {
  if (pattern.size() > kLongestRegex) return std::nullopt;
  return RegexCompiler(pattern).compile();
}

}  // namespace heddle

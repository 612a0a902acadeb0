// RegexProgram: a regular expression as steps that an automaton takes from letter to letter.
#ifndef HEDDLE_GENERATOR_MODEL_REGEX_PROGRAM_H_
#define HEDDLE_GENERATOR_MODEL_REGEX_PROGRAM_H_

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace heddle {

// A letter is an ASCII character, or kOtherLetter for any other character.
inline constexpr int kOtherLetter = 128;
inline constexpr int kRegexLetters = 129;
using LetterSet = std::bitset<kRegexLetters>;

// Letters of \w: what \b tells apart.
LetterSet word_letters();

struct RegexStep {
  enum class Code : std::uint8_t {
    kLetter,      // takes a letter of the set `first`
    kFork,        // goes on `first` and `second` steps further on, or back
    kJump,        // goes on `first` steps further on, or back
    kStart,       // at the start of the name
    kEnd,         // at its end
    kWordEdge,    // \b
    kNoWordEdge,  // \B
    kAhead,       // the look-ahead `first` matches here
    kNotAhead,    // it does not
    kAccept,
  };
  Code code = Code::kAccept;
  std::int32_t first = 0;
  std::int32_t second = 0;
};
using RegexSteps = std::vector<RegexStep>;

struct RegexProgram {
  RegexSteps steps;                // end with kAccept, as do those of each look-ahead
  std::vector<RegexSteps> aheads;  // without look-aheads of their own
  std::vector<LetterSet> sets;

  std::size_t size() const;  // in steps
};

// A counted repeat is that many copies of what it repeats; so much they may come to.
inline constexpr std::size_t kMostRegexSteps = 10'000;
inline constexpr int kMostRepeats = 255;
inline constexpr std::size_t kMostAheads = 8;
inline constexpr std::size_t kLongestRegex = 1024;

// Limit on compiling and matching all patterns of one config, in units of about 1 ns. A match over
// the limit returns false; ModuleRules then refuses the config. What the steps of the work cost in
// this unit are estimates (kWorkOf... in regex_automaton.cc, module_pattern.cc, module_rules.cc): a
// factor of a few does not matter to a limit of seconds.
inline constexpr std::uint64_t kMostMatchingWork = 2'000'000'000;

// Reads the pattern as Python's re reads it. Whether a repeat takes much or little makes no
// difference to whether a name matches, nor do groups. Nothing for what is no regular expression,
// for what is beyond the limits above, and for a { that begins no repeat (a{x}), flags, named
// groups, references back, atomic groups, possessive repeats, look-behinds, look-aheads in
// look-aheads, a repeated look-ahead, and characters outside of ASCII. Takes no more stack for a
// longer pattern.
std::optional<RegexProgram> compile_regex(std::string_view pattern);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_REGEX_PROGRAM_H_

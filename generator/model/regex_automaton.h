// Automaton: runs a RegexProgram over names, and keeps the states that they have needed.
#ifndef HEDDLE_GENERATOR_MODEL_REGEX_AUTOMATON_H_
#define HEDDLE_GENERATOR_MODEL_REGEX_AUTOMATON_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "generator/model/regex_program.h"

namespace heddle {

// Letters that no set tells apart are one class.
class LetterClasses {
 public:
  explicit LetterClasses(const std::vector<LetterSet>& sets);

  int count() const { return static_cast<int>(members_.size()); }
  int end() const { return count(); }  // stands for the end of the name
  bool has(int set, int letter) const {
    return letter != end() && at(letter)[static_cast<std::size_t>(set)];
  }
  bool is_word(int letter) const { return letter != end() && at(letter).back(); }
  // The classes of the name's letters, and the end.
  std::vector<std::uint8_t> of(std::string_view name) const;

 private:
  const std::vector<bool>& at(int letter) const {
    return members_[static_cast<std::size_t>(letter)];
  }

  std::array<std::uint8_t, kRegexLetters> class_of_{};
  std::vector<std::vector<bool>> members_;  // for each class: the sets that it is in, and \w
};

// The deterministic automaton of some steps. A state is what may come next, before conditions are
// looked at: they are when the next letter is known. For one thread.
class Automaton {
 public:
  // `anywhere`: the match may begin with any letter.
  Automaton(const RegexSteps& steps, bool anywhere);

  // Whether the steps match the letters from the place `at` on. `aheads` are those of the program.
  bool run(const LetterClasses& classes, const std::vector<std::uint8_t>& letters, std::size_t at,
           std::vector<Automaton>& aheads, std::uint64_t* work);

 private:
  enum class Before : std::int32_t { kStart, kWord, kOther };  // the letter that was taken

  struct State {
    std::vector<std::int32_t> places;
    Before before;
    unsigned aheads;        // which look-aheads the next letter may depend on
    std::vector<int> next;  // by these and the letter
  };

  static Before before_of(const LetterClasses& classes, int letter);
  static bool ahead_matches(const State& state, std::int32_t ahead, unsigned matching);
  template <typename Enter>
  void walk(const std::vector<std::int32_t>& places, std::uint64_t* work, Enter enter);
  unsigned aheads_from(const std::vector<std::int32_t>& places, std::uint64_t* work);
  // Whether it is there for the first time since begin_marks().
  bool mark(std::int32_t place);
  void begin_marks();
  // The number of the state, which is made where it is not known.
  int state_of(std::vector<std::int32_t> places, Before before, const LetterClasses& classes,
               std::uint64_t* work);
  // What follows on the state: a number, kAccepted or kDead.
  int step(int number, std::size_t place, int letter, unsigned matching,
           const LetterClasses& classes, std::uint64_t* work);
  void forget();

  RegexSteps steps_;
  bool anywhere_;
  bool tells_edges_ = false;
  bool tells_start_ = false;
  std::vector<State> states_;
  std::map<std::vector<std::int32_t>, int> numbers_;  // by places and the letter before
  std::size_t bytes_ = 0;
  std::vector<unsigned> marks_;
  unsigned mark_ = 0;
  std::vector<std::int32_t> stack_;
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_REGEX_AUTOMATON_H_

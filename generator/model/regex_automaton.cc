#include "generator/model/regex_automaton.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace heddle {
namespace {

using StepCode = RegexStep::Code;

constexpr std::size_t kMostStateBytes = std::size_t{1} << 20;  // of one automaton; then it forgets
// In the unit of kMostMatchingWork: a step is taken from a stack, marked and decoded, in cache.
constexpr std::uint64_t kWorkOfStep = 4;

// What follows on a state, where it is no other state.
constexpr int kUnknown = -1;
constexpr int kAccepted = -2;
constexpr int kDead = -3;

std::size_t at_number(int number) { return static_cast<std::size_t>(number); }

}  // namespace

LetterClasses::LetterClasses(const std::vector<LetterSet>& sets) {
  const LetterSet word = word_letters();
  std::map<std::vector<bool>, int> known;
  for (int letter = 0; letter < kRegexLetters; ++letter) {
    const auto at = static_cast<std::size_t>(letter);
    std::vector<bool> in;
    in.reserve(sets.size() + 1);
    for (const LetterSet& set : sets) in.push_back(set[at]);
    in.push_back(word[at]);
    const auto [found, is_new] = known.try_emplace(std::move(in), static_cast<int>(known.size()));
    class_of_[at] = static_cast<std::uint8_t>(found->second);
    if (is_new) members_.push_back(found->first);
  }
}

std::vector<std::uint8_t> LetterClasses::of(std::string_view name) const {
  std::vector<std::uint8_t> classes;
  classes.reserve(name.size() + 1);
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) == 0x80) continue;  // a character's further bytes in UTF-8
    classes.push_back(class_of_[std::min<std::size_t>(byte, kOtherLetter)]);
  }
  classes.push_back(static_cast<std::uint8_t>(end()));
  return classes;
}

Automaton::Automaton(const RegexSteps& steps, bool anywhere) : steps_(steps), anywhere_(anywhere) {
  marks_.resize(steps.size());
  for (const RegexStep& step : steps_) {
    tells_edges_ |= step.code == StepCode::kWordEdge || step.code == StepCode::kNoWordEdge;
    tells_start_ |= step.code == StepCode::kStart;
  }
}

bool Automaton::run(const LetterClasses& classes, const std::vector<std::uint8_t>& letters,
                    std::size_t at, std::vector<Automaton>& aheads, std::uint64_t* work) {
  Before before = Before::kStart;
  if (at > 0) before = before_of(classes, letters[at - 1]);
  int state = state_of({0}, before, classes, work);
  for (;; ++at) {
    unsigned matching = 0;  // a bit for each look-ahead of the state, in their order
    unsigned bit = 1;
    for (unsigned left = states_[at_number(state)].aheads; left != 0; left &= left - 1, bit *= 2) {
      Automaton& ahead = aheads[static_cast<std::size_t>(std::countr_zero(left))];
      if (ahead.run(classes, letters, at, aheads, work)) matching |= bit;
    }
    const std::size_t place =
        matching * static_cast<std::size_t>(classes.count() + 1) + letters[at];
    int next = states_[at_number(state)].next[place];
    *work += 2;
    if (*work > kMostMatchingWork) return false;
    if (next == kUnknown) next = step(state, place, letters[at], matching, classes, work);
    if (next == kAccepted) return true;
    if (next == kDead) return false;
    state = next;
  }
}

Automaton::Before Automaton::before_of(const LetterClasses& classes, int letter) {
  return classes.is_word(letter) ? Before::kWord : Before::kOther;
}

void Automaton::begin_marks() {
  if (++mark_ == 0) {
    std::fill(marks_.begin(), marks_.end(), 0);
    mark_ = 1;
  }
  stack_.clear();
}

bool Automaton::mark(std::int32_t place) {
  return std::exchange(marks_[at_number(place)], mark_) != mark_;
}

// Goes through all that can be reached from the places without a letter; `enter` says where a
// condition lets through.
template <typename Enter>
void Automaton::walk(const std::vector<std::int32_t>& places, std::uint64_t* work, Enter enter) {
  begin_marks();
  stack_.assign(places.rbegin(), places.rend());
  while (!stack_.empty()) {
    const std::int32_t place = stack_.back();
    stack_.pop_back();
    if (!mark(place)) continue;
    *work += kWorkOfStep;
    const RegexStep& step = steps_[at_number(place)];
    if (step.code == StepCode::kFork) {
      stack_.push_back(place + step.second);
      stack_.push_back(place + step.first);
    } else if (step.code == StepCode::kJump) {
      stack_.push_back(place + step.first);
    } else if (enter(step, place)) {
      stack_.push_back(place + 1);
    }
  }
}

unsigned Automaton::aheads_from(const std::vector<std::int32_t>& places, std::uint64_t* work) {
  unsigned found = 0;
  walk(places, work, [&](const RegexStep& step, std::int32_t) {
    const bool is_ahead = step.code == StepCode::kAhead || step.code == StepCode::kNotAhead;
    if (is_ahead) found |= 1U << static_cast<unsigned>(step.first);
    return step.code != StepCode::kLetter && step.code != StepCode::kAccept;
  });
  return found;
}

int Automaton::state_of(std::vector<std::int32_t> places, Before before,
                        const LetterClasses& classes, std::uint64_t* work) {
  if (!(tells_edges_ || (tells_start_ && before == Before::kStart))) before = Before::kOther;
  places.push_back(static_cast<std::int32_t>(before));
  *work += places.size() * kWorkOfStep;
  const auto known = numbers_.find(places);
  if (known != numbers_.end()) return known->second;
  std::vector<std::int32_t> key = places;
  places.pop_back();
  const unsigned aheads = aheads_from(places, work);
  const std::size_t size = at_number(classes.count() + 1) << std::popcount(aheads);
  const std::size_t bytes = sizeof(int) * (2 * places.size() + size) + 2 * sizeof(State);
  *work += bytes;
  bytes_ += bytes;
  const auto number = static_cast<int>(states_.size());
  states_.push_back({std::move(places), before, aheads, std::vector<int>(size, kUnknown)});
  numbers_.emplace(std::move(key), number);
  return number;
}

int Automaton::step(int number, std::size_t place, int letter, unsigned matching,
                    const LetterClasses& classes, std::uint64_t* work) {
  const State& state = states_[at_number(number)];
  std::vector<std::int32_t> after;
  bool accepted = false;
  walk(state.places, work, [&](const RegexStep& step, std::int32_t at) {
    switch (step.code) {
      case StepCode::kLetter:
        if (classes.has(step.first, letter)) after.push_back(at + 1);
        return false;
      case StepCode::kStart:
        return state.before == Before::kStart;
      case StepCode::kEnd:
        return letter == classes.end();
      case StepCode::kWordEdge:
        return (state.before == Before::kWord) != classes.is_word(letter);
      case StepCode::kNoWordEdge:
        return (state.before == Before::kWord) == classes.is_word(letter);
      case StepCode::kAhead:
        return ahead_matches(state, step.first, matching);
      case StepCode::kNotAhead:
        return !ahead_matches(state, step.first, matching);
      default:
        accepted = true;
        return false;
    }
  });
  // It may also begin with the next letter.
  if (anywhere_ && letter != classes.end()) after.push_back(0);
  if (accepted || after.empty()) {
    return states_[at_number(number)].next[place] = accepted ? kAccepted : kDead;
  }
  std::sort(after.begin(), after.end());
  if (bytes_ > kMostStateBytes) {
    forget();
    return state_of(std::move(after), before_of(classes, letter), classes, work);
  }
  const int next = state_of(std::move(after), before_of(classes, letter), classes, work);
  return states_[at_number(number)].next[place] = next;
}

bool Automaton::ahead_matches(const State& state, std::int32_t ahead, unsigned matching) {
  const unsigned below = state.aheads & ((1U << static_cast<unsigned>(ahead)) - 1);
  return (matching >> static_cast<unsigned>(std::popcount(below)) & 1U) != 0;
}

void Automaton::forget() {
  states_.clear();
  numbers_.clear();
  bytes_ = 0;
}

}  // namespace heddle

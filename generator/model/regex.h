// Regex: whether names match a regular expression. Once the states of its automaton are known, that
// takes time linear in the name without look-aheads, and at most quadratic with them. States are
// kept up to 1 MiB an automaton, and made anew beyond.
#ifndef HEDDLE_GENERATOR_MODEL_REGEX_H_
#define HEDDLE_GENERATOR_MODEL_REGEX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace heddle {

// Copies share what they have learned. Thread-safe.
class Regex {
 public:
  enum class From {
    kStart,     // Python's re.match: from the start of the name, not to its end
    kAnywhere,  // Python's re.search
  };

  // Nothing for what compile_regex() does not take.
  static std::optional<Regex> make(std::string_view pattern, From from);

  // Adds what it took to `work`, and returns false once that exceeds kMostMatchingWork, whose unit
  // it has (regex_program.h). States are made when a name first needs them.
  bool matches(std::string_view name, std::uint64_t* work) const;
  // In steps of the automaton: what the expression takes of memory and time to begin with.
  std::size_t size() const;

 private:
  class Automata;

  explicit Regex(std::shared_ptr<Automata> automata) : automata_(std::move(automata)) {}

  std::shared_ptr<Automata> automata_;
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_REGEX_H_

#include "generator/model/regex.h"

#include <mutex>
#include <utility>
#include <vector>

#include "generator/model/regex_automaton.h"
#include "generator/model/regex_program.h"

namespace heddle {

class Regex::Automata {
 public:
  Automata(const RegexProgram& program, From from)
      : size_(program.size()),
        classes_(program.sets),
        main_(program.steps, from == From::kAnywhere) {
    for (const RegexSteps& steps : program.aheads) aheads_.emplace_back(steps, false);
  }

  bool run(std::string_view name, std::uint64_t* work) {
    const std::vector<std::uint8_t> letters = classes_.of(name);
    *work += letters.size();
    const std::lock_guard guard(mutex_);
    return main_.run(classes_, letters, 0, aheads_, work);
  }
  std::size_t size() const { return size_; }

 private:
  const std::size_t size_;
  const LetterClasses classes_;
  std::mutex mutex_;
  Automaton main_;  // guarded by mutex_, as is the next
  std::vector<Automaton> aheads_;
};

std::optional<Regex> Regex::make(std::string_view pattern, From from) {
  const std::optional<RegexProgram> program = compile_regex(pattern);
  if (!program) return std::nullopt;
  return Regex(std::make_shared<Automata>(*program, from));
}

bool Regex::matches(std::string_view name, std::uint64_t* work) const {
  return automata_->run(name, work);
}

std::size_t Regex::size() const { return automata_->size(); }

}  // namespace heddle

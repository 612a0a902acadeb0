// ModulePattern: which modules of a model an entry of a quantisation config means.
#ifndef HEDDLE_GENERATOR_MODEL_MODULE_PATTERN_H_
#define HEDDLE_GENERATOR_MODEL_MODULE_PATTERN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "generator/model/regex.h"

namespace heddle {

// Whether `name` matches the shell pattern: * is any text (dots included), ? any character, [abc]
// and [a-c] one of these, [!abc] none of these. Takes time in proportion to the product of the
// lengths; what it took is added to `work`.
bool matches_glob(std::string_view pattern, std::string_view name, std::uint64_t* work = nullptr);

// A name is the module's path from the model's root, "model.layers.0.mlp.down_proj". Each quantiser
// has its own way to read an entry. Immutable: any thread may call it.
class ModulePattern {
 public:
  enum class Kind {
    kEvery,       // every linear module
    kExact,       // the module of that name
    kName,        // the module itself, or one inside of it
    kSubstring,   // a name that contains the text
    kComponents,  // a name in which the text stands as whole components between dots
    kGlob,
    kRegexStart,  // Python's re.match: from the start of the name, not to its end
    kRegex,       // Python's re.search: anywhere
  };

  // Nothing where a regular expression is none, or is not one of those that compile_regex() takes
  // (regex_program.h).
  static std::optional<ModulePattern> make(Kind kind, std::string text);

  // Adds to `work` about how many nanoseconds it took.
  bool matches(std::string_view name, std::uint64_t* work = nullptr) const;
  // As above, of reading the pattern.
  std::uint64_t work_to_begin() const;
  Kind kind() const noexcept { return kind_; }
  const std::string& text() const noexcept { return text_; }

 private:
  ModulePattern(Kind kind, std::string text) : kind_(kind), text_(std::move(text)) {}

  Kind kind_;
  std::string text_;
  std::optional<Regex> regex_;  // of kRegexStart and kRegex
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_MODULE_PATTERN_H_

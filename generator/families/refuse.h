// What Heddle cannot serve, and why.
#ifndef HEDDLE_GENERATOR_FAMILIES_REFUSE_H_
#define HEDDLE_GENERATOR_FAMILIES_REFUSE_H_

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/error.h"
#include "heddle/inspect/plan.h"

namespace heddle {

// Collects the problems of conditions that do not hold.
class Reasons {
 public:
  explicit Reasons(std::vector<Problem> first = {}) : problems_(std::move(first)) {}
  // Message, value and what is allowed are texts, numbers, or functions that make them: of hundreds
  // of candidates most conditions hold.
  template <class Message, class Value = const char*, class Allowed = const char*>
  void unless(bool fine, const char* pointer, const Message& message, const Value& value = "",
              const Allowed& allowed = "") {
    if (fine) return;
    problems_.push_back({pointer, text_of(message), text_of(value), text_of(allowed), ""});
  }
  bool empty() const noexcept { return problems_.empty(); }
  // What was found so far; the next ones start anew.
  std::vector<Problem> take() { return std::exchange(problems_, {}); }

 private:
  template <class Text>
  static std::string text_of(const Text& text) {
    if constexpr (requires { text(); }) {
      return text();
    } else if constexpr (std::is_integral_v<Text>) {
      return fmt::format("{}", text);
    } else {
      return std::string(text);
    }
  }

  std::vector<Problem> problems_;
};

// What a family says whose threads finish outputs by themselves, of a spec whose Y has scales that
// the kernel finds.
void refuse_found_scales(const GemmSpec& spec, Reasons& reasons);

// What a family says that is of other paths than the spec asks for.
void refuse_path(const GemmSpec& spec, const char* message, const char* allowed, Reasons& reasons);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_REFUSE_H_

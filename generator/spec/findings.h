// Findings: collects everything that is wrong with a document, then throws it as one Error.
#ifndef HEDDLE_GENERATOR_SPEC_FINDINGS_H_
#define HEDDLE_GENERATOR_SPEC_FINDINGS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/error.h"

namespace heddle {

class Findings {
 public:
  // `area` is the first half of the error code: "spec", "model".
  explicit Findings(std::string area) : area_(std::move(area)) {}

  // `what` is the second half: "unknown_field". Beyond kMostProblems findings only their number is
  // kept.
  void add(std::string_view what, Problem problem);
  // Further findings are only counted: their problems need not be worked out.
  bool full() const noexcept { return problems_.size() >= kMostProblems; }
  bool empty() const noexcept { return problems_.empty(); }
  // What is kept, and one problem more that says how many are not.
  std::vector<Problem> problems() const;
  // Throws Error(kSpec) if there is any finding. Its code is theirs where all have the same one,
  // else "<area>.invalid".
  void throw_if_any() const;

 private:
  static constexpr std::size_t kMostProblems = 50;

  std::string area_;
  std::string code_;
  std::vector<Problem> problems_;
  std::size_t dropped_ = 0;
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_SPEC_FINDINGS_H_

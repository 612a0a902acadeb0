// What must hold for one spec and target, whatever they are.
#ifndef HEDDLE_TESTS_RANDOM_SPECS_CHECK_H_
#define HEDDLE_TESTS_RANDOM_SPECS_CHECK_H_

#include <string>
#include <vector>

#include "heddle/error.h"
#include "heddle/inspect/source.h"
#include "heddle/target.h"
#include "tests/random_specs/draw.h"

namespace heddle {

struct Verdict {
  std::string fault;              // empty: all that must hold does
  std::vector<Problem> problems;  // of a refusal
  bool has_plan = false;
  std::vector<Source> sources;  // of a plan, those that were rendered
};

// `all_kernels`: renders each kernel of the plan, else one that `random` picks.
Verdict check_case(const std::string& spec, const Target& target, bool all_kernels, Random& random);

}  // namespace heddle

#endif  // HEDDLE_TESTS_RANDOM_SPECS_CHECK_H_

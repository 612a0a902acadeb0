// Which fields of a spec have problems.
#ifndef HEDDLE_TESTS_GENERATOR_SPEC_SPEC_POINTERS_H_
#define HEDDLE_TESTS_GENERATOR_SPEC_SPEC_POINTERS_H_

#include <string>
#include <vector>

#include "generator/operations/gemm/gemm.h"
#include "heddle/error.h"

namespace heddle {

// JSON pointers, one for each problem.
using Pointers = std::vector<std::string>;

inline Pointers pointers_of(const std::vector<Problem>& problems) {
  Pointers pointers;
  for (const Problem& problem : problems) pointers.push_back(problem.pointer);
  return pointers;
}

inline Pointers pointers_of(const GemmSpec& spec) { return pointers_of(check_meaning(spec)); }

}  // namespace heddle

#endif  // HEDDLE_TESTS_GENERATOR_SPEC_SPEC_POINTERS_H_

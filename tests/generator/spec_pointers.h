// Which fields of a spec have problems.
#ifndef HEDDLE_TESTS_GENERATOR_SPEC_POINTERS_H_
#define HEDDLE_TESTS_GENERATOR_SPEC_POINTERS_H_

#include <string>
#include <vector>

#include "generator/spec/meaning.h"
#include "heddle/error.h"

namespace heddle {

// JSON pointers, one for each problem.
inline std::vector<std::string> pointers_of(const GemmSpec& spec) {
  std::vector<std::string> pointers;
  for (const Problem& problem : check_meaning(spec)) pointers.push_back(problem.pointer);
  return pointers;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_GENERATOR_SPEC_POINTERS_H_

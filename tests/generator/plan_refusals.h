// What resolve() refuses, for the tests of this folder.
#ifndef HEDDLE_TESTS_GENERATOR_PLAN_REFUSALS_H_
#define HEDDLE_TESTS_GENERATOR_PLAN_REFUSALS_H_

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "heddle/error.h"
#include "heddle/inspect/plan.h"

namespace heddle {

// The error that resolve() throws; nothing if it throws none.
inline std::optional<Error> plan_error(const Spec& spec, const char* target) {
  try {
    resolve(spec, target_from_name(target));
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kUnsupported);
    EXPECT_EQ(error.code(), "plan.unsupported");
    return error;
  }
  return std::nullopt;
}

// What it says.
inline std::string refusal(const Spec& spec, const char* target) {
  const std::optional<Error> error = plan_error(spec, target);
  return error ? error->what() : "accepted";
}

// The pointers of the problems that it finds.
using Pointers = std::vector<std::string>;
inline Pointers refused_fields(const Spec& spec, const char* target) {
  Pointers pointers;
  if (const std::optional<Error> error = plan_error(spec, target)) {
    for (const Problem& problem : error->problems()) pointers.push_back(problem.pointer);
  }
  return pointers;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_GENERATOR_PLAN_REFUSALS_H_

// What resolve() refuses, for the tests of this folder.
#ifndef HEDDLE_TESTS_GENERATOR_PLANNER_PLAN_REFUSALS_H_
#define HEDDLE_TESTS_GENERATOR_PLANNER_PLAN_REFUSALS_H_

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "heddle/error.h"
#include "heddle/inspect/plan.h"
#include "tests/generator/spec/spec_pointers.h"

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
inline Pointers refused_fields(const Spec& spec, const char* target) {
  const std::optional<Error> error = plan_error(spec, target);
  return error ? pointers_of(error->problems()) : Pointers{};
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_GENERATOR_PLANNER_PLAN_REFUSALS_H_

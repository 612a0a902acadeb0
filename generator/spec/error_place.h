// Where an error belongs to.
#ifndef HEDDLE_GENERATOR_SPEC_ERROR_PLACE_H_
#define HEDDLE_GENERATOR_SPEC_ERROR_PLACE_H_

#include <string>
#include <string_view>
#include <vector>

#include "heddle/error.h"

namespace heddle {

// The error with `place` ("spec.json", "list.json[3]") in front of each problem.
Error at_place(std::string_view place, const Error& error);

// A line for each problem. A message that begins with the spec's name, as the planner's do, loses
// it: who prints the lines has a place of its own for it.
std::vector<std::string> problem_lines(const Error& error, const std::string& spec_name);
// The same in one line, with "; " between the problems.
std::string problem_line(const Error& error);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_SPEC_ERROR_PLACE_H_

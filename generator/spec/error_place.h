// Where an error belongs to.
#ifndef HEDDLE_GENERATOR_SPEC_ERROR_PLACE_H_
#define HEDDLE_GENERATOR_SPEC_ERROR_PLACE_H_

#include <string_view>

#include "heddle/error.h"

namespace heddle {

// The error with `place` ("spec.json", "list.json[3]") in front of each problem.
Error at_place(std::string_view place, const Error& error);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_SPEC_ERROR_PLACE_H_

// Refuses what a valid spec asks for and no kernel does.
#ifndef HEDDLE_GENERATOR_SPEC_REFUSE_IF_ANY_H_
#define HEDDLE_GENERATOR_SPEC_REFUSE_IF_ANY_H_

#include <vector>

#include "heddle/error.h"
#include "heddle/spec.h"

namespace heddle {

// Throws Error(kUnsupported) with all problems, if there are any, the spec's name in front of each.
void refuse_if_any(const Spec& spec, std::vector<Problem> problems);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_SPEC_REFUSE_IF_ANY_H_

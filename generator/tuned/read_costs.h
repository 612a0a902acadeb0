#ifndef HEDDLE_GENERATOR_TUNED_READ_COSTS_H_
#define HEDDLE_GENERATOR_TUNED_READ_COSTS_H_

#include <string>
#include <vector>

#include "generator/spec/document.h"
#include "generator/spec/findings.h"
#include "heddle/tuned.h"

namespace heddle {

// What an object says of families' costs, ascending by family, as far as nothing is wrong with it.
// Values of this library's version must be complete and within range. The parameters of another
// version are not known here: any names are accepted and kept.
std::vector<TunedCosts> read_costs(const Node& node, const std::string& pointer,
                                   Findings* findings);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_TUNED_READ_COSTS_H_

// The facts of a target in JSON, as reports and records have them.
#ifndef HEDDLE_GENERATOR_TARGET_TARGET_JSON_H_
#define HEDDLE_GENERATOR_TARGET_TARGET_JSON_H_

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "generator/spec/document.h"
#include "heddle/error.h"
#include "heddle/target.h"

namespace heddle {

// Adds the facts that the planner uses to what the object says of the target: not its name and its
// architecture.
void add_target_facts(const Target& target, nlohmann::ordered_json* object);

// Reads name, architecture and facts of a record's target, all of which must be there. Returns what
// is wrong, with pointers into the object: members that are missing, unknown, of another type or
// outside of their range (check_target.h); no number is cut or rounded to fit.
std::vector<Problem> read_target(const Node& object, Target* target);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_TARGET_TARGET_JSON_H_

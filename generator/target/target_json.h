// The facts of a target in JSON, as reports and records have them.
#ifndef HEDDLE_GENERATOR_TARGET_TARGET_JSON_H_
#define HEDDLE_GENERATOR_TARGET_TARGET_JSON_H_

#include <nlohmann/json_fwd.hpp>

#include "heddle/target.h"

namespace heddle {

// Adds the facts that the planner uses to what the object says of the target: not its name and its
// architecture.
void add_target_facts(const Target& target, nlohmann::ordered_json* object);
// The same facts of such an object. Throws nlohmann::json::exception where one is missing or of
// another type.
void read_target_facts(const nlohmann::json& object, Target* target);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_TARGET_TARGET_JSON_H_

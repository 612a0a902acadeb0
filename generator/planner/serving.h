// Which families may serve a spec, and what the user reads where none does: each family says why it
// cannot, and here all of that becomes one refusal.
#ifndef HEDDLE_GENERATOR_PLANNER_SERVING_H_
#define HEDDLE_GENERATOR_PLANNER_SERVING_H_

#include <string>
#include <vector>

#include "generator/families/family.h"
#include "heddle/inspect/plan.h"

namespace heddle {

// The families to ask for candidates, in the order of the registry: those without exclusions, or
// the one that owns the spec.
std::vector<const Family*> serving_families(const Spec& spec, const Target& target,
                                            const MRange& sizes);

// Every reason why no kernel exists for the spec on this target, whatever the tile: what the target
// lacks, and what each family does not serve. Empty if there may be one.
std::vector<Problem> refuse_on_target(const Spec& spec, const Target& target);

// Why none of the families that may serve these sizes has a kernel; empty where none of them
// insists on one. Precondition: they have no candidates.
std::vector<Problem> tile_refusals(const Plan& plan, const MRange& sizes);

// Throws Error(kUnsupported) with every reason why no family has a candidate for these sizes.
[[noreturn]] void throw_refusals(const Plan& plan, const MRange& sizes);

// Why the family has no candidate, for people: its own words.
std::string why_none(const Family& family, const Plan& plan, const MRange& sizes);

// The plan with the path before hopper.
Plan with_older_path(const Plan& plan);

// The path that the spec asks for.
Path path_of(const Spec& spec);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_SERVING_H_

// The launches that a command explains, or times candidates for: of --m or of --loads.
#ifndef HEDDLE_TOOLS_HEDDLE_RUN_LAUNCH_SIZES_H_
#define HEDDLE_TOOLS_HEDDLE_RUN_LAUNCH_SIZES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/spec.h"

namespace heddle {

// What the command line names; empty where it names none. Throws Error(kUsage) for an option that
// the operation does not have, for an M outside of the spec's range and for lengths that are drawn.
std::vector<LaunchSize> launch_sizes(const Spec& spec, const std::vector<std::int64_t>& m,
                                     const std::vector<std::string>& loads);

// Throws Error(kUsage) for --loads with an operation that has none.
void check_loads(const Spec& spec, const std::vector<std::string>& loads);
// Throws Error(kUsage) where `option` times candidates and those of the operation are not timed.
void check_has_candidates(const Spec& spec, const char* option);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_RUN_LAUNCH_SIZES_H_

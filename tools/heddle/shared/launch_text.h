// What reports say of the size of a launch, and of the sizes of a kernel.
#ifndef HEDDLE_TOOLS_HEDDLE_SHARED_LAUNCH_TEXT_H_
#define HEDDLE_TOOLS_HEDDLE_SHARED_LAUNCH_TEXT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "heddle/inspect/plan.h"
#include "heddle/spec.h"

namespace heddle {

// "M = 16", "64x8192", or "any size" where one kernel serves all.
std::string launch_text(const Spec& spec, const LaunchSize& size);
// {"m": 16}, {"sequences": 64, "length": 8192} or {}.
nlohmann::ordered_json launch_json(const Spec& spec, const LaunchSize& size);
// The sizes of a kernel: "M 1 to 16", "tokens 1 to 8160" or "any size".
std::string range_text(const Spec& spec, const MRange& sizes);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_SHARED_LAUNCH_TEXT_H_

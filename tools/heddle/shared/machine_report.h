// A GPU and a compiler as `heddle targets` and `heddle doctor` tell them.
#ifndef HEDDLE_TOOLS_HEDDLE_SHARED_MACHINE_REPORT_H_
#define HEDDLE_TOOLS_HEDDLE_SHARED_MACHINE_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "heddle/target.h"
#include "runtime/compile/nvrtc.h"

namespace heddle {

nlohmann::ordered_json target_json(const Target& target);

// Both open the library and throw what it throws.
nlohmann::ordered_json compiler_json(Nvrtc* nvrtc);
std::string compiler_text(Nvrtc* nvrtc);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_SHARED_MACHINE_REPORT_H_

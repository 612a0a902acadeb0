// What a version of NVRTC cannot do, as facts about that version: the only place that knows.
//
// Instructions that a version lacks are no limits: templates/primitives has older ones in their
// place.
#ifndef HEDDLE_RUNTIME_COMPILE_COMPILER_FACTS_H_
#define HEDDLE_RUNTIME_COMPILE_COMPILER_FACTS_H_

#include <optional>
#include <span>
#include <string>

namespace heddle {

struct CompilerVersion {
  int major = 0;
  int minor = 0;
};

// The first version that compiles for the architecture, which is 10 * major + minor of a compute
// capability (90 is sm_90a, too); nothing if the table does not have it.
std::optional<CompilerVersion> first_compiler_of(int arch);

// One sentence that says why a compiler of this version, which has the architectures `has` by its
// own account, cannot compile for `arch` ("sm_120a"), and what to do; nothing if it can or if
// `arch` is no name of a real architecture. Pure; any thread.
std::optional<std::string> why_not_compilable(const std::string& arch, CompilerVersion version,
                                              std::span<const int> has);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_COMPILE_COMPILER_FACTS_H_

// What the launches of all operations check. Pure; nothing allocates unless it throws.
#ifndef HEDDLE_RUNTIME_LAUNCH_CHECKS_H_
#define HEDDLE_RUNTIME_LAUNCH_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "heddle/inspect/plan.h"

namespace heddle {

// All throw Error(kUsage).
[[noreturn]] void refuse_launch(const char* code, std::string message);
// "launch.op": the plan is of another operation.
void check_op(const Plan& plan, Op op);
inline constexpr std::size_t kUsualAlignment = 16;
// And not null.
bool is_aligned(const void* pointer, std::size_t alignment = kUsualAlignment) noexcept;
// "launch.missing", "launch.misaligned"
void check_required(const void* pointer, const char* name, std::size_t alignment = kUsualAlignment);
// As check_required() where the spec asks for the pointer, else "launch.unexpected" if it is given:
// silently ignoring one would give wrong results.
void check_wanted(const void* pointer, bool wanted, const char* name,
                  std::size_t alignment = kUsualAlignment);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_LAUNCH_CHECKS_H_

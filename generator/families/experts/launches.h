// The launches of a layer of experts.
#ifndef HEDDLE_GENERATOR_FAMILIES_EXPERTS_LAUNCHES_H_
#define HEDDLE_GENERATOR_FAMILIES_EXPERTS_LAUNCHES_H_

#include <cstdint>

#include "generator/families/fields.h"
#include "heddle/inspect/plan.h"
#include "experts/config.h"

namespace heddle {

inline constexpr int kMoePhases = 4;

// The launch of a phase, which the kernel is told by `schedule`. Allocates nothing. Precondition:
// the kernel is one of a moe and serves so many tokens.
KernelLaunch moe_launch(const Plan& plan, const PlannedKernel& kernel, std::int64_t tokens,
                        device::MoePhase phase) noexcept;

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_EXPERTS_LAUNCHES_H_

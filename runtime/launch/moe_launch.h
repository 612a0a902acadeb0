// What a launch of a layer of experts is: its arguments' contract, which needs no GPU, and the
// launches.
#ifndef HEDDLE_RUNTIME_LAUNCH_MOE_LAUNCH_H_
#define HEDDLE_RUNTIME_LAUNCH_MOE_LAUNCH_H_

#include <cstddef>

#include "experts/parameters.h"
#include "heddle/inspect/plan.h"
#include "heddle/operations.h"

namespace heddle {

// Throws Error(kUsage) with the code "launch.missing", "launch.unexpected", "launch.misaligned",
// "launch.too_small", "launch.m", "launch.overlap" or "launch.workspace" if `args` break the
// contract of MoeArgs. `workspace_bytes` is what the launch needs. Precondition: a plan of a moe.
void validate(const Plan& plan, std::size_t workspace_bytes, const MoeArgs& args);

// What MoeKernel does. Precondition: a plan or kernel of a moe.
std::size_t moe_workspace_bytes(const Plan& plan, std::int64_t tokens);
std::size_t moe_workspace_bytes(const Kernel::State& state, std::int64_t tokens);
void launch(const Kernel::State& state, const MoeArgs& args, Stream stream);

// What the argument "tokens" of a launch maps: a matrix [rows][columns] of the activation's dtype,
// so many bytes behind the beginning of the workspace. Precondition: a kernel of a moe that has
// that argument; KernelLaunch::schedule of the launch.
struct MoeRows {
  std::int64_t offset;
  std::int64_t rows;
  std::int64_t columns;
};
MoeRows moe_rows(const PlannedKernel& kernel, std::int64_t tokens, int schedule);

// The kernel's one parameter.
using device::MoeParameters;

// Precondition: a spec of a moe whose plan's validate() accepts the arguments.
MoeParameters moe_parameters(const MoeSpec& spec, const MoeArgs& args) noexcept;

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_LAUNCH_MOE_LAUNCH_H_

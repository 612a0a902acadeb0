// What a launch of decode_attention is: its arguments' contract and what the kernel takes, which
// need no GPU, and the launch.
#ifndef HEDDLE_RUNTIME_LAUNCH_DECODE_ATTENTION_LAUNCH_H_
#define HEDDLE_RUNTIME_LAUNCH_DECODE_ATTENTION_LAUNCH_H_

#include <cstddef>
#include <cstdint>

#include "attention/parameters.h"
#include "heddle/inspect/plan.h"
#include "heddle/kernel.h"
#include "heddle/operations.h"

namespace heddle {

// Throws Error(kUsage) with the code "launch.missing", "launch.unexpected", "launch.misaligned",
// "launch.too_small", "launch.size" or "launch.workspace" if `args` break the contract of
// DecodeAttentionArgs. Precondition: a plan of decode_attention.
void validate(const Plan& plan, const DecodeAttentionArgs& args);
// As above, where plan.max_workspace_bytes() is known.
void validate(const Plan& plan, std::size_t workspace_bytes, const DecodeAttentionArgs& args);

// The kernel's one parameter.
using device::AttentionParameters;

// Precondition: validate() accepts the arguments.
AttentionParameters decode_attention_parameters(const Plan& plan,
                                                const DecodeAttentionArgs& args) noexcept;

// What the plan's choice of a kernel and its grid depend on: sequences are as long as they can be.
// Precondition: validate() accepts the arguments.
LaunchSize decode_attention_size(const Plan& plan, const DecodeAttentionArgs& args) noexcept;

// What DecodeAttentionKernel does. Precondition: a kernel of decode_attention.
void launch(const Kernel::State& state, const DecodeAttentionArgs& args, Stream stream);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_LAUNCH_DECODE_ATTENTION_LAUNCH_H_

// What a launch of kv_append is: its arguments' contract and what the kernel takes, which need no
// GPU, and the launch.
#ifndef HEDDLE_RUNTIME_LAUNCH_KV_APPEND_LAUNCH_H_
#define HEDDLE_RUNTIME_LAUNCH_KV_APPEND_LAUNCH_H_

#include <cstddef>
#include <cstdint>

#include "heddle/inspect/plan.h"
#include "heddle/kernel.h"
#include "heddle/operations.h"
#include "kv_append/parameters.h"
#include "runtime/launch/launch_checks.h"

namespace heddle {

// Bytes that arrays of FP32 and of 32-bit integers are aligned to.
inline constexpr std::size_t kNumberAlignment = 4;

// Throws Error(kUsage) with the code "launch.missing", "launch.unexpected", "launch.misaligned",
// "launch.too_small", "launch.size" or "launch.overlap" if `args` break the contract of
// KvAppendArgs. Precondition: a plan of kv_append.
void validate(const Plan& plan, const KvAppendArgs& args);
// The tensors' and the table's part of it, for every operation on a cache of `sequences`. A
// contiguous one has at most 2^30 tokens for each sequence, and rows (tokens times heads) that 32
// bits count.
void validate(const KvSpec& kv, const KvShape& shape, const KvCache& cache, std::int64_t sequences);
// KvCache::page_tokens alone: what a paged cache's spec says, or tokens that a contiguous one may
// have. Throws "launch.size".
void validate_page_tokens(const KvSpec& kv, std::int64_t page_tokens, int kv_heads);

// The kernel's one parameter.
using device::KvAppendParameters;

// Precondition: validate() accepts the arguments. `launch`: the plan's for kv_append_size().
KvAppendParameters kv_append_parameters(const Plan& plan, const KvAppendArgs& args,
                                        const KernelLaunch& launch) noexcept;
LaunchSize kv_append_size(const KvAppendArgs& args) noexcept;

// What KvAppendKernel does. Precondition: a kernel of kv_append.
void launch(const Kernel::State& state, const KvAppendArgs& args, Stream stream);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_LAUNCH_KV_APPEND_LAUNCH_H_

// Runs a decode_attention kernel on given data.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_DECODE_ATTENTION_CHECK_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_DECODE_ATTENTION_CHECK_H_

#include <cstdint>
#include <vector>

#include "tools/gpu_harness/harness.h"
#include "tools/gpu_harness/operations/decode_attention/problem.h"

namespace heddle {

// In the current context, for whose device the kernel was loaded. Throws Error.
Check check_attention(const Kernel& kernel, const AttentionProblem& problem);
// The output's bits, of one launch.
std::vector<std::uint16_t> run_attention(const Kernel& kernel, const AttentionProblem& problem);
// As above, where kernels just before write the block table and the lengths, and others were there
// until then. Of a paged cache.
std::vector<std::uint16_t> run_attention_after_late_writes(const Kernel& kernel,
                                                           const AttentionProblem& problem);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_DECODE_ATTENTION_CHECK_H_

// Runs a decode_attention kernel on random data and compares it with FP64.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_ATTENTION_CHECK_H_
#define HEDDLE_TOOLS_GPU_HARNESS_ATTENTION_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/kernel.h"
#include "tools/gpu_harness/attention_problem.h"

namespace heddle {

struct AttentionCheck {
  double error = 0;  // relative Frobenius norm
  double limit = 0;
  double log_sum_error = 0;  // the largest; 0 without
  double log_sum_limit = 0;
  bool guards_intact = false;
  bool repeatable = false;

  bool passed() const noexcept {
    return error < limit && log_sum_error < log_sum_limit && guards_intact && repeatable;
  }
  std::string fault() const;  // empty if there is none
};

// In the current context, for whose device the kernel was loaded. Throws Error.
AttentionCheck check_attention(const Kernel& kernel, const AttentionProblem& problem,
                               const ExpectedAttention& expected);
// The output's bits, of one launch.
std::vector<std::uint16_t> run_attention(const Kernel& kernel, const AttentionProblem& problem);
// As above, where kernels just before write the block table and the lengths, and others were there
// until then. Of a paged cache.
std::vector<std::uint16_t> run_attention_after_late_writes(const Kernel& kernel,
                                                           const AttentionProblem& problem);

// Sequences without tokens, with one, around pages and tiles, and longer ones.
std::vector<std::int32_t> ragged_lengths(const DecodeAttentionSpec& spec);
AttentionCheck check_attention(const Kernel& kernel, std::uint32_t seed = 1);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_ATTENTION_CHECK_H_

// Random input of decode_attention, and what must come of it by FP64 on the dequantised cache.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_DECODE_ATTENTION_PROBLEM_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_DECODE_ATTENTION_PROBLEM_H_

#include <cstdint>
#include <vector>

#include "heddle/spec.h"
#include "tools/gpu_harness/operations/decode_attention/input.h"

namespace heddle {

// Random codes, without those of NaN and infinity, with scales that make the values about one.
// Where no token lies, codes, scales and the window are all ones: NaN, for floats. The same seed
// gives the same data, whatever the pages' order, which `page_seed` decides.
AttentionProblem make_attention_problem(const DecodeAttentionSpec& spec,
                                        const std::vector<std::int32_t>& lengths,
                                        std::uint32_t seed = 1, std::uint32_t page_seed = 1);

struct ExpectedAttention {
  std::vector<double> out;
  std::vector<double> log_sum_exp;
};
ExpectedAttention expected_attention(const DecodeAttentionSpec& spec,
                                     const AttentionProblem& problem);

// How far a logarithm of sums may be from it. With scales of K per channel Q times these is rounded
// to FP16, as K would be that were turned back into FP16.
double log_sum_limit(const DecodeAttentionSpec& spec) noexcept;

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_DECODE_ATTENTION_PROBLEM_H_

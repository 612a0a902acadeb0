// Random input of decode_attention, and what must come of it by FP64 on the dequantised cache.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_DECODE_ATTENTION_PROBLEM_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_DECODE_ATTENTION_PROBLEM_H_

#include <array>
#include <cstdint>
#include <vector>

#include "heddle/spec.h"

namespace heddle {

struct AttentionProblem {
  std::vector<std::int32_t> lengths;
  std::int64_t pages = 0;
  std::int64_t page_tokens = 0;
  std::int64_t table_stride = 0;
  std::vector<std::int32_t> block_table;           // pages in a random order; empty if contiguous
  std::array<std::vector<std::uint8_t>, 2> codes;  // of K, of V
  std::array<std::vector<std::uint8_t>, 2> scales;
  std::array<float, 4> given{};  // scale and zero point of K, of V
  // With scales per channel of K: the window, and each sequence's slot, in a random order. A
  // contiguous cache has no slots: a sequence's is its number.
  std::vector<std::uint16_t> residual;
  std::vector<std::int32_t> residual_slots;
  std::int64_t residual_slot_count = 0;
  std::vector<std::uint16_t> q;
  std::vector<float> slopes;
  std::vector<float> sinks;
};

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

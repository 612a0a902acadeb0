// What `heddle run` and `heddle bench` do with decode_attention.
#ifndef HEDDLE_TOOLS_HEDDLE_DECODE_ATTENTION_H_
#define HEDDLE_TOOLS_HEDDLE_DECODE_ATTENTION_H_

#include <cstdint>
#include <vector>

#include "heddle/runtime.h"
#include "heddle/spec.h"
#include "tools/gpu_harness/attention_bench.h"

namespace heddle {

// A ragged batch of random data beside FP64. Prints the outcome; returns the exit code.
int run_decode_attention(Runtime& runtime, const Spec& spec, std::uint32_t seed, bool json);
// Each load beside the time of its bytes; of no loads those from one short sequence to many long
// ones. Prints the times; returns the exit code.
int bench_decode_attention(Runtime& runtime, const Spec& spec,
                           const std::vector<AttentionLoad>& loads, const TimingBudget& budget,
                           bool json);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_DECODE_ATTENTION_H_

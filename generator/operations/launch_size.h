// Which sizes a launch may have. Everything here throws Error(kUsage, "launch.size") or "launch.m".
#ifndef HEDDLE_GENERATOR_OPERATIONS_LAUNCH_SIZE_H_
#define HEDDLE_GENERATOR_OPERATIONS_LAUNCH_SIZE_H_

#include <cstdint>

#include "heddle/inspect/plan.h"
#include "heddle/spec.h"

namespace heddle {

void refuse_unless_zero(std::int64_t value, const char* name);
// `least` to the largest 32-bit integer.
void check_count(std::int64_t value, std::int64_t least, const char* name);
void check_m(const MRange& range, std::int64_t m);
// New tokens of kv_append and their sequences. Without new tokens there may be no sequences.
void check_append_size(const LaunchSize& size, std::int64_t least_tokens);
// Sequences of decode_attention.
void check_sequences(std::int64_t sequences, std::int64_t least);
// That the kernels can count the tokens of all sequences, of which each may have `capacity`: before
// their lengths are known on the device every sequence counts as full. Precondition: there are at
// most kMostSequences of at most kMostSequenceTokens.
void check_tokens(const DecodeAttentionSpec& spec, std::int64_t sequences, std::int64_t capacity);
void check_attention_size(const DecodeAttentionSpec& spec, const LaunchSize& size);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_OPERATIONS_LAUNCH_SIZE_H_

// How decode_attention is cut into warps, stages and blocks.
#ifndef HEDDLE_GENERATOR_FAMILIES_DECODE_ATTENTION_CONFIG_H_
#define HEDDLE_GENERATOR_FAMILIES_DECODE_ATTENTION_CONFIG_H_

#include <vector>

#include "decode_attention/config.h"
#include "generator/kv/sequence_limits.h"
#include "heddle/kv_spec.h"
#include "heddle/target.h"

namespace heddle {

static_assert(device::kMostSequences == kMostSequences, "the kernels have room for as many");

// A kernel's configuration and how many of its blocks an SM holds.
struct AttentionChoice {
  device::DecodeAttentionConfig config;
  int blocks_per_sm;
};

// The candidates of a plan: blocks of four warps, from as many of an SM as registers and shared
// memory allow down to one; one block of two warps and of one; and wide blocks, where they have
// been measured. Each has as many stages as are useful and fit. Empty if two tiles do not fit in
// shared memory. Precondition: refuse_attention_tensors() finds nothing.
std::vector<AttentionChoice> attention_choices(const DecodeAttentionSpec& spec,
                                               const Target& target);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_DECODE_ATTENTION_CONFIG_H_

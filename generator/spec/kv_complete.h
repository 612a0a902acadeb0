// What a kv block leaves open.
#ifndef HEDDLE_GENERATOR_SPEC_KV_COMPLETE_H_
#define HEDDLE_GENERATOR_SPEC_KV_COMPLETE_H_

#include "heddle/spec.h"

namespace heddle {

// Fill in granularities, group sizes, types of scales and sizes that the spec leaves to the others,
// so that two specs that mean the same have the same canonical text. What contradicts itself stays:
// check_meaning() refuses it. Idempotent.
void complete(KvAppendSpec& spec);
void complete(DecodeAttentionSpec& spec);

// Equation 22 of the YaRN paper (arXiv:2309.00071) for a factor of at least 1. `multiplier`: what
// some models call mscale.
float yarn_attention_factor(double factor, double multiplier = 1);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_SPEC_KV_COMPLETE_H_

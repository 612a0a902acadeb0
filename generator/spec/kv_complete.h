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

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_SPEC_KV_COMPLETE_H_

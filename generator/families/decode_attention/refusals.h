#ifndef HEDDLE_GENERATOR_FAMILIES_DECODE_ATTENTION_REFUSALS_H_
#define HEDDLE_GENERATOR_FAMILIES_DECODE_ATTENTION_REFUSALS_H_

#include <vector>

#include "heddle/error.h"
#include "heddle/kv_spec.h"

namespace heddle {

// Why the cache's tensors have no kernel on any target. Precondition: check_meaning() finds
// nothing.
std::vector<Problem> refuse_attention_tensors(const DecodeAttentionSpec& spec);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_DECODE_ATTENTION_REFUSALS_H_

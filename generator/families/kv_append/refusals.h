#ifndef HEDDLE_GENERATOR_FAMILIES_KV_APPEND_REFUSALS_H_
#define HEDDLE_GENERATOR_FAMILIES_KV_APPEND_REFUSALS_H_

#include <vector>

#include "heddle/error.h"
#include "heddle/spec.h"
#include "heddle/target.h"

namespace heddle {

// Why kv_append has no kernel for a spec on a target.
std::vector<Problem> refuse_kv_append(const KvAppendSpec& spec, const Target& target);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_KV_APPEND_REFUSALS_H_

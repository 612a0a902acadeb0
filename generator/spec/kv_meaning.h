// The rules between the fields of "kv".
#ifndef HEDDLE_GENERATOR_SPEC_KV_MEANING_H_
#define HEDDLE_GENERATOR_SPEC_KV_MEANING_H_

#include <vector>

#include "heddle/error.h"
#include "heddle/spec.h"

namespace heddle {

using Problems = std::vector<Problem>;

// Precondition: the kv block is complete.
void check_kv(const KvSpec& kv, int head_dim, Problems& problems);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_SPEC_KV_MEANING_H_

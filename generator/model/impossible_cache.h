// Caches that no GPU's kernels take: what is wrong is the kv block that the user wrote.
#ifndef HEDDLE_GENERATOR_MODEL_IMPOSSIBLE_CACHE_H_
#define HEDDLE_GENERATOR_MODEL_IMPOSSIBLE_CACHE_H_

#include "heddle/error.h"
#include "heddle/spec.h"

namespace heddle {

bool is_of_kv_block(const Problem& problem);

// Throws Error(kSpec, "model.impossible_cache") where no target has a kernel for the spec and its
// kv block alone is to blame: it contradicts itself, or no kernel takes it with the model's heads.
// What else is wrong is left to resolve().
void refuse_impossible_cache(const Spec& spec);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_IMPOSSIBLE_CACHE_H_

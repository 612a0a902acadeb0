// What the files of the C API share that take a spec with a key-value cache.
#ifndef HEDDLE_RUNTIME_C_API_KV_H_
#define HEDDLE_RUNTIME_C_API_KV_H_

#include "heddle/kv_cache.h"
#include "heddle/spec.h"

namespace heddle::c_api {

// Throws Error(kUsage, "api.op") for an operation without a cache.
void need_cache(const Spec& spec);

// Throws what makes the spec senseless. Precondition: it has a cache.
KvCacheLayout cache_layout_of(const Spec& spec);

}  // namespace heddle::c_api

#endif  // HEDDLE_RUNTIME_C_API_KV_H_

// The templates' names of granularities of a cache.
#ifndef HEDDLE_GENERATOR_RENDER_KV_GRANULARITY_H_
#define HEDDLE_GENERATOR_RENDER_KV_GRANULARITY_H_

#include <string>

#include "heddle/spec.h"

namespace heddle {

// The enumerator of KvGranularity in kv/granularity.cuh. Precondition: a kernel's spec has this
// granularity, which leaves out kAuto.
std::string kv_granularity_name(KvGranularity granularity);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_RENDER_KV_GRANULARITY_H_

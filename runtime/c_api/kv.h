// What the files of the C API share that take a spec with a key-value cache.
#ifndef HEDDLE_RUNTIME_C_API_KV_H_
#define HEDDLE_RUNTIME_C_API_KV_H_

#include <cstddef>
#include <cstdint>
#include <limits>

#include "heddle/kv_cache.h"
#include "heddle/spec.h"
#include "runtime/c_api/call.h"

namespace heddle::c_api {

// Throws Error(kUsage, "api.op") for an operation without a cache.
Spec spec_with_cache(const char* spec, std::size_t spec_length);

// Throws what makes the spec senseless. Precondition: it has a cache.
KvCacheLayout cache_layout_of(const Spec& spec);

// Tokens of a page of the cache's tensors, of a contiguous cache those of a sequence. Throws
// Error(kUsage, "launch.size") for a number that a launch would refuse, and for none where the
// spec does not tell it.
std::int64_t tokens_of_page(const Spec& spec, std::int64_t page_tokens);

inline constexpr std::int64_t kMostPages = std::numeric_limits<std::int32_t>::max();
// Both throw Error(kUsage, "api.kv"): unless it is a number of pages; for a tensor of so many
// bytes.
void need_pages(std::int64_t pages);
void need_addressable(std::size_t bytes, std::int64_t pages, std::int64_t page_tokens);

}  // namespace heddle::c_api

#endif  // HEDDLE_RUNTIME_C_API_KV_H_

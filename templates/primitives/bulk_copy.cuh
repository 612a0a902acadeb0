// Bulk copies, sm_90 and up: one thread starts a copy of many bytes, and an mbarrier counts them
// in. Addresses and sizes are multiples of 16 bytes.
#pragma once

#include "primitives/types.cuh"

namespace heddle {

// cp.async.bulk: from global to shared memory, for data that is read once: the L2 cache may drop it
// first.
__device__ __forceinline__ void bulk_copy_once(u32 shared, const void* global, u32 bytes,
                                               u32 barrier) {
  asm volatile(
      "{ .reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0; "
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1], %2, [%3], policy; }" ::"r"(shared),
      "l"(global), "r"(bytes), "r"(barrier)
      : "memory");
}
// fence.proxy.async: orders this thread's ordinary accesses to shared memory before bulk copies
// that are started later.
__device__ __forceinline__ void async_proxy_fence() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
}  // namespace heddle

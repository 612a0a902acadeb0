// Bulk copies, sm_90 and up: one thread starts a copy of many bytes, and an mbarrier counts them
// in. Addresses and sizes are multiples of 16 bytes.
#pragma once

#include "primitives/types.cuh"

namespace heddle {

// createpolicy: for data that is read once, which the L2 cache may drop first.
__device__ __forceinline__ u64 policy_read_once() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
// cp.async.bulk: from global to shared memory.
__device__ __forceinline__ void bulk_copy(u32 shared, const void* global, u32 bytes, u32 barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared),
      "l"(global), "r"(bytes), "r"(barrier)
      : "memory");
}
// bulk_copy() with policy_read_once().
__device__ __forceinline__ void bulk_copy_once(u32 shared, const void* global, u32 bytes,
                                               u32 barrier, u64 policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1], %2, [%3], %4;" ::"r"(shared),
      "l"(global), "r"(bytes), "r"(barrier), "l"(policy)
      : "memory");
}

}  // namespace heddle

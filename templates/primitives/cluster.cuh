// Thread block clusters, sm_90 and up: blocks that run at the same time and reach each other's
// shared memory.
#pragma once

#include "primitives/types.cuh"

namespace heddle {

// %cluster_ctarank: this block's number in its cluster.
__device__ __forceinline__ u32 cluster_rank() {
  u32 rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// barrier.cluster: every thread of every block of the cluster arrives; their accesses are ordered.
__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// cp.async.bulk with .multicast: to the same place in the shared memory of every block in the mask,
// each of whose own mbarriers counts the bytes in.
__device__ __forceinline__ void bulk_copy_to_all(u32 shared, const void* global, u32 bytes,
                                                 u32 barrier, u32 mask) {
  asm volatile(
      "{ .reg .b16 m; cvt.u16.u32 m, %4; "
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1], %2, [%3], m; }" ::"r"(shared),
      "l"(global), "r"(bytes), "r"(barrier), "r"(mask)
      : "memory");
}

}  // namespace heddle

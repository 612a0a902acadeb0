// Thread block clusters, sm_90 and up: blocks that run at the same time and reach each other's
// shared memory.
#pragma once

#include "primitives/types.cuh"
#include "primitives/versions.cuh"

namespace heddle {

// %cluster_ctarank: this block's number in its cluster.
__device__ __forceinline__ u32 cluster_rank() {
  u32 rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// %cluster_nctaid: how many blocks the cluster has; 1 without one. This and the next two are read
// again wherever they are asked for.
__device__ __forceinline__ u32 cluster_size() {
  u32 size;
  asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(size));
  return size;
}
// %clusterid: this cluster's number; the block's where there are no clusters.
__device__ __forceinline__ u32 cluster_index() {
  u32 index;
  asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(index));
  return index;
}
// %nclusterid: how many clusters the grid has.
__device__ __forceinline__ u32 cluster_count() {
  u32 count;
  asm volatile("mov.u32 %0, %%nclusterid.x;" : "=r"(count));
  return count;
}
// barrier.cluster: every thread of every block of the cluster arrives or has ended; their accesses
// are ordered.
__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// barrier.cluster, relaxed: the same without the order, which takes a fence of the whole GPU. What
// a thread has loaded and used has been read, though, and barriers in shared memory are there that
// were made before mbarrier_init_fence(). In two parts, or at once.
__device__ __forceinline__ void cluster_arrive_unordered() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_barrier_unordered() {
  cluster_arrive_unordered();
  cluster_wait();
}
// mapa: where in the shared memory of the cluster's block `rank` an address of this block's lies.
__device__ __forceinline__ u32 address_in_block(u32 shared, u32 rank) {
  u32 remote;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(shared), "r"(rank));
  return remote;
}
// st.async: 16 bytes into another block's shared memory, where that block's mbarrier counts them
// in. Both addresses are address_in_block()'s.
// NVRTC 12.0 does not know it. There the same is done in three steps: st.shared::cluster stores,
// mbarrier.complete_tx counts the bytes in, and the fence between them makes the pair a release at
// the scope of the cluster, which mbarrier_wait_cluster() acquires: who sees the count sees the
// bytes. Arrivals and bytes of the barrier are the same in both.
__device__ __forceinline__ void store_remote_floats(u32 remote, f32x4 v, u32 remote_barrier) {
#if HEDDLE_COMPILER_AT_LEAST(12, 1)
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, "
      "[%5];" ::"r"(remote),
      "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w), "r"(remote_barrier)
      : "memory");
#else
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(remote), "f"(v.x),
               "f"(v.y), "f"(v.z), "f"(v.w)
               : "memory");
  asm volatile("fence.acq_rel.cluster;" ::: "memory");
  asm volatile(
      "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], 16;" ::"r"(remote_barrier)
      : "memory");
#endif
}
// mbarrier.arrive on another block's barrier, by who has read a place in its own shared memory that
// the other block may fill again with store_remote_floats(). Release at the scope of this block is
// enough for that; at the scope of the cluster it waits for all stores of the thread to global
// memory.
__device__ __forceinline__ void mbarrier_arrive_remote(u32 remote_barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(remote_barrier) : "memory");
}
// mbarrier.arrive on another block's barrier in a thread where `arrives` holds, without a branch.
// Orders nothing: for reads that have ended, as wgmma_wait() tells of those of wgmma. A release
// would wait for all of the thread's accesses to memory.
// NVRTC before 12.8 has no relaxed arrival. There it is the one of mbarrier_arrive_remote(), which
// arrives in the same way and orders more than is needed.
__device__ __forceinline__ void mbarrier_arrive_remote_if(bool arrives, u32 remote_barrier) {
#if HEDDLE_COMPILER_AT_LEAST(12, 8)
#define HEDDLE_ARRIVE "mbarrier.arrive.relaxed.cluster.shared::cluster.b64"
#else
#define HEDDLE_ARRIVE "mbarrier.arrive.shared::cluster.b64"
#endif
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %0, 0; @p " HEDDLE_ARRIVE
               " _, [%1]; }" ::"r"(static_cast<u32>(arrives)),
               "r"(remote_barrier)
               : "memory");
#undef HEDDLE_ARRIVE
}
// mbarrier.try_wait for what other blocks of the cluster have done.
__device__ __forceinline__ void mbarrier_wait_cluster(u32 barrier, u32 parity) {
  u32 done;
  do {
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; "
        "selp.b32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (!done);
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

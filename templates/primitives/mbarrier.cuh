// Barriers in shared memory, sm_90 and up: a phase ends when all arrivals have come and all bytes
// that were expected have been written by bulk copies. Phases alternate between parity 0 and 1; the
// first one has parity 0.
#pragma once

#include "primitives/types.cuh"

namespace heddle {

// mbarrier.init. Other threads may use the barrier after mbarrier_init_fence() and a barrier of
// theirs.
__device__ __forceinline__ void mbarrier_init(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// fence.mbarrier_init: makes initialised barriers visible to the bulk copy engine, too.
__device__ __forceinline__ void mbarrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
// mbarrier.arrive: orders this thread's earlier accesses before those of whoever waits.
__device__ __forceinline__ void mbarrier_arrive(u32 barrier) {
  asm volatile("{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0]; }" ::"r"(barrier)
               : "memory");
}
// Arrives in a thread where `arrives` holds, without a branch.
__device__ __forceinline__ void mbarrier_arrive_if(bool arrives, u32 barrier) {
  asm volatile(
      "{ .reg .pred p; .reg .b64 state; setp.ne.b32 p, %0, 0; "
      "@p mbarrier.arrive.shared::cta.b64 state, [%1]; }" ::"r"(static_cast<u32>(arrives)),
      "r"(barrier)
      : "memory");
}
// mbarrier.arrive.expect_tx: arrives, and the phase also waits for `bytes` bytes.
__device__ __forceinline__ void mbarrier_arrive_expect(u32 barrier, u32 bytes) {
  asm volatile(
      "{ .reg .b64 state; mbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1; }" ::"r"(
          barrier),
      "r"(bytes)
      : "memory");
}
// mbarrier.try_wait: returns once the phase of that parity has ended.
__device__ __forceinline__ void mbarrier_wait(u32 barrier, u32 parity) {
  u32 done;
  do {
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; "
        "selp.b32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (!done);
}

}  // namespace heddle

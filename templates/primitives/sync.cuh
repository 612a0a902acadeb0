// Order between threads and between blocks.
#pragma once

#include "primitives/types.cuh"

namespace heddle {

// bar.sync 0: every thread of the block arrives; their shared memory accesses are ordered.
__device__ __forceinline__ void block_barrier() { __syncthreads(); }

// bar.warp.sync: the same for the 32 threads of a warp.
__device__ __forceinline__ void warp_barrier() { __syncwarp(); }

// shfl.sync: the value of one lane, in all of them.
__device__ __forceinline__ u32 broadcast(u32 value, int lane) {
  return __shfl_sync(0xffffffffu, value, lane);
}

// shfl.sync.idx: the value of the lane that each lane names.
__device__ __forceinline__ u32 shuffle(u32 value, int lane) {
  return __shfl_sync(0xffffffffu, value, lane);
}

// shfl.sync.bfly: the value of the lane whose number differs in the bits of `mask`.
__device__ __forceinline__ float shuffle_xor(float value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}
__device__ void shuffle_xor(u32 value, int mask) = delete;  // it would become a float

// vote.sync.ballot: bit i is what lane i of the warp says.
__device__ __forceinline__ u32 ballot(bool value) { return __ballot_sync(0xffffffffu, value); }

// shfl.sync.up: the value of the lane `lanes` before; the first ones get their own.
__device__ __forceinline__ int shuffle_up(int value, int lanes) {
  return __shfl_up_sync(0xffffffffu, value, lanes);
}

// redux.sync.add, sm_80 and up: the sum of the values of all lanes, in each of them.
__device__ __forceinline__ int sum_of_lanes(int value) {
  int sum;
  asm volatile("redux.sync.add.s32 %0, %1, 0xffffffff;" : "=r"(sum) : "r"(value));
  return sum;
}

// redux.sync.max, sm_80 and up: the largest value of all lanes, in each of them.
__device__ __forceinline__ u32 max_of_lanes(u32 value) {
  u32 most;
  asm volatile("redux.sync.max.u32 %0, %1, 0xffffffff;" : "=r"(most) : "r"(value));
  return most;
}

// vote.sync.any: whether the condition holds in any lane.
__device__ __forceinline__ bool any_lane(bool condition) {
  return __any_sync(0xffffffffu, condition) != 0;
}

// elect.sync, sm_90 and up: true in one lane of the warp, always the same one, and the compiler
// knows that what it does is done once.
__device__ __forceinline__ bool elect_one() {
  u32 elected;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p; }"
               : "=r"(elected)::"memory");
  return elected != 0;
}

// fence.acq_rel.gpu: orders this thread's accesses as seen by the whole device.
__device__ __forceinline__ void device_fence() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

// atom.add: returns the value before.
__device__ __forceinline__ u32 atomic_add(u32* address, u32 value) {
  u32 old;
  asm volatile("atom.global.gpu.add.u32 %0, [%1], %2;"
               : "=r"(old)
               : "l"(address), "r"(value)
               : "memory");
  return old;
}

// ld.acquire.gpu: what the writer of this value wrote before it is there for this thread.
__device__ __forceinline__ u32 load_acquire(const u32* address) {
  u32 value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

// shfl.sync.down.b32 among each 16 lanes of a warp, all of which call it: lane i of them gets the
// value of lane i + 8; the upper eight get their own.
__device__ __forceinline__ u32 shuffle_down_8(u32 value) {
  u32 d;
  asm volatile("shfl.sync.down.b32 %0, %1, 8, 0x101f, 0xffffffff;" : "=r"(d) : "r"(value));
  return d;
}

// red.shared.add: adds; no one is told the value before.
__device__ __forceinline__ void shared_add(u32 shared_address, u32 value) {
  asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(shared_address), "r"(value) : "memory");
}

// red.shared.max: for unsigned integers.
__device__ __forceinline__ void shared_max(u32 shared_address, u32 value) {
  asm volatile("red.shared.max.u32 [%0], %1;" ::"r"(shared_address), "r"(value) : "memory");
}

// red.shared.min: for unsigned integers.
__device__ __forceinline__ void shared_min(u32 shared_address, u32 value) {
  asm volatile("red.shared.min.u32 [%0], %1;" ::"r"(shared_address), "r"(value) : "memory");
}

}  // namespace heddle

// Warpgroups, four neighbouring warps, as parts of a block with work of their own; sm_90a only.
#pragma once

#include "primitives/types.cuh"

namespace heddle {

// setmaxnreg: all warps of the warpgroup give registers back, or wait until they have got more.
// kRegisters of each thread: a multiple of 8, 24 to 256.
template <int kRegisters>
__device__ __forceinline__ void shrink_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void grow_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
// bar.sync: the 128 threads of a warpgroup meet; their shared memory accesses are ordered.
// `barrier` is 1 to 15, one for each warpgroup.
__device__ __forceinline__ void warpgroup_barrier(int barrier) {
  asm volatile("bar.sync %0, 128;" ::"r"(barrier) : "memory");
}

// bar.sync: the same for several warpgroups.
template <int kWarpgroups>
__device__ __forceinline__ void warpgroups_barrier(int barrier) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(128 * kWarpgroups) : "memory");
}

}  // namespace heddle

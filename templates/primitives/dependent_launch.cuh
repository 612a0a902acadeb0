// Programmatic dependent launch, of sm_90 and up. Without the launch attribute both do nothing, and
// on other architectures, which have neither.
#pragma once

#include "primitives/types.cuh"

namespace heddle {

// griddepcontrol.launch_dependents: the next kernel of the stream may start where there is room.
// Kernels call it ahead of wait_for_predecessor(), so that several of a stream may be under way:
// what one reads before its wait, weights, no kernel that still runs may write. One that calls it
// behind its wait lets its successor read more early: what the kernel before it has written
// (experts/phases.cuh).
__device__ __forceinline__ void launch_dependents() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
// griddepcontrol.wait: until the kernel before has ended and its stores are visible. What others
// may still write is read, and what they may read is written, after this only.
__device__ __forceinline__ void wait_for_predecessor() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace heddle

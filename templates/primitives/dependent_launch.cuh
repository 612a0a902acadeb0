// Programmatic dependent launch, sm_90 and up. Without the launch attribute both do nothing.
#pragma once

#include "primitives/types.cuh"

namespace heddle {

// griddepcontrol.launch_dependents: the next kernel of the stream may start where there is room.
__device__ __forceinline__ void launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
// griddepcontrol.wait: until the kernel before has ended and its stores are visible. What others
// may have written is read, and what they may read is written, after this only.
__device__ __forceinline__ void wait_for_predecessor() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

}  // namespace heddle

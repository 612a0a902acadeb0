// How the launches of a layer follow each other. Each may start early, and waits for the one before
// it. kGateUp lets the next one start behind its own wait only: by then kRoute has ended, so that
// kDown and kSum may read what kRoute has left (tiles, rows, the tokens' choices) ahead of their
// waits, and the weights that these name.
#pragma once

#include "experts/config.h"
#include "primitives/dependent_launch.cuh"

namespace heddle {

// Every thread calls it first. kDown and kSum wait themselves. Kernels without kRoute read the
// choices in its place, of the caller or of kChoose; their kGateUp waits and lets the next launch
// start itself, in this order.
__device__ __forceinline__ void begin_phase(MoePhase phase) {
  if (phase == MoePhase::kGateUp) {
    wait_for_predecessor();
    launch_dependents();
  } else {
    launch_dependents();
    if (phase == MoePhase::kChoose || phase == MoePhase::kRoute) wait_for_predecessor();
  }
}

}  // namespace heddle

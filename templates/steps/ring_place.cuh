// Where in a ring of kStages stages a role is; every role walks it in the same order.
#pragma once

#include "primitives/types.cuh"

namespace heddle {

template <class Config>
struct RingPlace {
  int stage = 0;
  u32 parity = 0;  // of the phase in which the stage is filled

  __device__ __forceinline__ void advance() {
    if (++stage == Config::value.stages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

}  // namespace heddle

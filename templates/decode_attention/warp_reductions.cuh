// Reductions over the lanes of a warp; every lane gets the result.
#pragma once

#include "primitives/float.cuh"
#include "primitives/sync.cuh"

namespace heddle {

__device__ __forceinline__ float warp_max(float x) {
  x = larger(x, shuffle_xor(x, 1));
  x = larger(x, shuffle_xor(x, 2));
  x = larger(x, shuffle_xor(x, 4));
  x = larger(x, shuffle_xor(x, 8));
  return larger(x, shuffle_xor(x, 16));
}

}  // namespace heddle

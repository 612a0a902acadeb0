// Which row blocks a block works on: every so many, so that all blocks read from one region of W at
// a time.
#pragma once

#include "primitives/types.cuh"

namespace heddle {

template <class Config>
struct StreamRows {
  int owner =
      static_cast<int>(blockIdx.x) / Config::value.split_k;  // number of the group of blocks
  int owners = static_cast<int>(gridDim.x) / Config::value.split_k;  // that share the row blocks

  __device__ __forceinline__ int count() const {
    return (Config::value.weights.row_blocks - owner + owners - 1) / owners;
  }
  // The i-th of this block, as far as count() goes.
  __device__ __forceinline__ int row_block(int i) const { return owner + i * owners; }
};

}  // namespace heddle

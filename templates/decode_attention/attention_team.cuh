// Blocks that take the same segments, each of them a part of every segment's tiles: those of a
// cluster, a power of two. A block alone where a launch has no clusters. Nothing of this is held in
// registers, which the loop over tiles has none for.
#pragma once

#include "primitives/cluster.cuh"

namespace heddle {

template <class Config>
struct AttentionTeam {
  static constexpr bool kAlone = Config::value.most_team == 1;
  static __device__ __forceinline__ int blocks() {
    if constexpr (kAlone) return 1;
    return static_cast<int>(cluster_size());
  }
  static __device__ __forceinline__ int rank() {
    if constexpr (kAlone) return 0;
    return static_cast<int>(blockIdx.x & (cluster_size() - 1));
  }
  // This team's number, and how many there are.
  static __device__ __forceinline__ int index() {
    if constexpr (kAlone) return static_cast<int>(blockIdx.x);
    return static_cast<int>(cluster_index());
  }
  static __device__ __forceinline__ int count() {
    if constexpr (kAlone) return static_cast<int>(gridDim.x);
    return static_cast<int>(cluster_count());
  }
  // The binary logarithm of blocks().
  static __device__ __forceinline__ int log_blocks() {
    if constexpr (kAlone) return 0;
    const int size = blocks();
    return (size > 1) + (size > 2) + (size > 4) + (size > 8);
  }
};

}  // namespace heddle

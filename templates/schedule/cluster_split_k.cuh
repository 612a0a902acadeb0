// One piece to each thread block: the blocks of a cluster share the K of a tile.
#pragma once

#include "primitives/cluster.cuh"
#include "schedule/one_piece.cuh"

namespace heddle {

// Grid: (parts of K, tiles of rows, 1), the parts of a tile as a cluster. A tile has all tokens,
// its rows are one row tile.
struct ClusterPlace {
  static __device__ __forceinline__ int part_of_k() { return static_cast<int>(cluster_rank()); }
  static __device__ __forceinline__ int row_tile() { return static_cast<int>(blockIdx.y); }
  static __device__ __forceinline__ int first_token() { return 0; }
  static __device__ __forceinline__ int shared_tile() { return static_cast<int>(blockIdx.y); }
};

template <class Shape>
struct ClusterSplitK : OnePiece<Shape, ClusterPlace> {};

}  // namespace heddle

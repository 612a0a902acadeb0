// One piece to each thread block: an equal part of the K of a tile that the blocks of a cluster
// share.
#pragma once

#include "primitives/cluster.cuh"
#include "schedule/piece.cuh"

namespace heddle {

// Grid: (parts of K, tiles of rows, 1), the parts of a tile as a cluster. A tile has all tokens,
// its rows are one row tile. Of Shape:
//   kTotalUnits  units of K
//   kSplitK      blocks of a cluster
template <class Shape>
struct ClusterSplitK {
  int part = static_cast<int>(cluster_rank());  // of K, counted from its beginning
  bool is_taken = false;

  // As in the block's only piece. What follows the sums asks here again, so that no registers keep
  // the piece while the block multiplies.
  static __device__ __forceinline__ int row_tile() { return static_cast<int>(blockIdx.y); }
  static __device__ __forceinline__ int first_token() { return 0; }
  static __device__ __forceinline__ int shared_tile() { return static_cast<int>(blockIdx.y); }

  __device__ __forceinline__ bool next(Piece& piece) {
    if (is_taken) return false;
    is_taken = true;
    piece.row_tile = row_tile();
    piece.first_token = first_token();
    piece.shared_tile = shared_tile();
    piece.begin = Shape::kTotalUnits * part / Shape::kSplitK;
    piece.end = Shape::kTotalUnits * (part + 1) / Shape::kSplitK;
    return true;
  }
};

}  // namespace heddle

// One piece to each thread block: a tile, and an equal part of its K.
#pragma once

#include "schedule/piece.cuh"

namespace heddle {

// Grid: (tiles of tokens, tiles of rows, parts of K). The rows of a tile are one row tile. Of
// Shape:
//   kTileTokens  tokens of a tile
//   kTotalUnits  units of K
//   kSplitK      blocks that share the K of a tile
template <class Shape>
struct SplitK {
  int part = static_cast<int>(blockIdx.z);  // of K, counted from its beginning
  bool is_taken = false;

  // As in the block's only piece. What follows the sums asks here again, so that no registers keep
  // the piece while the block multiplies.
  static __device__ __forceinline__ int row_tile() { return static_cast<int>(blockIdx.y); }
  static __device__ __forceinline__ int first_token() {
    return static_cast<int>(blockIdx.x) * Shape::kTileTokens;
  }
  static __device__ __forceinline__ int shared_tile() {
    return static_cast<int>(blockIdx.y * gridDim.x + blockIdx.x);
  }

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

// One piece to each thread block: the blocks that share the K of a tile lie along z.
#pragma once

#include "schedule/one_piece.cuh"

namespace heddle {

// Grid: (tiles of tokens, tiles of rows, parts of K). The rows of a tile are one row tile. Of
// Shape:
//   kTileTokens  tokens of a tile
template <class Shape>
struct SplitKPlace {
  static __device__ __forceinline__ int part_of_k() { return static_cast<int>(blockIdx.z); }
  static __device__ __forceinline__ int row_tile() { return static_cast<int>(blockIdx.y); }
  static __device__ __forceinline__ int first_token() {
    return static_cast<int>(blockIdx.x) * Shape::kTileTokens;
  }
  static __device__ __forceinline__ int shared_tile() {
    return static_cast<int>(blockIdx.y * gridDim.x + blockIdx.x);
  }
};

template <class Shape>
struct SplitK : OnePiece<Shape, SplitKPlace<Shape>> {};

}  // namespace heddle

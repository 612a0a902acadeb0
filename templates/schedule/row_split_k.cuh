// One piece to each thread block: a row tile with all tokens, of which the launch has few, and an
// equal part of K.
#pragma once

#include "schedule/one_piece.cuh"

namespace heddle {

// Grid: (row tiles, 1, parts of K). Row tiles lie along x, which alone may pass 65535.
struct RowSplitKPlace {
  static __device__ __forceinline__ int part_of_k() { return static_cast<int>(blockIdx.z); }
  static __device__ __forceinline__ int row_tile() { return static_cast<int>(blockIdx.x); }
  static __device__ __forceinline__ int first_token() { return 0; }
  static __device__ __forceinline__ int shared_tile() { return static_cast<int>(blockIdx.x); }
};

template <class Shape>
struct RowSplitK : OnePiece<Shape, RowSplitKPlace> {};

}  // namespace heddle

// Thread block b has row tiles b, b + stride, b + 2 * stride and so on, so that all blocks read
// from one region of W at a time. The blocks of a cluster share the K of a row tile, and count as
// one.
//
// Pieces are evenly spaced and have the same units of K. Besides next() there are the number of
// pieces, each of them by its number, the distance between two of them, and the units of K, which a
// block without a piece has, too. So a kernel that counts its pieces anyway keeps no other state,
// and one that fetches ahead adds the distance to an address.
#pragma once

#include "primitives/cluster.cuh"
#include "schedule/piece.cuh"

namespace heddle {

// Grid: as many blocks as the launch wants; with several for a row tile these are a cluster. A tile
// has all tokens of the launch and one row tile. Of Shape:
//   kRowTiles    row tiles of W
//   kTotalUnits  units of K
//   kSplitK      blocks that share the K of a tile; it divides the number of blocks
template <class Shape>
struct StridedRows {
  using S = Shape;
  int first = static_cast<int>(blockIdx.x) / S::kSplitK;  // row tile
  int stride = static_cast<int>(gridDim.x) / S::kSplitK;  // row tiles from piece to piece
  int part = S::kSplitK > 1 ? static_cast<int>(cluster_rank()) : 0;
  int taken = 0;  // pieces, by next()

  __device__ __forceinline__ bool next(Piece& piece) {
    if (taken == count()) return false;
    piece = this->piece(taken++);
    return true;
  }

  // Pieces of this block; none where there are more blocks than row tiles.
  __device__ __forceinline__ int count() const {
    return (S::kRowTiles - first + stride - 1) / stride;
  }
  // The i-th, as far as count() goes.
  __device__ __forceinline__ Piece piece(int i) const {
    const int row_tile = first + i * stride;
    return {row_tile, 0, row_tile, first_unit(), end_unit()};
  }
  __device__ __forceinline__ int first_unit() const { return unit_of(part); }
  __device__ __forceinline__ int end_unit() const { return unit_of(part + 1); }

 private:
  static __device__ __forceinline__ int unit_of(int part_of_k) {
    return S::kTotalUnits * part_of_k / S::kSplitK;
  }
};

}  // namespace heddle

// One piece to each thread block: a tile, and an equal part of its K.
//
// As in the block's only piece, what follows the sums asks the policy's static members again, so
// that no registers keep the piece while the block multiplies.
#pragma once

#include "schedule/piece.cuh"

namespace heddle {

// Place: part_of_k(), the block's of K, counted from its beginning; row_tile(), first_token() and
// shared_tile(), as in Piece. Of Shape:
//   kTotalUnits  units of K
//   kSplitK      blocks that share the K of a tile
template <class Shape, class Place>
struct OnePiece : Place {
  int part = Place::part_of_k();
  bool is_taken = false;

  __device__ __forceinline__ bool next(Piece& piece) {
    if (is_taken) return false;
    is_taken = true;
    piece.row_tile = Place::row_tile();
    piece.first_token = Place::first_token();
    piece.shared_tile = Place::shared_tile();
    piece.begin = Shape::kTotalUnits * part / Shape::kSplitK;
    piece.end = Shape::kTotalUnits * (part + 1) / Shape::kSplitK;
    return true;
  }
};

}  // namespace heddle

// Tiles of tokens that are sorted by group, such as those of experts, where only the device knows
// how many tokens a group has: a kernel before this one has made a list of them.
//
// The work of the launch is one list of tiles: group after group, a group's tiles in TileOrder. Of
// it a block takes every gridDim.x-th tile, so that blocks have equally many tiles, or one more,
// and neighbours share the weights or the tokens of a group. The number of blocks is fixed at
// launch; blocks beyond the list's end have no piece. Groups without tokens have no tiles. There
// are no atomics and no order of arrival: launches with the same list have the same pieces.
#pragma once

#include "primitives/memory.cuh"
#include "schedule/piece.cuh"
#include "schedule/tile_order.cuh"

namespace heddle {

// A tile of a group's tokens: what the list has of it, 16 bytes.
struct ListedTile {
  int group;
  int first_token;  // of the group
  int end_token;    // behind the group's last one
  int place;        // among the group's tiles
};

// A tile over all of K, whose rows and tokens are one group's. `first_token` counts the tokens of
// all groups, `row_tile` the rows of the group alone.
struct GroupedPiece : Piece {
  static constexpr bool kTellsTokens = true;

  int group;
  int end_token;  // behind the group's last one

  // Of the `most` tokens that a tile has place for from its place `from` on, those that it has.
  __device__ __forceinline__ int tokens(int most, int from = 0) const {
    const int left = end_token - first_token - from;
    return left < 0 ? 0 : left < most ? left : most;
  }
};

__device__ __forceinline__ int end_token(const GroupedPiece& piece, int /*m*/) {
  return piece.end_token;
}

// Grid: as many blocks as the launch wants. Of Shape:
//   kTileTokens    tokens of a tile
//   kTileRowTiles  row tiles of a tile
//   kRowSets       tiles that hold all rows of a group; their number for all groups and tokens
//                  must fit 31 bits
//   kBandTokens    as TileOrder wants them
//   kTotalUnits    units of K
//   kGroupBytes    packed weights of a group
template <class Shape>
struct ListedTiles {
  using S = Shape;
  using PieceType = GroupedPiece;
  static constexpr int units = S::kTotalUnits;

  const ListedTile* list;
  int tile_end;  // of the launch
  int tile;      // the next one of this block

  // `count`: of listed tiles. The kernel that has written both has ended: the schedule is made
  // behind wait_for_predecessor(), or ahead of it where that is known (experts/phases.cuh).
  __device__ __forceinline__ ListedTiles(const ListedTile* list, const int* count)
      : list(list),
        tile_end(S::kRowSets * static_cast<int>(load_global_4_l2(count))),
        tile(static_cast<int>(blockIdx.x)) {}

  // The packed weights that a piece's rows are of: those of its group.
  static __device__ __forceinline__ const u8* weights_of(const u8* weights,
                                                         const GroupedPiece& piece) {
    return weights + static_cast<i64>(piece.group) * S::kGroupBytes;
  }

  // False at the end of the block's work.
  __device__ __forceinline__ bool next(GroupedPiece& piece) {
    if (tile >= tile_end) return false;
    const int listed = tile / S::kRowSets;
    const u32x4 entry = load_global_16_l2(list + listed);
    const int first_token = static_cast<int>(entry.y);
    const int tokens = static_cast<int>(entry.z) - first_token;
    const int group_tile = tile - (listed - static_cast<int>(entry.w)) * S::kRowSets;
    const TileOrder<S::kTileTokens, S::kBandTokens> order(
        group_tile, S::kRowSets, (tokens + S::kTileTokens - 1) / S::kTileTokens);
    piece.row_tile = order.row_set * S::kTileRowTiles;
    piece.first_token = first_token + order.token_tile * S::kTileTokens;
    piece.shared_tile = -1;
    piece.begin = 0;
    piece.end = S::kTotalUnits;
    piece.group = static_cast<int>(entry.x);
    piece.end_token = static_cast<int>(entry.z);
    tile += static_cast<int>(gridDim.x);
    return true;
  }
};

}  // namespace heddle

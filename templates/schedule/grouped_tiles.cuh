// Tiles of tokens that are sorted by group, such as those of experts, where only the device knows
// how many tokens a group has. No family uses this schedule yet.
//
// The work of the launch is one list of tiles: group after group, a group's tiles in TileOrder. Of
// it a block takes every gridDim.x-th tile, so that blocks have equally many tiles, or one more,
// and neighbours share the weights or the tokens of a group. The number of blocks is fixed at
// launch; blocks beyond the list's end have no piece. Groups without tokens have no tiles.
//
// Which group a tile belongs to follows from the tiles of all groups before it. A warp reads all
// counts once, 32 neighbouring groups at a time and all in one trip to the L2 cache; one scan over
// the lanes gives the tiles before each such run of groups. next() stays in its group as long as
// that has tiles. Else a ballot finds the run that holds the tile, and a second trip, scan and
// ballot find the group in it. There are no atomics and no order of arrival: launches with the same
// counts have the same pieces.
//
// The cost for 512 groups: 32 loads, 16 sums over the warp and a scan of 5 shuffles before the
// first piece, and for a piece of another group than the last one 2 loads, 9 shuffles and 2
// ballots. A kernel of many warps may let one of them ask and pass the pieces on.
#pragma once

#include "primitives/memory.cuh"
#include "primitives/sync.cuh"
#include "schedule/piece.cuh"
#include "schedule/tile_order.cuh"

namespace heddle {

// A tile over all of K, whose rows and tokens are one group's. `first_token` counts the tokens of
// all groups, `row_tile` the rows of the group alone.
struct GroupedPiece : Piece {
  int group;
  int end_token;  // behind the group's last one
};

// Grid: as many blocks as the launch wants. sm_80 and up. All lanes of a warp make the schedule and
// ask it together. Of Shape:
//   kGroups        groups, up to 1024
//   kTileTokens    tokens of a tile
//   kTileRowTiles  row tiles of a tile
//   kRowSets       tiles that hold all rows of a group; their number for all groups and tokens
//                  must fit 31 bits
//   kBandTokens    as TileOrder wants them
//   kTotalUnits    units of K
template <class Shape>
struct GroupedTiles {
  using S = Shape;
  static constexpr int kLanes = 32;
  static constexpr int kRuns = (S::kGroups + kLanes - 1) / kLanes;  // of 32 groups
  static_assert(kRuns <= kLanes, "each lane knows of one run");

  const int* first_tokens;
  int run_tiles;  // tiles of tokens before the run with this lane's number
  int tile_end;   // of the list
  int tile;       // the next one of this block
  // The group of the piece before, and its tiles.
  int group = 0;
  int first_token = 0;
  int end_token = 0;
  int group_begin = 0;
  int group_end = 0;

  // `first_tokens`: of each group the first token, and behind the last one the end of all, so that
  // a group's count is the difference between two, which is never negative. The kernel before may
  // have written them: the schedule is made behind wait_for_predecessor().
  __device__ __forceinline__ explicit GroupedTiles(const int* first_tokens)
      : first_tokens(first_tokens), tile(static_cast<int>(blockIdx.x)) {
    int tiles[kRuns];
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
      const int own = kLanes * run + lane();
      tiles[run] = token_tiles(first_token_of(own), first_token_of(own + 1));
    }
    int own = 0;  // of the run with this lane's number
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
      const int sum = sum_of_lanes(tiles[run]);
      if (lane() == run) own = sum;
    }
    const int sum = sum_to_lane(own);
    run_tiles = sum - own;
    tile_end = S::kRowSets * from_lane(sum, kLanes - 1);
  }

  // False at the end of the block's work.
  __device__ __forceinline__ bool next(GroupedPiece& piece) {
    if (tile >= tile_end) return false;
    if (tile >= group_end) find_group(tile / S::kRowSets);
    const TileOrder<S::kTileTokens, S::kBandTokens> order(tile - group_begin, S::kRowSets,
                                                          token_tiles(first_token, end_token));
    piece.row_tile = order.row_set * S::kTileRowTiles;
    piece.first_token = first_token + order.token_tile * S::kTileTokens;
    piece.shared_tile = -1;
    piece.begin = 0;
    piece.end = S::kTotalUnits;
    piece.group = group;
    piece.end_token = end_token;
    tile += static_cast<int>(gridDim.x);
    return true;
  }

 private:
  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % kLanes; }
  static __device__ __forceinline__ int from_lane(int value, int lane) {
    return static_cast<int>(broadcast(static_cast<u32>(value), lane));
  }
  static __device__ __forceinline__ int token_tiles(int begin, int end) {
    return (end - begin + S::kTileTokens - 1) / S::kTileTokens;
  }
  // Groups beyond the last one begin at the end of all tokens, so they are empty.
  __device__ __forceinline__ int first_token_of(int group) const {
    const int at = group < S::kGroups ? group : S::kGroups;
    return static_cast<int>(load_global_4_l2(first_tokens + at));
  }
  // The sum over the lanes up to this one.
  static __device__ __forceinline__ int sum_to_lane(int sum) {
#pragma unroll
    for (int step = 1; step < kLanes; step *= 2) {
      const int before = shuffle_up(sum, step);
      if (lane() >= step) sum += before;
    }
    return sum;
  }

  // The one that has this tile of the tokens of all groups. Who has no tiles begins where the next
  // one does, so it is the last run, and in that the last group, to begin at or before the tile.
  __device__ __forceinline__ void find_group(int token_tile) {
    const int run = __popc(ballot(run_tiles <= token_tile)) - 1;
    const int first = kLanes * run;
    const int begin = first_token_of(first + lane());
    const int end = first_token_of(first + lane() + 1);
    const int own = token_tiles(begin, end);
    const int before = from_lane(run_tiles, run) + sum_to_lane(own) - own;
    const int found = __popc(ballot(before <= token_tile)) - 1;
    group = first + found;
    first_token = from_lane(begin, found);
    end_token = from_lane(end, found);
    group_begin = S::kRowSets * from_lane(before, found);
    group_end = group_begin + S::kRowSets * token_tiles(first_token, end_token);
  }
};

}  // namespace heddle

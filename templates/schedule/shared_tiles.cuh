// Whole tiles, thread block after thread block, then an equal share of the K of the last tiles for
// each block, which may begin and end inside of a tile.
//
// Tiles beyond the last whole round of blocks would leave SMs idle: a launch says how many of them
// are shared, which are fewer than blocks. The sums of those that share a tile are added in the
// order of K, which is the order of the blocks: first_worker() to end_worker().
#pragma once

#include "primitives/cluster.cuh"
#include "schedule/piece.cuh"
#include "schedule/tile_order.cuh"

namespace heddle {

// Grid: as many blocks as the launch wants. kBlocks of them, a cluster where there are several,
// take neighbouring tiles of rows, a set, at the same time. With one a launch may still have
// clusters of two, each of which shares one tile (warpgroup/finish.cuh): here they are single
// blocks. Of Shape:
//   kTileTokens, kTileRowTiles  tokens and row tiles of a tile
//   kBandTokens                 for which all rows are walked before the next tokens
//   kOneTokenTile               a tile has all tokens of the launch
//   kBlocks                     that read the same tokens once
//   kSharesTiles                false: no launch shares any
template <class Shape>
struct SharedTiles {
  using S = Shape;
  using PieceType = Piece;
  int row_sets;  // that hold all rows
  int units;     // of K
  int token_tiles;
  int whole_tiles;     // tiles that are not shared
  int tile;            // the next whole tile of this block
  int unit, unit_end;  // of the shared tiles, counted through

  __device__ __forceinline__ SharedTiles(int m, int row_sets, int units, int shared_tiles)
      : row_sets(row_sets),
        units(units),
        token_tiles(S::kOneTokenTile ? 1 : (m + S::kTileTokens - 1) / S::kTileTokens),
        whole_tiles(row_sets * token_tiles - shared_tiles),
        tile(worker()),
        unit(first_unit(worker(), shared_tiles)),
        unit_end(first_unit(worker() + 1, shared_tiles)) {}

  // Clusters; this block's; and its number in that.
  static __device__ __forceinline__ int workers() {
    return static_cast<int>(gridDim.x) / S::kBlocks;
  }
  static __device__ __forceinline__ int worker() {
    return static_cast<int>(blockIdx.x) / S::kBlocks;
  }
  static __device__ __forceinline__ int rank() {
    return S::kBlocks > 1 ? static_cast<int>(cluster_rank()) : 0;
  }

  // The packed weights that a piece's rows are of.
  static __device__ __forceinline__ const u8* weights_of(const u8* weights, const Piece&) {
    return weights;
  }

  // False at the end of the block's work.
  __device__ __forceinline__ bool next(Piece& piece) {
    if (tile < whole_tiles) {
      take_tile(piece);
    } else if (S::kSharesTiles && unit < unit_end) {
      take_share(piece);
    } else {
      return false;
    }
    return true;
  }

  // Whether this block begins a shared tile behind its part of the shared tile before.
  __device__ __forceinline__ bool is_late(const Piece& piece, int shared_tiles) const {
    return piece.begin == 0 && first_unit(worker(), shared_tiles) < piece.shared_tile * units;
  }

  // The first block that works on the shared tile, and the one behind the last.
  __device__ __forceinline__ int first_worker(int shared_tile, int shared_tiles) const {
    return worker_of(shared_tile * units, shared_tiles);
  }
  __device__ __forceinline__ int end_worker(int shared_tile, int shared_tiles) const {
    return worker_of((shared_tile + 1) * units - 1, shared_tiles) + 1;
  }

 private:
  __device__ __forceinline__ void take_tile(Piece& piece) {
    place(tile, piece);
    tile += workers();
    piece.shared_tile = -1;
    piece.begin = 0;
    piece.end = units;
  }
  __device__ __forceinline__ void take_share(Piece& piece) {
    piece.shared_tile = unit / units;
    piece.begin = unit - piece.shared_tile * units;
    const int left = piece.begin + unit_end - unit;
    piece.end = left < units ? left : units;
    unit += piece.end - piece.begin;
    place(whole_tiles + piece.shared_tile, piece);
  }

  // There are fewer shared tiles than blocks, so all of this fits 32 bits, whose division is short.
  __device__ __forceinline__ int first_unit(int worker, int shared_tiles) const {
    return static_cast<int>(static_cast<u32>(shared_tiles * units) * worker / workers());
  }
  // The one whose first unit is the last at or before this.
  __device__ __forceinline__ int worker_of(int at, int shared_tiles) const {
    const u32 shared_units = shared_tiles * units;
    return static_cast<int>((static_cast<u32>(at + 1) * workers() - 1) / shared_units);
  }

  // The first row tile of this block in the set of rows.
  static __device__ __forceinline__ int first_row_tile(int row_set) {
    return (row_set * S::kBlocks + rank()) * S::kTileRowTiles;
  }

  __device__ __forceinline__ void place(int at, Piece& piece) const {
    if constexpr (S::kOneTokenTile) {
      piece.row_tile = first_row_tile(at);
      piece.first_token = 0;
      return;
    }
    const TileOrder<S::kTileTokens, S::kBandTokens> order(at, row_sets, token_tiles);
    piece.row_tile = first_row_tile(order.row_set);
    piece.first_token = order.token_tile * S::kTileTokens;
  }
};

}  // namespace heddle

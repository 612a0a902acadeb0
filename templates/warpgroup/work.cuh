// Which part of the output each block of a GEMM with wgmma computes: first whole tiles, block after
// block, then an equal share of the K of the last `shared_tiles` tiles, which may begin and end
// inside of a tile. Every role of a block walks the same pieces in the same order.
#pragma once

#include "primitives/cluster.cuh"
#include "warpgroup/shape.cuh"

namespace heddle {

// Units [begin, end) of a tile's K.
struct Piece {
  int row_tile;  // its first, of 64 rows of W
  int first_token;
  int shared_tile;  // counted from the first tile that is shared; negative: a whole tile
  int begin, end;
};

template <class Config>
struct WgmmaWork {
  using S = WgmmaShape<Config>;
  // Tiles that run at the same time should share tokens and weights in the L2 cache: row groups
  // are walked for so many tokens at a time.
  static constexpr int kGroupTokens = 2048;
  static constexpr int kGroupTiles =
      Config::value.tile_m < kGroupTokens ? kGroupTokens / Config::value.tile_m : 1;

  int m;
  int token_tiles;
  int whole_tiles;     // tiles that are not shared
  int tile;            // the next whole tile of this block
  int unit, unit_end;  // of the shared tiles, counted through

  __device__ __forceinline__ WgmmaWork(int m, int shared_tiles)
      : m(m),
        token_tiles(S::kOneTokenTile ? 1 : (m + Config::value.tile_m - 1) / Config::value.tile_m),
        whole_tiles(S::kRowSets * token_tiles - shared_tiles),
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

  // False at the end of the block's work.
  __device__ __forceinline__ bool next(Piece& piece) {
    if (tile < whole_tiles) {
      take_tile(piece);
    } else if (Config::value.shares_tiles && unit < unit_end) {
      take_share(piece);
    } else {
      return false;
    }
    return true;
  }

  // Whether this block begins a shared tile behind its part of the shared tile before.
  __device__ __forceinline__ bool is_late(const Piece& piece, int shared_tiles) const {
    return piece.begin == 0 &&
           first_unit(worker(), shared_tiles) < piece.shared_tile * S::kTotalUnits;
  }

  // The first block that works on the shared tile, and the one behind the last.
  __device__ __forceinline__ int first_worker(int shared_tile, int shared_tiles) const {
    return worker_of(shared_tile * S::kTotalUnits, shared_tiles);
  }
  __device__ __forceinline__ int end_worker(int shared_tile, int shared_tiles) const {
    return worker_of((shared_tile + 1) * S::kTotalUnits - 1, shared_tiles) + 1;
  }

 private:
  __device__ __forceinline__ void take_tile(Piece& piece) {
    place(tile, piece);
    tile += workers();
    piece.shared_tile = -1;
    piece.begin = 0;
    piece.end = S::kTotalUnits;
  }
  __device__ __forceinline__ void take_share(Piece& piece) {
    piece.shared_tile = unit / S::kTotalUnits;
    piece.begin = unit - piece.shared_tile * S::kTotalUnits;
    const int left = piece.begin + unit_end - unit;
    piece.end = left < S::kTotalUnits ? left : S::kTotalUnits;
    unit += piece.end - piece.begin;
    place(whole_tiles + piece.shared_tile, piece);
  }

  // There are fewer shared tiles than blocks, so all of this fits 32 bits, whose division is short.
  __device__ __forceinline__ int first_unit(int worker, int shared_tiles) const {
    return static_cast<int>(static_cast<u32>(shared_tiles * S::kTotalUnits) * worker / workers());
  }
  // The one whose first unit is the last at or before this.
  __device__ __forceinline__ int worker_of(int at, int shared_tiles) const {
    const u32 units = shared_tiles * S::kTotalUnits;
    return static_cast<int>((static_cast<u32>(at + 1) * workers() - 1) / units);
  }

  // This block's, of the set of rows.
  static __device__ __forceinline__ int first_row_tile(int row_set) {
    return (row_set * S::kBlocks + rank()) * S::kTileRowTiles;
  }

  __device__ __forceinline__ void place(int at, Piece& piece) const {
    if constexpr (S::kOneTokenTile) {
      piece.row_tile = first_row_tile(at);
      piece.first_token = 0;
      return;
    }
    const int group = at / (kGroupTiles * S::kRowSets);
    const int first = group * kGroupTiles;
    const int size = token_tiles - first < kGroupTiles ? token_tiles - first : kGroupTiles;
    const int in_group = at - group * kGroupTiles * S::kRowSets;
    piece.row_tile = first_row_tile(in_group / size);
    piece.first_token = (first + in_group % size) * Config::value.tile_m;
  }
};

}  // namespace heddle

// Which part of the output each block of a GEMM with wgmma computes: first whole tiles, block after
// block, then an equal share of the K of the last `shared_tiles` tiles, which may begin and end
// inside of a tile. Every role of a block walks the same pieces in the same order.
#pragma once

#include "gemm/wgmma_shape.cuh"

namespace heddle {

// Stages [begin, end) of a tile.
struct Piece {
  int row_group;    // kTileN rows of W
  int token_tile;   // kTileM tokens
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
      Config::kTileM < kGroupTokens ? kGroupTokens / Config::kTileM : 1;

  int workers;  // blocks
  int token_tiles;
  int whole_tiles;     // tiles that are not shared
  int tile;            // the next whole tile of this block
  int unit, unit_end;  // stages of the shared tiles, counted through

  __device__ __forceinline__ WgmmaWork(int m, int shared_tiles)
      : workers(static_cast<int>(gridDim.x)),
        token_tiles(S::kOneTokenTile ? 1 : (m + Config::kTileM - 1) / Config::kTileM),
        whole_tiles(S::kRowGroups * token_tiles - shared_tiles),
        tile(static_cast<int>(blockIdx.x)) {
    unit = first_unit(static_cast<int>(blockIdx.x), shared_tiles);
    unit_end = first_unit(static_cast<int>(blockIdx.x) + 1, shared_tiles);
  }

  // False at the end of the block's work.
  __device__ __forceinline__ bool next(Piece& piece) {
    int at;
    if (tile < whole_tiles) {
      at = tile;
      tile += workers;
      piece.shared_tile = -1;
      piece.begin = 0;
      piece.end = S::kTotalStages;
    } else if (Config::kShares && unit < unit_end) {
      piece.shared_tile = unit / S::kTotalStages;
      piece.begin = unit - piece.shared_tile * S::kTotalStages;
      const int left = piece.begin + unit_end - unit;
      piece.end = left < S::kTotalStages ? left : S::kTotalStages;
      unit += piece.end - piece.begin;
      at = whole_tiles + piece.shared_tile;
    } else {
      return false;
    }
    place(at, piece);
    return true;
  }

  // Whether this block begins a shared tile behind its part of the shared tile before.
  __device__ __forceinline__ bool is_late(const Piece& piece, int shared_tiles) const {
    return piece.begin == 0 && first_unit(static_cast<int>(blockIdx.x), shared_tiles) <
                                   piece.shared_tile * S::kTotalStages;
  }

  // The first block that works on the shared tile, and the one behind the last.
  __device__ __forceinline__ int first_worker(int shared_tile, int shared_tiles) const {
    return worker_of(shared_tile * S::kTotalStages, shared_tiles);
  }
  __device__ __forceinline__ int end_worker(int shared_tile, int shared_tiles) const {
    return worker_of((shared_tile + 1) * S::kTotalStages - 1, shared_tiles) + 1;
  }

 private:
  // There are fewer shared tiles than blocks, so all of this fits 32 bits, whose division is short.
  __device__ __forceinline__ int first_unit(int worker, int shared_tiles) const {
    return static_cast<int>(static_cast<u32>(shared_tiles * S::kTotalStages) * worker / workers);
  }
  // The one whose first unit is the last at or before this.
  __device__ __forceinline__ int worker_of(int at, int shared_tiles) const {
    const u32 units = shared_tiles * S::kTotalStages;
    return static_cast<int>((static_cast<u32>(at + 1) * workers - 1) / units);
  }

  __device__ __forceinline__ void place(int at, Piece& piece) const {
    if constexpr (S::kOneTokenTile) {
      piece.row_group = at;
      piece.token_tile = 0;
      return;
    }
    const int group = at / (kGroupTiles * S::kRowGroups);
    const int first = group * kGroupTiles;
    const int size = token_tiles - first < kGroupTiles ? token_tiles - first : kGroupTiles;
    const int in_group = at - group * kGroupTiles * S::kRowGroups;
    piece.row_group = in_group / size;
    piece.token_tile = first + in_group % size;
  }
};

}  // namespace heddle

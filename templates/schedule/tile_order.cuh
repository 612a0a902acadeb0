// The order in which the tiles of a matrix are walked by blocks that take one after the other.
//
// Tiles that run at the same time should share tokens and weights in the L2 cache: the tokens are
// cut into bands, and in each band every set of rows meets all of its tiles of tokens before the
// next set does. So neighbours share weights, and where a band is one tile wide they share tokens.
#pragma once

#include "primitives/types.cuh"

namespace heddle {

// A band has as many tiles as fit kBandTokens, one at least: of tokens, what CUTLASS calls the
// width of a threadblock swizzle.
template <int kTileTokens, int kBandTokens>
struct TileOrder {
  static constexpr int kBandTiles = kTileTokens < kBandTokens ? kBandTokens / kTileTokens : 1;

  int row_set;
  int token_tile;

  // The place of tile `at` of row_sets * token_tiles.
  __device__ __forceinline__ TileOrder(int at, int row_sets, int token_tiles) {
    const int band = at / (kBandTiles * row_sets);
    const int first = band * kBandTiles;
    const int size = token_tiles - first < kBandTiles ? token_tiles - first : kBandTiles;
    const int in_band = at - band * kBandTiles * row_sets;
    row_set = in_band / size;
    token_tile = first + in_band % size;
  }
};

}  // namespace heddle

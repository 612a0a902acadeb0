// Where the operands of a thread block's tile lie in global memory.
#pragma once

#include "primitives/memory.cuh"
#include "primitives/types.cuh"

namespace heddle {

struct TileOperands {
  const u8* weights;    // first chunk of the tile's first row block
  const u8* tokens;     // first row of X of the tile
  const u8* pre_scale;  // factors of the columns of X
  int row_blocks;       // from the tile's first to the end of W
  int rows;             // from the tile's first to the end of X
};

// Where the tile's tokens lie: a policy of who copies them. Here they follow each other in X.
struct DenseTokens {
  using Operands = TileOperands;
  static constexpr bool kGathered = false;
  // Bytes from Operands::tokens to a column of token `row` of the tile.
  template <class Config>
  static __device__ __forceinline__ int offset(const Operands& /*tile*/, int row, int column) {
    return 2 * (row * Config::value.shape.k + column);
  }
};

// Tokens whose numbers in X are in a table in shared memory, [tile_m], that all threads have seen.
struct GatheredTokens {
  struct Operands : TileOperands {
    u32 table;
  };
  static constexpr bool kGathered = true;
  template <class Config>
  static __device__ __forceinline__ i64 offset(const Operands& tile, int row, int column) {
    const i64 token = load_shared_4(tile.table + 4 * row);
    return 2 * (token * Config::value.shape.k + column);
  }
};

}  // namespace heddle

// One of the two products of the experts: tiles of an expert's rows by rows of its weights, which
// are read as GEMM by tiles does it (tiles/tiles.cuh has the budget). A thread block takes one tile
// after the other from schedule/listed_tiles.cuh.
#pragma once

#include "experts/assignments.cuh"
#include "experts/workspace.cuh"
#include "steps/tile_epilogue.cuh"
#include "tiles/multiply.cuh"
#include "tiles/multiply_wide.cuh"
#include "tiles/pipeline.cuh"

namespace heddle {

// What ListedTiles asks for. Gemm: the product's configuration, as a GEMM's.
template <class Gemm, i64 kExpertBytes>
struct ExpertTiles {
  static constexpr int kTileTokens = Gemm::value.tile_m;
  static constexpr int kTileRowTiles = 1;
  static constexpr int kRowSets =
      static_cast<int>(ceil_div(Gemm::value.shape.n, Gemm::value.tile_n));
  static constexpr int kBandTokens = 1024;
  static constexpr int kTotalUnits = Gemm::value.total_stages();
  static constexpr i64 kGroupBytes = kExpertBytes;
};

// The policies of a product's tiles (tiles/tiles.cuh).
template <class Gemm, class Decode, class Tokens, bool kReadsAhead = Gemm::value.reads_ahead>
struct TilePolicies {
  using Pipeline = AsyncPipeline<Gemm, Tokens>;
  using Tile = WarpTile<Gemm, Decode>;
};
template <class Gemm, class Decode, class Tokens>
struct TilePolicies<Gemm, Decode, Tokens, true> {
  using Pipeline = WidePipeline<Gemm, Tokens>;
  using Tile = WideTile<Gemm, Decode>;
};

// Product: which product it is.
//   Gemm             its configuration
//   Decode           of its weights
//   kExpertBytes     packed weights of an expert
//   Tokens           where its tokens lie: a policy of tiles/operands.cuh
//   kWeighs          whether its sums are multiplied by the routing weights
template <class Config, class Product>
struct ExpertProduct {
  using Gemm = typename Product::Gemm;
  using Tokens = typename Product::Tokens;
  using S = Shape<Gemm>;
  using Tiles = ListedTiles<ExpertTiles<Gemm, Product::kExpertBytes>>;
  using Ways = TilePolicies<Gemm, typename Product::Decode, Tokens>;

  const MoeParameters& layer;
  MoeWorkspace<Config> workspace;
  const u8* x;  // rows, or tokens that are gathered
  const u8* weights;
  const u8* bias;
  u8* y;
  u32 shared;

  __device__ __forceinline__ void run() const {
    Tiles tiles(workspace.tiles(), workspace.tile_count());
    GroupedPiece piece;
    while (tiles.next(piece)) {
      multiply(piece);
      block_barrier();  // shared memory is free for the next tile
    }
  }

 private:
  __device__ __forceinline__ Assignments<Config> assignments() const { return {layer}; }

  __device__ __forceinline__ void multiply(const GroupedPiece& piece) const {
    keep(piece);
    const int rows = piece.end_token - piece.first_token;
    const int row_block = piece.row_tile * S::kStageRowBlocks;
    const u8* const packed = Tiles::weights_of(weights, piece);
    const u8* const metadata = packed + Gemm::value.shape.channel_offset;

    typename Tokens::Operands operands{};
    operands.weights = packed + static_cast<i64>(row_block) * Gemm::value.shape.chunks *
                                    Gemm::value.weights.chunk_bytes;
    operands.row_blocks = Gemm::value.shape.row_blocks - row_block;
    operands.rows = rows;
    operands.tokens = x;
    if constexpr (Tokens::kGathered) {
      operands.table = shared + Config::value.table_offset();
      for (int i = threadIdx.x; i < Gemm::value.tile_m && i < rows; i += S::kThreads) {
        store_shared_4(operands.table + 4 * i,
                       assignments().token_of(workspace.assignment_of(piece.first_token + i)));
      }
      block_barrier();
    } else {
      operands.tokens += static_cast<i64>(piece.first_token) * Gemm::value.shape.k * 2;
    }
    typename Ways::Pipeline pipeline(operands, piece, shared);
    pipeline.start();

    const int warp = threadIdx.x / 32;
    const int warp_n = warp % Gemm::value.warps_n;
    const int warp_m = warp / Gemm::value.warps_n % Gemm::value.warps_m;
    const int warp_k = warp / (Gemm::value.warps_n * Gemm::value.warps_m);
    typename Ways::Tile tile(threadIdx.x % 32, warp_m, warp_n, warp_k);
    tile.load_channel_zeros(metadata, row_block);
    tile.run(pipeline);
    pipeline.finish();
    // Behind the products its place is found anew.
    tile.subtract_channel_zeros(
        Tiles::weights_of(weights, kept_piece()) + Gemm::value.shape.channel_offset,
        kept_piece().row_tile * S::kStageRowBlocks);

    const TileSums<Gemm> sums{shared};
    sums.put(tile, warp_k);
    block_barrier();
    store(kept_piece(), sums);
  }

  // The tile is kept in shared memory while it is multiplied: in registers it would cost the sums
  // their place.
  static constexpr u32 kTileOffset = Config::value.tile_offset(Gemm::value);
  __device__ __forceinline__ void keep(const GroupedPiece& piece) const {
    if (threadIdx.x != 0) return;
    store_shared_16(shared + kTileOffset,
                    {static_cast<u32>(piece.group), static_cast<u32>(piece.row_tile),
                     static_cast<u32>(piece.first_token), static_cast<u32>(piece.end_token)});
  }
  __device__ __forceinline__ GroupedPiece kept_piece() const {
    const u32x4 kept = load_shared_16(shared + kTileOffset);
    GroupedPiece piece{};
    piece.group = static_cast<int>(kept.x);
    piece.row_tile = static_cast<int>(kept.y);
    piece.first_token = static_cast<int>(kept.z);
    piece.end_token = static_cast<int>(kept.w);
    return piece;
  }

  __device__ __forceinline__ void store(const GroupedPiece& piece,
                                        const TileSums<Gemm>& sums) const {
    const u8* const packed = Tiles::weights_of(weights, piece);
    constexpr int kRows = Gemm::value.epilogue.rows();
    constexpr int kTokenOutputs = Gemm::value.tile_n / kRows;
    constexpr int kBiasBytes = Gemm::value.epilogue.bias_bytes * Gemm::value.shape.n;
    const Output<Gemm> output{
        packed, y, bias + static_cast<i64>(piece.group) * kBiasBytes, nullptr, Gemm::value.shape,
        nullptr};
    const int rows = piece.end_token - piece.first_token;
    for (int i = threadIdx.x; i < Gemm::value.outputs(); i += S::kThreads) {
      const int token = i / kTokenOutputs;
      const int row_of_tile = i % kTokenOutputs * kRows;
      const int row = piece.row_tile * Gemm::value.tile_n + row_of_tile;
      if (token >= rows || row >= Gemm::value.shape.n) continue;
      const int place = piece.first_token + token;
      float factor = 1.0f;
      if constexpr (Product::kWeighs) {
        factor = float_from_bits(assignments().weight_of(workspace.assignment_of(place)));
      }
      output.store(place, row, [&](int half) {
        Sums8 sum = sums.sum_of_warps(token, row_of_tile + 8 * half);
        if constexpr (Product::kWeighs) {
#pragma unroll
          for (float& v : sum.v) v *= factor;
        }
        return sum;
      });
    }
  }
};

}  // namespace heddle

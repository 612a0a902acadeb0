// A fetching warp's part of the weights of a stage: a bulk copy for each row block, or for each of
// its chunks.
#pragma once

#include "primitives/bulk_copy.cuh"
#include "primitives/sync.cuh"
#include "schedule/piece.cuh"
#include "warpgroup/shape.cuh"

namespace heddle {

template <class Config>
struct WgmmaWeightFetch {
  using S = WgmmaShape<Config>;
  using Schedule = typename Config::Schedule;
  using Piece = typename Schedule::PieceType;
  static constexpr int kMostBlocks = S::kTileRowTiles;  // of a warp, one of each row tile

  WgmmaMemory<Config> memory;
  const u8* weights;
  const WeightShape& shape;
  int warp;
  u64 policy;  // of weights that are read once

  // Announces this warp's bytes of part `part` of unit k, with `token_bytes` of tokens that it
  // copies into the same stage, then copies its weights: a row block of each row tile. Rows past
  // the end of W stay what they are: their results are never stored. So do chunks past the end of
  // K, which no one reads.
  __device__ __forceinline__ void run(const Piece& piece, int k, int part, int stage,
                                      u32 token_bytes) const {
    const int first = 4 * piece.row_tile + warp;
    int blocks = 0;
#pragma unroll
    for (int i = 0; i < kMostBlocks; ++i) blocks += has_block(piece, i) ? 1 : 0;
    const u32 bytes =
        S::chunks_of_unit(k, shape) * Config::value.weights.chunk_bytes - S::kMissingBytes;
    const u32 barrier = memory.full_barrier(stage);
    const u8* from = Schedule::weights_of(weights, piece) +
                     (static_cast<i64>(first) * shape.chunks + k * S::kStageChunks) *
                         Config::value.weights.chunk_bytes;
    const u32 to = memory.weights(stage) + warp * S::kRowBlockStep;
    const i64 step = static_cast<i64>(4 * shape.chunks) * Config::value.weights.chunk_bytes;
    if (!elect_one()) return;
    mbarrier_arrive_expect(barrier, blocks * bytes + token_bytes);
#pragma unroll
    for (int i = 0; i < kMostBlocks; ++i) {
      if (!has_block(piece, i)) continue;
      const u32 at = to + i * Config::value.kFetchWarps * S::kRowBlockStep;
      if (Config::value.half_stages && part == 0 && S::kMetadataBytes > 0) {
        // Scales and zero points lie behind the words of the other half.
        copy_weights(at, from + i * step, Config::value.half_word_bytes(), barrier);
        copy_weights(at + Config::value.half_word_bytes(),
                     from + i * step + 2 * Config::value.half_word_bytes(), S::kMetadataBytes,
                     barrier);
      } else if constexpr (Config::value.byte_operands()) {
        constexpr int kCopyBytes = Config::value.weights.chunk_bytes;
        const int chunks = S::chunks_of_unit(k, shape);
#pragma unroll
        for (int c = 0; c < S::kStageChunks; ++c) {
          if (S::kLastChunks != 0 && c >= chunks) break;
          copy_weights(at + c * S::kChunkBytes, from + i * step + c * kCopyBytes, kCopyBytes,
                       barrier);
        }
      } else {
        copy_weights(at, from + i * step + part * Config::value.half_word_bytes(), bytes, barrier);
      }
    }
  }

 private:
  // Whether W has the warp's row block of the piece's row tile i.
  __device__ __forceinline__ bool has_block(const Piece& piece, int i) const {
    return !S::kRowsMayEnd || 4 * (piece.row_tile + i) + warp < shape.row_blocks;
  }

  __device__ __forceinline__ void copy_weights(u32 to, const u8* from, u32 bytes,
                                               u32 barrier) const {
    if constexpr (S::kOneTokenTile) {
      bulk_copy_once(to, from, bytes, barrier, policy);
    } else {
      bulk_copy(to, from, bytes, barrier);
    }
  }
};

}  // namespace heddle

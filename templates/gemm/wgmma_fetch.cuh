// The warps that fetch: for every stage of the block's work the chunks of its row blocks, a bulk
// copy each, and the tokens, two tensor copies. Four warps share them, one lane of each: a copy
// takes some dozens of clocks to start.
#pragma once

#include "gemm/wgmma_work.cuh"
#include "primitives/bulk_copy.cuh"
#include "primitives/dependent_launch.cuh"
#include "primitives/tensor_copy.cuh"

namespace heddle {

template <class Config>
struct WgmmaFetch {
  using S = WgmmaShape<Config>;

  WgmmaMemory<Config> memory;
  const TensorMap& tokens;
  const u8* weights;
  WgmmaWork<Config> work;
  int warp;
  u64 policy = policy_read_once();

  // Weights may be read before the kernel before this one has ended: no kernel that lets its
  // successor start early writes them. So the first stages of the first piece come in two steps.
  __device__ __forceinline__ void run() {
    Piece piece;
    RingPlace<Config> place;
    if (!work.next(piece)) return;
    const int length = piece.end - piece.begin;
    const int ahead = length < Config::kStages ? length : Config::kStages;
#pragma unroll 1
    for (int i = 0; i < ahead; ++i) fetch_weights(piece, piece.begin + i, i);
    wait_for_predecessor();
#pragma unroll 1
    for (int i = 0; i < ahead; ++i) {
      fetch_tokens(piece, piece.begin + i, i);
      place.advance();
    }
    piece.begin += ahead;
    do {
#pragma unroll 1
      for (int k = piece.begin; k < piece.end; ++k) {
        // A fresh barrier counts as one whose phase of parity 1 has ended.
        mbarrier_wait(memory.empty_barrier(place.stage), place.parity ^ 1);
        fetch_weights(piece, k, place.stage);
        fetch_tokens(piece, k, place.stage);
        place.advance();
      }
    } while (work.next(piece));
  }

 private:
  // Warps 0 and 1 fetch half of the tokens' columns each.
  __device__ __forceinline__ bool has_tokens() const { return warp < 2; }

  // Announces this warp's bytes of the stage, then copies its chunks: every fourth row block. Rows
  // past the end of W stay what they are: their results are never stored.
  __device__ __forceinline__ void fetch_weights(const Piece& piece, int k, int stage) const {
    constexpr int kMost = S::kTileRowBlocks / S::kFetchWarps;
    const int first = piece.row_group * S::kTileRowBlocks + warp;
    const int left = (Config::kRowBlocks - first + S::kFetchWarps - 1) / S::kFetchWarps;
    const int blocks = Config::kRowBlocks % S::kTileRowBlocks == 0 || left > kMost ? kMost
                       : left < 0                                                  ? 0
                                                                                   : left;
    const u32 barrier = memory.full_barrier(stage);
    mbarrier_arrive_expect(barrier,
                           blocks * Config::kChunkBytes + (has_tokens() ? S::kHalfBytes : 0));
    const u8* from =
        weights + (static_cast<i64>(first) * Config::kChunks + k) * Config::kChunkBytes;
    const u32 to = memory.weights(stage) + warp * Config::kChunkBytes;
    constexpr i64 kStep = static_cast<i64>(S::kFetchWarps) * Config::kChunks * Config::kChunkBytes;
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      if (i >= blocks) break;
      const u32 at = to + i * S::kFetchWarps * Config::kChunkBytes;
      if constexpr (S::kOneTokenTile) {
        bulk_copy_once(at, from + i * kStep, Config::kChunkBytes, barrier, policy);
      } else {
        bulk_copy(at, from + i * kStep, Config::kChunkBytes, barrier);
      }
    }
  }

  __device__ __forceinline__ void fetch_tokens(const Piece& piece, int k, int stage) const {
    if (!has_tokens()) return;
    tensor_copy(memory.tokens(stage) + warp * S::kHalfBytes, tokens, k * S::kChunkK + 64 * warp,
                piece.token_tile * Config::kTileM, memory.full_barrier(stage));
  }
};

}  // namespace heddle

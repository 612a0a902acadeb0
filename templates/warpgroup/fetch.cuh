// The warps that fetch: for every stage of the block's work the weights of its row blocks, a bulk
// copy each or one for each of its chunks, and the tokens and their factors, a tensor copy for each
// box. Four warps share them, since a copy takes some dozens of clocks to start.
//
// All lanes of a warp walk the stages, one of them copies: as the compiler knows so, it keeps
// addresses in uniform registers. Fewer instructions are less in the way of those that multiply.
#pragma once

#include "primitives/dependent_launch.cuh"
#include "primitives/sync.cuh"
#include "primitives/tensor_copy.cuh"
#include "schedule/piece.cuh"
#include "warpgroup/shape.cuh"
#include "warpgroup/weight_fetch.cuh"

namespace heddle {

template <class Config>
struct WgmmaFetch {
  using S = WgmmaShape<Config>;
  using Schedule = typename Config::Schedule;
  using Piece = typename Schedule::PieceType;
  WgmmaMemory<Config> memory;
  const TensorMap& tokens;
  const TensorMap* factors;  // of the tokens, with ScaleMode::kBlock
  const u8* weights;
  const WeightShape& shape;
  Schedule schedule;
  int m;
  int warp;

  // The weights of the first stages_ahead stages are copied before the previous kernel has ended:
  // no kernel that lets its successor start early writes weights. More of them would keep the
  // tokens of this kernel waiting. From then on a stage gets its weights and its tokens together.
  __device__ __forceinline__ void run() {
    const WgmmaWeightFetch<Config> of_weights{memory, weights, shape, warp, policy_read_once()};
    Piece piece;
    RingPlace<Config> weights_place;
    RingPlace<Config> tokens_place;
    int ahead = Config::value.stages_ahead;
    bool is_first = true;
    while (schedule.next(piece)) {
      const int end = piece.end * S::kUnitStages;
      int stage = piece.begin * S::kUnitStages;  // of K, the next one that gets tokens
      int next = stage;                          // the next one that gets weights
#pragma unroll 1
      for (; stage < end; ++stage) {
        if constexpr (Config::value.stages_ahead == 1) {
          // `next` is `stage` already; said again, the compiler keeps one place and one count.
          next = stage;
          tokens_place = weights_place;
        }
        const int wanted = stage + ahead < end ? stage + ahead : end;
#pragma unroll 1
        for (; next < wanted; ++next) {
          // A fresh barrier counts as one whose phase of parity 1 has ended.
          mbarrier_wait(memory.empty_barrier(weights_place.stage), weights_place.parity ^ 1);
          of_weights.run(piece, next / S::kUnitStages, next % S::kUnitStages, weights_place.stage,
                         token_bytes());
          weights_place.advance();
        }
        if (is_first) wait_for_predecessor();
        is_first = false;
        ahead = 1;
        fetch_tokens(piece, stage, tokens_place.stage);
        tokens_place.advance();
      }
    }
  }

 private:
  // Each warp sees to every fourth box of the tokens.
  static constexpr int kBoxes = Config::value.column_boxes() * S::kBoxes;
  static constexpr int kMostBoxes =
      (kBoxes + Config::value.kFetchWarps - 1) / Config::value.kFetchWarps;
  __device__ __forceinline__ bool has_box(int i) const {
    return kBoxes % Config::value.kFetchWarps == 0 || i * Config::value.kFetchWarps + warp < kBoxes;
  }
  __device__ __forceinline__ u32 token_bytes() const {
    u32 bytes = 0;
#pragma unroll
    for (int i = 0; i < kMostBoxes; ++i) bytes += has_box(i) ? S::box_bytes(m) : 0;
#pragma unroll
    for (int i = 0; i < kMostFactorBoxes; ++i) {
      bytes += has_factor_box(i) ? 4 * S::kBoxTokens : 0;
    }
    return bytes;
  }
  // The warps share boxes of the tokens' factors, too.
  static constexpr int kFactorBoxes =
      Config::value.scales_blocks() ? S::kStageChunks * S::kBoxes : 0;
  static constexpr int kMostFactorBoxes =
      (kFactorBoxes + Config::value.kFetchWarps - 1) / Config::value.kFetchWarps;
  __device__ __forceinline__ bool has_factor_box(int i) const {
    return i * Config::value.kFetchWarps + warp < kFactorBoxes;
  }

  // Where box `box` of the piece's tokens begins.
  __device__ __forceinline__ int token_of_box(const Piece& piece, int box) const {
    const int first = piece.first_token + box * S::kBoxTokens;
    return first - S::early(first, m);
  }

  // `of_k` counts the stages of K.
  __device__ __forceinline__ void fetch_tokens(const Piece& piece, int of_k, int stage) const {
    if (!elect_one()) return;
    fetch_factors(piece, of_k, stage);
#pragma unroll
    for (int i = 0; i < kMostBoxes; ++i) {
      if (!has_box(i)) continue;
      const int half = (i * Config::value.kFetchWarps + warp) / S::kBoxes;
      const int box = (i * Config::value.kFetchWarps + warp) % S::kBoxes;
      const u32 to = memory.tokens(stage) + half * S::kHalfBytes + box * S::kBoxBytes;
      // The tensor map counts in 16 bits, of codes in pairs.
      const int column = 64 * (of_k * Config::value.column_boxes() + half);
      const int token = token_of_box(piece, box);
      if constexpr (S::kBlocks == 1) {
        tensor_copy(to, tokens, column, token, memory.full_barrier(stage));
      } else {
        const int owner = (S::kBoxes == 1 ? half + of_k % S::kUnitStages : box) % S::kBlocks;
        if (owner != Schedule::rank()) continue;
        tensor_copy_to_all(to, tokens, column, token, memory.full_barrier(stage),
                           (1u << S::kBlocks) - 1);
      }
    }
  }

  // Copies a line of FP32 for each chunk, or one of words for four. Each block reads its own.
  __device__ __forceinline__ void fetch_factors(const Piece& piece, int of_k, int stage) const {
#pragma unroll
    for (int i = 0; i < kMostFactorBoxes; ++i) {
      if (!has_factor_box(i)) continue;
      const int number = i * Config::value.kFetchWarps + warp;
      const int chunk = of_k * S::kStageChunks + number / S::kBoxes;
      const u32 to = memory.factors(stage) + number * Config::value.factor_box_bytes();
      tensor_copy(to, *factors, token_of_box(piece, number % S::kBoxes),
                  Config::value.e8m0_scales ? chunk / 4 : chunk, memory.full_barrier(stage));
    }
  }
};

}  // namespace heddle

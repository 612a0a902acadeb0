// What all ends of a tile have in common: which tokens, rows and sums a warpgroup stores. What
// becomes of the sums is a policy, Config::End, which WarpgroupConfig::tile_end() chooses.
//
//   policy             sums are                  and become outputs
//   WgmmaFloatEnd      FP32 in shared memory     behind it, with what they need beside
//   WgmmaRoundedEnd    16 or 8 bits there        in registers
//   WgmmaTokenRowsEnd  the same                  in registers, of tokens that are rows of wgmma
//   WgmmaFoundScales   FP32 there, twice         behind it, as codes whose scales are found
//   WgmmaFoundRows     codes there               in registers, with scales that are found
//   WgmmaFoundTokens   the same                  in registers, of tokens that are rows of wgmma
#pragma once

#include "primitives/warpgroup.cuh"
#include "primitives/wgmma.cuh"
#include "schedule/piece.cuh"
#include "steps/output.cuh"
#include "warpgroup/shape.cuh"

namespace heddle {

// Which of a warpgroup's sums of a tile its block stores: all of them, or, as one block of a pair,
// the first or the second half, which then are the first ones in its registers. A half has half of
// the tokens; of tokens that are rows of wgmma it has half of each 128 rows of W.
template <class Config>
struct TileShare {
  using S = WgmmaShape<Config>;
  int place = 0;  // of the first token among the warpgroup's
  int tokens = S::kOwnTokens;

  __device__ __forceinline__ bool is_half() const { return S::kPairs && tokens < S::kOwnTokens; }
  __device__ __forceinline__ bool is_second() const { return is_half() && place != 0; }
};

template <class Config>
struct WgmmaStore {
  using S = WgmmaShape<Config>;
  using Piece = typename Config::Schedule::PieceType;
  using Sums = typename Config::Sums;
  using Sum = typename Sums::Sum;
  using RowSums = Sum[S::kOwnSums];  // of a row tile
  using AllSums = RowSums[S::kRowTiles];

  WgmmaMemory<Config> memory;
  Output<Config> output;
  Sums sums;
  int m;
  int warpgroup, thread;  // of the warpgroup
  // Codes of eight bits: what the rows' sums are multiplied by.
  static constexpr bool kScales = Config::value.byte_tokens() && !Config::value.scales_blocks();
  typename Sums::OfRows of_rows[kScales ? S::kRowTiles : 1];

  // A pass takes kPassTokens tokens of a row tile through shared memory.
  static constexpr int kPassTokens =
      S::tokens_of_pass(S::kPairs ? S::kOwnTokens / 2 : S::kOwnTokens);
  static constexpr int kPasses = S::kRowTiles * (S::kOwnTokens / kPassTokens);

  // Called before the piece is multiplied. Begins to fetch what its sums are multiplied by, which
  // would be late behind them.
  __device__ __forceinline__ void begin(const Piece& piece) {
    if constexpr (kScales) {
      const int first = S::kSplitsColumns ? warpgroup * S::kOwnTokens : 0;
      for (int i = thread; i < S::kOwnTokens; i += 128) {
        const int token = unchecked_token_at(piece, first + i);
        sums.template fetch_token<Config>(token < m ? token : m - 1,
                                          memory.token_values(warpgroup) + 4 * i);
      }
      copy_async_commit();
#pragma unroll
      for (int r = 0; r < S::kRowTiles; ++r) {
        const int row_block = 4 * (first_tile_of(piece) + r) + thread / 32;
        of_rows[r] =
            sums.template of_rows<Config>(output.weights, output.shape, row_block, thread % 32 / 4);
      }
    }
  }

  // Called once the piece has been multiplied, whether its sums are stored or not.
  __device__ __forceinline__ void end_fetch() const {
    if constexpr (kScales) copy_async_wait<0>();
  }

  // Stores the share to Y.
  //
  // A pass differs from the next one in the registers that it reads, so only that code stands once
  // for each pass. The rest is a loop: unrolled it would be most of the kernel's text.
  __device__ __forceinline__ void run(Piece piece, AllSums& sum,
                                      const TileShare<Config>& share) const {
    // The compiler would keep the tokens' numbers, the same for every piece, in registers through
    // the main loop.
    u32 first_token = piece.first_token;
    pin(first_token);
    piece.first_token = static_cast<int>(first_token);
    if constexpr (kScales) scale(sum, share);
    Config::End::run(*this, piece, sum, share);
  }

  __device__ __forceinline__ int first_tile_of(const Piece& piece) const {
    return piece.row_tile + (S::kSplitsColumns ? 0 : S::kRowTiles * warpgroup);
  }
  // The place in the piece of the share's first token.
  __device__ __forceinline__ int place_of(const TileShare<Config>& share) const {
    return S::kSplitsColumns ? share.place + warpgroup * S::kOwnTokens : share.place;
  }
  // The token at a place of the piece; negative: none, or one that has another place, too.
  __device__ __forceinline__ int token_at(const Piece& piece, int place) const {
    const int token = unchecked_token_at(piece, place);
    return token >= box_of(piece, place) && token < end_token(piece, m) ? token : -1;
  }

  // Passes of the share that have tokens. `place`: that of its first token in the piece.
  static __device__ __forceinline__ int passes_of(const Piece& piece, int place,
                                                  const TileShare<Config>& share) {
    if constexpr (Piece::kTellsTokens) {
      const int tokens = piece.tokens(S::kOwnTokens, place);
      return (tokens + kPassTokens - 1) / kPassTokens * S::kRowTiles;
    }
    return S::kPairs ? share.tokens / kPassTokens * S::kRowTiles : kPasses;
  }
  // Calls put(sums of a row tile, first token) for the pass.
  template <class Put>
  static __device__ __forceinline__ void of_pass(const AllSums& sum, int pass, const Put& put) {
#pragma unroll
    for (int i = 0; i < kPasses; ++i) {
      if (i != pass) continue;
      put(sum[i % S::kRowTiles], i / S::kRowTiles * kPassTokens);
    }
  }

 private:
  // The sums become what they stand for: see ByteSums. What there is of the tokens went through
  // shared memory: its addresses would take the registers that the sums leave.
  __device__ __forceinline__ void scale(AllSums& sum, const TileShare<Config>& share) const {
    const int t = thread % 4;
    const u32 of_tokens = memory.token_values(warpgroup) + 4 * share.place;
    warpgroup_barrier(1 + warpgroup);
#pragma unroll
    for (int j = 0; j < S::kOwnTokens / 8; ++j) {
      if (S::kPairs && 8 * j >= share.tokens) break;
      const auto of_two = sums.template load_tokens<Config>(of_tokens + 4 * (8 * j + 2 * t));
#pragma unroll
      for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int r = 0; r < S::kRowTiles; ++r) {
          Sum* v = sum[r] + 4 * j + i;
          const typename Sums::OfToken& token = of_two.token[i];
          Sums::template scale<Config>(v[0], token, of_rows[r].scale.low, of_rows[r].sum_low);
          Sums::template scale<Config>(v[2], token, of_rows[r].scale.high, of_rows[r].sum_high);
        }
      }
    }
  }

  // The first token of the box that a place of the piece is in, had it all of its tokens.
  __device__ __forceinline__ int box_of(const Piece& piece, int place) const {
    return piece.first_token + (S::kBoxes == 1 ? 0 : place / S::kBoxTokens * S::kBoxTokens);
  }
  // The token at a place, which may be behind the last one.
  __device__ __forceinline__ int unchecked_token_at(const Piece& piece, int place) const {
    return piece.first_token + place - S::early(box_of(piece, place), m);
  }
};

}  // namespace heddle

// Sums of a warpgroup to Y, through shared memory, so that neighbouring rows of a token are written
// together.
#pragma once

#include "primitives/warpgroup.cuh"
#include "primitives/wgmma.cuh"
#include "schedule/piece.cuh"
#include "steps/output.cuh"
#include "warpgroup/found_rows.cuh"
#include "warpgroup/found_scales.cuh"
#include "warpgroup/found_tokens.cuh"
#include "warpgroup/rounded.cuh"
#include "warpgroup/shape.cuh"

namespace heddle {

template <class Config>
struct WgmmaStore {
  using S = WgmmaShape<Config>;
  using Sums = typename Config::Sums;
  using Sum = typename Sums::Sum;
  static constexpr bool kGated = Config::value.epilogue.gated;
  static constexpr int kRows = Config::value.epilogue.rows();
  static constexpr int kRowThreads = 64 / kRows;  // that write a token's outputs of 64 rows

  WgmmaMemory<Config> memory;
  Output<Config> output;
  Sums sums;
  int m;
  int warpgroup, thread;  // of the warpgroup
  // Codes of eight bits: what the rows' sums are multiplied by.
  static constexpr bool kScales = S::kByteTokens && !S::kScalesBlocks;
  typename Sums::OfRows of_rows[kScales ? S::kRowTiles : 1];

  // A pass takes kPassTokens tokens of a row tile through shared memory.
  static constexpr int kPassTokens =
      S::tokens_of_pass(S::kPairs ? S::kOwnTokens / 2 : S::kOwnTokens);
  static_assert(!S::kRoundsFirst || kPassTokens % 16 == 0, "stmatrix stores 16 tokens");
  static constexpr int kPasses = S::kRowTiles * (S::kOwnTokens / kPassTokens);

  // Before the piece is multiplied: begins to fetch what its sums are multiplied by, which would be
  // late behind them.
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

  // Once the piece has been multiplied, whether its sums are stored or not.
  __device__ __forceinline__ void end_fetch() const {
    if constexpr (kScales) copy_async_wait<0>();
  }

  // Stores to Y the sums of the warpgroup's first `tokens` tokens, which are those from `place` of
  // the piece on; `tokens` is S::kOwnTokens or, of a pair, half of them.
  //
  // A pass differs from the next one in the registers that it reads, so only that code stands here
  // once for each pass. The rest is a loop: unrolled it would be most of the kernel's text.
  __device__ __forceinline__ void run(Piece piece, Sum (&sum)[S::kRowTiles][S::kOwnSums], int place,
                                      int tokens) const {
    // Else the tokens' numbers, the same for every piece, would keep registers while it multiplies.
    u32 first_token = piece.first_token;
    pin(first_token);
    piece.first_token = static_cast<int>(first_token);
    if constexpr (S::kFindsInRegisters) {
      find_in_registers(piece, sum, place, tokens);
    } else if constexpr (Config::value.epilogue.finds_scales) {
      run_groups(piece, sum, place, tokens);
    } else if constexpr (S::kTokenRows) {
      run_token_rows(piece, sum, place, tokens);
    } else {
      run_row_tiles(piece, sum, place, tokens);
    }
  }

 private:
  __device__ __forceinline__ void find_in_registers(const Piece& piece,
                                                    Sum (&sum)[S::kRowTiles][S::kOwnSums],
                                                    int place, int tokens) const {
    if constexpr (kScales) scale(sum, place, tokens);
    // Hides the thread's number: the compiler would keep addresses that follow from it in registers
    // through the main loop.
    u32 own = thread;
    pin(own);
    const int own_thread = static_cast<int>(own);
    if constexpr (S::kTokenRows) {
      const int eights = S::kPairs && tokens < S::kOwnTokens ? 1 : 2;
      const int first = eights == 1 && place != 0 ? 1 : 0;
      const WgmmaFoundTokens<Config> found{
          memory, output, m, warpgroup, own_thread, 64 * piece.row_tile, eights, first};
      found.run(sum, [&](int i) { return token_at(piece, S::kBoxTokens * warpgroup + i); });
    } else {
      WgmmaFoundRows<Config>{memory, output, m, warpgroup, own_thread, first_tile_of(piece)}.run(
          sum, tokens, [&](int i) { return token_at(piece, place + i); });
    }
  }

  __device__ __forceinline__ void run_row_tiles(const Piece& piece,
                                                Sum (&sum)[S::kRowTiles][S::kOwnSums], int place,
                                                int tokens) const {
    if constexpr (kScales) scale(sum, place, tokens);
    if constexpr (S::kSplitsColumns) place += warpgroup * S::kOwnTokens;
    const int first_tile = first_tile_of(piece);
    const int passes = S::kPairs ? tokens / kPassTokens * S::kRowTiles : kPasses;
#pragma unroll 1
    for (int pass = 0; pass < passes; ++pass) {
      const int first = pass / S::kRowTiles * kPassTokens;
      const int row = 64 * (first_tile + pass % S::kRowTiles);
      put_pass(sum, pass);
      warpgroup_barrier(1 + warpgroup);
      if constexpr (S::kRoundsFirst) {
        store_rounded<kPassTokens>(piece, place + first, row);
      } else {
        store_pass<kPassTokens>(piece, place + first, row);
        warpgroup_barrier(1 + warpgroup);
      }
    }
  }

  // Codes with scales that are found, without kFindsInRegisters: all passes tell the largest
  // magnitudes of their rows, then all of them again are stored. Where warpgroups share the rows of
  // a group they wait for each other.
  __device__ __forceinline__ void run_groups(const Piece& piece,
                                             Sum (&sum)[S::kRowTiles][S::kOwnSums], int place,
                                             int tokens) const {
    if constexpr (kScales) scale(sum, place, tokens);
    const int first_tile = first_tile_of(piece);
    const int passes = S::kPairs ? tokens / kPassTokens * S::kRowTiles : kPasses;
#pragma unroll 1
    for (int i = 0; i < 2 * passes; ++i) {
      const bool stores = i >= passes;
      const int pass = stores ? i - passes : i;
      const int first = place + pass / S::kRowTiles * kPassTokens;
      if (i == passes) meet_for_group();
      put_pass(sum, pass);
      warpgroup_barrier(1 + warpgroup);
      WgmmaFoundScales<Config>{memory, output, m, warpgroup, thread}.template run<kPassTokens>(
          first, first_tile + pass % S::kRowTiles, stores,
          [&](int of_place) { return token_at(piece, of_place); });
      warpgroup_barrier(1 + warpgroup);
    }
    meet_for_group();  // the next piece has other magnitudes
  }
  static __device__ __forceinline__ void meet_for_group() {
    if constexpr (!Config::value.has_own_groups()) {
      warpgroups_barrier<S::kWarpgroups>(1 + S::kWarpgroups);
    }
  }

  __device__ __forceinline__ int first_tile_of(const Piece& piece) const {
    return piece.row_tile + (S::kSplitsColumns ? 0 : S::kRowTiles * warpgroup);
  }

  // The sums become what they stand for: see ByteSums. Those from `place` of the warpgroup's tokens
  // on. What there is of the tokens went through shared memory: its addresses would take the
  // registers that the sums leave.
  __device__ __forceinline__ void scale(Sum (&sum)[S::kRowTiles][S::kOwnSums], int place,
                                        int tokens) const {
    const int t = thread % 4;
    const u32 of_tokens = memory.token_values(warpgroup) + 4 * place;
    warpgroup_barrier(1 + warpgroup);
#pragma unroll
    for (int j = 0; j < S::kOwnTokens / 8; ++j) {
      if (S::kPairs && 8 * j >= tokens) break;
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

  __device__ __forceinline__ WgmmaRounded<Config> rounded() const {
    return {memory, warpgroup, thread, Output<Config>::Result::load_scale(output.y_scales)};
  }
  // Sums of the pass to shared memory.
  __device__ __forceinline__ void put_pass(const Sum (&sum)[S::kRowTiles][S::kOwnSums],
                                           int pass) const {
#pragma unroll
    for (int i = 0; i < kPasses; ++i) {
      if (i != pass) continue;
      const int first = i / S::kRowTiles * kPassTokens;
      if constexpr (S::kRoundsFirst) {
        rounded().template put<kPassTokens>(sum[i % S::kRowTiles], first);
      } else {
        put<kPassTokens>(sum[i % S::kRowTiles], first);
      }
    }
  }

  // Of tokens that are rows of the instruction: a pass takes 64 of them and 64 rows of W. What a
  // pair shares are not tokens but the halves of each 128 rows, of which `place` says the same.
  __device__ __forceinline__ void run_token_rows(const Piece& piece,
                                                 const Sum (&sum)[S::kRowTiles][S::kOwnSums],
                                                 int place, int tokens) const {
    const bool is_half = S::kPairs && tokens < S::kOwnTokens;
    const int first = is_half && place != 0 ? kPassesOf128 / 2 : 0;
#pragma unroll 1
    for (int pass = 0; pass < S::kRowTiles * kPassesOf128; ++pass) {
      const int i = pass % kPassesOf128;
      if (is_half && i >= kPassesOf128 / 2) continue;
      put_token_pass(sum, pass);
      warpgroup_barrier(1 + warpgroup);
      store_rounded<64>(piece, S::kBoxTokens * warpgroup + 64 * ((first + i) / 2),
                        64 * (piece.row_tile + 2 * (pass / kPassesOf128) + (first + i) % 2));
    }
  }
  static constexpr int kPassesOf128 = S::kOwnSums / 32;  // of 128 rows of W; of a pair half as many
  __device__ __forceinline__ void put_token_pass(const Sum (&sum)[S::kRowTiles][S::kOwnSums],
                                                 int pass) const {
#pragma unroll
    for (int i = 0; i < S::kRowTiles * kPassesOf128; ++i) {
      if (i != pass) continue;
      rounded().put_token_rows(sum[i / kPassesOf128] + 32 * (i % kPassesOf128));
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
  // The same; negative: none, or one that has another place, too.
  __device__ __forceinline__ int token_at(const Piece& piece, int place) const {
    const int token = unchecked_token_at(piece, place);
    return token >= box_of(piece, place) && token < m ? token : -1;
  }

  // Eight threads write 64 rows of a token, four those of gates and ups. Shared memory is free
  // before they do.
  template <int kTokens>
  __device__ __forceinline__ void store_rounded(const Piece& piece, int place,
                                                int first_row) const {
    constexpr int kAtOnce = 128 / kRowThreads;  // tokens
    constexpr int kVectors = (kTokens + kAtOnce - 1) / kAtOnce;
    const int own = thread / kRowThreads;  // token
    const int vector = thread % kRowThreads;
    const u32 from = memory.pass(warpgroup) + 2 * (own * S::kRoundedRow + vector * 8);
    const int row = first_row + vector * kRows;
    const auto is_of_pass = [&](int i) {
      return kTokens % kAtOnce == 0 || kAtOnce * i + own < kTokens;
    };
    u32x4 values[kVectors];
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      if (is_of_pass(i)) values[i] = load_shared_16(from + 2 * kAtOnce * i * S::kRoundedRow);
    }
    warpgroup_barrier(1 + warpgroup);
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const int token = token_at(piece, place + kAtOnce * i + own);
      if (token < 0 || (S::kRowsMayEnd && row >= output.shape.n)) continue;
      if (!is_of_pass(i)) continue;
      Output<Config>::Result::store_rounded(output.y + output.offset_of(token, row), values[i]);
    }
  }

  // Tokens of a row tile to shared memory.
  template <int kTokens, int kCount>
  __device__ __forceinline__ void put(const Sum (&sums)[kCount], int first) const {
    const int g = thread % 32 / 4;
    const int t = thread % 4;
    const u32 to = memory.pass(warpgroup) + 4 * (2 * t * S::kPassRow + thread / 32 * 16 + g);
#pragma unroll
    for (int j = 0; j < kTokens / 8; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        store_shared_float(to + 4 * ((8 * j + (i & 1)) * S::kPassRow + 8 * (i >> 1)),
                           Sums::as_float(sums[(first / 8 + j) * 4 + i]));
      }
    }
  }

  // Eight threads write 64 rows of a token, each eight of them, or four, each a row block.
  template <int kTokens>
  __device__ __forceinline__ void store_pass(const Piece& piece, int place, int first_row) const {
#pragma unroll
    for (int i = thread; i < kTokens * kRowThreads; i += 128) {
      const int token = token_at(piece, place + i / kRowThreads);
      const int row = i % kRowThreads * kRows;
      if (token < 0) continue;
      if (S::kRowsMayEnd && first_row + row >= output.shape.n) continue;
      const u32 at = memory.pass(warpgroup) + 4 * (i / kRowThreads * S::kPassRow + row);
      output.store(token, first_row + row, [&](int half) {
        Sums8 sum = {};
        add_floats(sum, load_shared_floats(at + 32 * half),
                   load_shared_floats(at + 32 * half + 16));
        return sum;
      });
    }
  }
};

}  // namespace heddle

// Codes of eight bits whose scales are found in registers (WarpgroupConfig::finds_in_registers()),
// of tokens that are rows of the instruction: the four lanes that have a token have all 128 outputs
// of its group.
//
// Budget of a thread with 128 sums, 32 of each of four tokens, computed, in instructions: 128
// maxima, 3 shuffles of them, 80 for a scale, 4 shuffles of it, 128 products, 64 codes of pairs, 64
// to join and mask them, 8 stores to shared memory, 8 loads, 32 to sort, 8 stores of 16 bytes and
// 120 for their addresses. That is some 5 for each 32 outputs, and none of it waits for another
// warp.
//
// Order: the largest magnitudes of the lane's tokens; of the scales that follow each of the four
// lanes makes one and tells the others; then 64 tokens by 128 outputs after another, of which a
// warp has 16 tokens: their codes go through its own shared memory, so that lines of Y are written
// whole.
#pragma once

#include "primitives/mma.cuh"
#include "primitives/sync.cuh"
#include "steps/output.cuh"
#include "warpgroup/store.cuh"

namespace heddle {

template <class Config>
struct WgmmaFoundTokens {
  using S = WgmmaShape<Config>;
  using Result = typename Config::Result;
  using O = Output<Config>;
  static constexpr bool kGated = Config::value.epilogue.gated;
  static constexpr int kCodeRow = Config::value.kTokenCodeRow;
  static constexpr int kRows = kGated ? 256 : 128;  // of a group
  static constexpr int kGroups = S::kRowTiles * 128 / kRows;
  static constexpr int kOutputs = 32;  // of a token, that a lane has
  // Tokens of a lane, counted once for each group: eights of tiles of groups.
  static constexpr int kTokens = kGroups * S::kTokenTiles * 2;
  static_assert(kTokens == 2 || kTokens == 4);
  using Sums = float[S::kRowTiles][S::kOwnSums];

  WgmmaMemory<Config> memory;
  const O& output;
  int m;
  int warpgroup, thread;  // of the warpgroup
  int first_row;          // of the tile
  // Where only half of the sums are this block's, those of tokens g or of g + 8, in the places of
  // g: 1 and the first of the eights. Else 2 and 0.
  int eights, first_eight;

  static __device__ __forceinline__ void run(const WgmmaStore<Config>& store, const Piece& piece,
                                             Sums& sum, const TileShare<Config>& share) {
    // Hides the thread's number: the compiler would keep addresses that follow from it in registers
    // through the main loop.
    u32 own = store.thread;
    pin(own);
    const int eights = share.is_half() ? 1 : 2;
    const int first = share.is_second() ? 1 : 0;
    const WgmmaFoundTokens found{
        store.memory,          store.output,        store.m, store.warpgroup,
        static_cast<int>(own), 64 * piece.row_tile, eights,  first};
    found.end(sum,
              [&](int i) { return store.token_at(piece, S::kBoxTokens * store.warpgroup + i); });
  }

 private:
  // `token_at(i)` is the warpgroup's ith token, or negative.
  template <class TokenAt>
  __device__ __forceinline__ void end(Sums& sum, const TokenAt& token_at) const {
    if constexpr (kGated) gate(sum);
    float inverses[kTokens];
    find_scales(sum, token_at, inverses);
#pragma unroll
    for (int i = 0; i < kTokens; i += 2) {
      put(sum, i, inverses);
      warp_barrier();
      store(i, token_at);
      warp_barrier();  // the next codes take the place of these
    }
  }

  static __device__ __forceinline__ constexpr int group_of(int i) { return i / 2 / S::kTokenTiles; }
  static __device__ __forceinline__ constexpr int tile_of(int i) { return i / 2 % S::kTokenTiles; }
  __device__ __forceinline__ int row_of(int group) const { return first_row + group * kRows; }
  // The first token of eight of a warp's, in the warpgroup.
  __device__ __forceinline__ int eight_of(int tile, int eight) const {
    return 64 * tile + thread / 32 * 16 + 8 * (first_eight + eight);
  }

  // Outputs in the places of gates: eight rows are gates, the next eight their ups.
  static __device__ __forceinline__ void gate(Sums& sum) {
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
#pragma unroll
      for (int i = 0; i < S::kOwnSums; i += i % 4 == 3 ? 5 : 1) {
        sum[r][i] = O::gated(sum[r][i], sum[r][i + 4]);
      }
    }
  }
  // Outputs j and j + 1, j even, of the lane's ith token, which are of eight rows, or of a row
  // block.
  static __device__ __forceinline__ const float* two_outputs(const Sums& sum, int i, int j) {
    const int of_token = 64 * tile_of(i) + i % 2 * 2;
    return kGated ? sum[j / 16] + of_token + j % 16 * 4 : sum[group_of(i)] + of_token + j * 2;
  }
  __device__ __forceinline__ bool is_inside(int group, int j) const {
    return !S::kRowsMayEnd || row_of(group) + (kGated ? 8 : 4) * j < output.shape.n;
  }

  // What the outputs of each token are multiplied by; 0 if their scale is NaN. Of the four lanes of
  // a token each keeps half of the tokens twice, or of two tokens once.
  template <class TokenAt>
  __device__ __forceinline__ void find_scales(const Sums& sum, const TokenAt& token_at,
                                              float (&inverses)[kTokens]) const {
    float most[kTokens];
#pragma unroll
    for (int i = 0; i < kTokens; ++i) {
      most[i] = 0.0f;
#pragma unroll
      for (int j = 0; j < kOutputs; j += 2) {
        const float* y = two_outputs(sum, i, j);
        const float two = max_or_nan(fabsf(y[0]), fabsf(y[1]));
        most[i] = max_or_nan(most[i], is_inside(group_of(i), j) ? two : 0.0f);
      }
    }
    const int lane = thread % 32;
    share_largest<2, 1>(most, lane);
    const FoundScale scale = Result::scale_of(most[0]);
    const u32 inverse = bits_of_float(scale.of_codes.inverse) & scale.of_codes.mask;
    constexpr int kLanes = 4 / kTokens;  // that have the same token
    const int own = lane % 4 / kLanes;
    const int row = row_of(group_of(own));
    const int token = token_at(eight_of(tile_of(own), own % 2) + lane / 4);
    const bool is_mine = lane % kLanes == 0 && (!S::kPairs || own % 2 < eights);
    if (is_mine && token >= 0 && (!S::kRowsMayEnd || row < output.shape.n)) {
      output.store_scale(token, row, m, scale);
    }
#pragma unroll
    for (int i = 0; i < kTokens; ++i) {
      inverses[i] = float_from_bits(shuffle(inverse, lane / 4 * 4 + i * kLanes));
    }
  }

  __device__ __forceinline__ u32 codes() const {
    return memory.pass(warpgroup) + thread / 32 * 16 * kCodeRow;
  }
  // Codes of the lane's tokens i and i + 1. A lane's element of a matrix are its two codes of eight
  // outputs, then those of the next eight.
  __device__ __forceinline__ void put(const Sums& sum, int i,
                                      const float (&inverses)[kTokens]) const {
    const int lane = thread % 32;
    const u32 to = codes() + lane % 8 * kCodeRow + lane / 8 * 16;
#pragma unroll
    for (int eight = 0; eight < 2; ++eight) {
      if (S::kPairs && eight >= eights) break;
      const float inverse = inverses[i + eight];
      const u32 mask = bits_of_float(inverse) != 0 ? 0xffffffffu : 0;
      u32 v[kOutputs / 4];
#pragma unroll
      for (int j = 0; j < kOutputs / 4; ++j) {
        const float* low = two_outputs(sum, i + eight, 4 * j);
        const float* high = two_outputs(sum, i + eight, 4 * j + 2);
        v[j] = prmt<0x5410>(Result::template pair<!kGated>(low[0], low[1], inverse),
                            Result::template pair<!kGated>(high[0], high[1], inverse)) &
               mask;
      }
      const u32 place = to + 8 * eight * kCodeRow;
      store_matrices(place, {v[0], v[1], v[2], v[3]});
      store_matrices(place + 64, {v[4], v[5], v[6], v[7]});
    }
  }

  // Eight lanes write 128 outputs of a token.
  template <class TokenAt>
  __device__ __forceinline__ void store(int i, const TokenAt& token_at) const {
    const int lane = thread % 32;
    const int row = row_of(group_of(i)) + lane % 8 * (kRows / 8);
    const u32 from = codes() + lane / 8 * kCodeRow + lane % 8 * 16;
    u32x4 codes_of_four[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (S::kPairs && j >= 2 * eights) break;
      codes_of_four[j] = load_shared_16(from + 4 * j * kCodeRow);
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (S::kPairs && j >= 2 * eights) break;
      const int token = token_at(eight_of(tile_of(i), 0) + 4 * j + lane / 8);
      if (token < 0) continue;
      const u32x4& v = codes_of_four[j];
      const u32x4 sorted = {prmt<0x5410>(v.x, v.y), prmt<0x5410>(v.z, v.w), prmt<0x7632>(v.x, v.y),
                            prmt<0x7632>(v.z, v.w)};
      u8* const y = output.y + output.offset_of(token, row);
      if constexpr (!S::kRowsMayEnd) {
        store_global_16(y, sorted);
      } else {
        if (row < output.shape.n) store_global_8(y, sorted.x, sorted.y);
        if (row + O::kRows < output.shape.n) store_global_8(y + 8, sorted.z, sorted.w);
      }
    }
  }
};

}  // namespace heddle

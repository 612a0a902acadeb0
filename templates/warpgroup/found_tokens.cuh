// Codes of eight bits whose scales are found in registers (WarpgroupConfig::finds_in_registers()),
// of tokens that are rows of the instruction: the four lanes that have a token have all 128 outputs
// of its group.
//
// Budget of a thread with 64 sums, 32 of each of two tokens, computed, in instructions: 64 maxima,
// 4 shuffles with as many maxima, 80 for two scales, 64 products, 32 codes of pairs and as many to
// join and mask them, 4 stores to shared memory, 4 loads, 16 to sort, 4 stores of 16 bytes. That is
// some 5 for each 32 outputs, and none of it waits for another warp.
//
// Order: 64 tokens by 128 outputs after another, of which a warp has 16 tokens: their codes go
// through its own shared memory, so that a line of Y is written at once.
#pragma once

#include "primitives/mma.cuh"
#include "primitives/sync.cuh"
#include "steps/output.cuh"
#include "warpgroup/shape.cuh"

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

  WgmmaMemory<Config> memory;
  const O& output;
  int m;
  int warpgroup, thread;  // of the warpgroup
  int first_row;          // of the tile

  // With `eights` 1 sums of tokens g, or of g + 8, are there alone, in the places of g: those from
  // `first_eight` on. `token_at(i)` is the warpgroup's ith token, or negative.
  template <class TokenAt>
  __device__ __forceinline__ void run(const float (&sum)[S::kRowTiles][S::kOwnSums], int eights,
                                      int first_eight, const TokenAt& token_at) const {
    const int warp = thread / 32;
    const u32 codes = memory.pass(warpgroup) + 16 * warp * kCodeRow;
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      const int row = first_row + group * kRows;
#pragma unroll
      for (int tile = 0; tile < S::kTokenTiles; ++tile) {
        const auto token = [&](int i) {
          return token_at(64 * tile + 16 * warp + 8 * first_eight + i);
        };
        warp_barrier();  // codes before these have been read
#pragma unroll
        for (int eight = 0; eight < 2; ++eight) {
          if (S::kPairs && eight >= eights) break;
          put(sum, group, 32 * tile * 2 + 2 * eight, row, token(8 * eight + thread % 32 / 4),
              codes + 8 * eight * kCodeRow);
        }
        warp_barrier();
        store(codes, eights, row, token);
      }
    }
  }

 private:
  // Of the lane's token of eight, whose first sum is at i.
  __device__ __forceinline__ void put(const float (&sum)[S::kRowTiles][S::kOwnSums], int group,
                                      int i, int row, int token, u32 codes) const {
    const int lane = thread % 32;
    float y[kOutputs];
#pragma unroll
    for (int j = 0; j < kOutputs; j += 2) {
      outputs(sum, group, i, j, y);
      if (S::kRowsMayEnd && row + (kGated ? 8 : 4) * j >= output.shape.n) y[j] = y[j + 1] = 0.0f;
    }
    float most = 0.0f;
#pragma unroll
    for (const float v : y) most = max_or_nan(most, fabsf(v));
    const FoundScale scale = Result::scale_of(largest_of_lanes<4>(most));
    if (lane % 4 == 0 && token >= 0 && (!S::kRowsMayEnd || row < output.shape.n)) {
      output.store_scale(token, row, m, scale);
    }
    // A lane's element of a matrix are its two codes of eight outputs, then those of the next
    // eight.
    u32 v[kOutputs / 4];
#pragma unroll
    for (int j = 0; j < kOutputs / 4; ++j) v[j] = Result::Codes::four(y + 4 * j, scale.of_codes);
    const u32 to = codes + lane % 8 * kCodeRow + lane / 8 * 16;
    store_matrices(to, {v[0], v[1], v[2], v[3]});
    store_matrices(to + 64, {v[4], v[5], v[6], v[7]});
  }
  // Two outputs from y[j] on, of eight rows or, with gates, of a row block.
  static __device__ __forceinline__ void outputs(const float (&sum)[S::kRowTiles][S::kOwnSums],
                                                 int group, int i, int j, float (&y)[kOutputs]) {
    if constexpr (kGated) {
      const float* gates = sum[j / 16] + i + j % 16 * 4;
      y[j] = activate_gated<O::kActivation, O::kLimit>(gates[0], gates[4]);
      y[j + 1] = activate_gated<O::kActivation, O::kLimit>(gates[1], gates[5]);
    } else {
      y[j] = sum[group][i + 2 * j];
      y[j + 1] = sum[group][i + 2 * j + 1];
    }
  }

  // Eight lanes write 128 outputs of a token.
  template <class Token>
  __device__ __forceinline__ void store(u32 codes, int eights, int row,
                                        const Token& token_at) const {
    const int lane = thread % 32;
    const int own_row = row + lane % 8 * (kRows / 8);
#pragma unroll
    for (int i = 0; i < 16; i += 4) {
      if (S::kPairs && i >= 8 * eights) break;
      const u32x4 v = load_shared_16(codes + (i + lane / 8) * kCodeRow + lane % 8 * 16);
      const int token = token_at(i + lane / 8);
      if (token < 0) continue;
      const u32x4 sorted = {prmt<0x5410>(v.x, v.y), prmt<0x5410>(v.z, v.w), prmt<0x7632>(v.x, v.y),
                            prmt<0x7632>(v.z, v.w)};
      u8* const y = output.y + output.offset_of(token, own_row);
      if constexpr (!S::kRowsMayEnd) {
        store_global_16(y, sorted);
      } else {
        if (own_row < output.shape.n) store_global_8(y, sorted.x, sorted.y);
        if (own_row + O::kRows < output.shape.n) store_global_8(y + 8, sorted.z, sorted.w);
      }
    }
  }
};

}  // namespace heddle

// Sums that become outputs in registers (WarpgroupConfig::rounds_first()), on their way to Y: a
// pass's to shared memory, [tokens][kRoundedRow] of 16 bits, of codes of eight bits the low ones.
#pragma once

#include "primitives/mma.cuh"
#include "primitives/warpgroup.cuh"
#include "steps/output.cuh"
#include "warpgroup/shape.cuh"

namespace heddle {

template <class Config>
struct WgmmaRounded {
  using S = WgmmaShape<Config>;
  using Sums = typename Config::Sums;
  using Sum = typename Sums::Sum;
  static constexpr bool kGated = Config::value.epilogue.gated;

  WgmmaMemory<Config> memory;
  int warpgroup, thread;  // of the warpgroup
  typename Output<Config>::Result::Scale scale;

  // Tokens of a row tile: each warp's part transposed by stmatrix. Of four matrices of 8 rows by 8
  // tokens two are of rows, then those of the next tokens.
  template <int kTokens, int kCount>
  __device__ __forceinline__ void put(const Sum (&sums)[kCount], int first) const {
    const int lane = thread % 32;
    if constexpr (kGated) return put_gated<kTokens>(sums, first);
    const u32 to = memory.pass(warpgroup) + 2 * ((lane / 16 * 8 + lane % 8) * S::kRoundedRow +
                                                 thread / 32 * 16 + lane / 8 % 2 * 8);
#pragma unroll
    for (int i = 0; i < kTokens; i += 16) {
      const Sum* v = sums + (first + i) / 2;
      store_matrices_transposed(to + 2 * i * S::kRoundedRow,
                                {rounded(v), rounded(v + 2), rounded(v + 4), rounded(v + 6)});
    }
  }

  // 64 tokens, which are rows of the instruction, and 64 rows of W: a lane has rows 2t and 2t + 1
  // of each eight, of its warp's tokens g and g + 8.
  __device__ __forceinline__ void put_token_rows(const Sum* sums) const {
    const int g = thread % 32 / 4;
    const int t = thread % 4;
    const u32 to = memory.pass(warpgroup) + 2 * ((thread / 32 * 16 + g) * S::kRoundedRow + 2 * t);
    constexpr u32 kEightTokens = 2 * 8 * S::kRoundedRow;
#pragma unroll
    for (int i = 0; i < 32; i += kGated ? 8 : 4) {
      const Sum* v = sums + i;
      const u32 at = to + 2 * 8 * (kGated ? i / 8 : i / 4);
      store_shared_4(at, kGated ? gated(v[0], v[4], v[1], v[5]) : rounded(v));
      store_shared_4(at + kEightTokens, kGated ? gated(v[2], v[6], v[3], v[7]) : rounded(v + 2));
    }
  }

 private:
  // Gates and ups of a row tile, rows g and g + 8 of a warp's row block, which one lane has: all
  // matrices are of tokens, four or two of them.
  template <int kTokens, int kCount>
  __device__ __forceinline__ void put_gated(const Sum (&sums)[kCount], int first) const {
    constexpr int kStored = kTokens % 32 == 0 ? 32 : 16;  // tokens at once
    static_assert(kTokens % kStored == 0, "whole pairs of matrices");
    const int lane = thread % 32;
    const u32 to = memory.pass(warpgroup) + 2 * (lane % kStored * S::kRoundedRow + thread / 32 * 8);
#pragma unroll
    for (int i = 0; i < kTokens; i += kStored) {
      const Sum* v = sums + (first + i) / 2;
      const u32 at = to + 2 * i * S::kRoundedRow;
      if constexpr (kStored == 32) {
        store_matrices_transposed(at, {gated(v), gated(v + 4), gated(v + 8), gated(v + 12)});
      } else {
        store_two_matrices_transposed(at, gated(v), gated(v + 4));
      }
    }
  }

  static __device__ __forceinline__ float scaled(Sum sum) {
    return power_of_two<Output<Config>::kLeftExponent>(Sums::as_float(sum));
  }
  __device__ __forceinline__ u32 rounded(const Sum* pair) const {
    return Output<Config>::Result::rounded(scaled(pair[0]), scaled(pair[1]), scale);
  }
  __device__ __forceinline__ u32 gated(const Sum* four) const {
    return gated(four[0], four[2], four[1], four[3]);
  }
  // Of two gates and their ups.
  __device__ __forceinline__ u32 gated(Sum gate, Sum up, Sum next_gate, Sum next_up) const {
    using O = Output<Config>;
    const float low = activate_gated<O::kActivation, O::kLimit>(scaled(gate), scaled(up));
    const float high =
        activate_gated<O::kActivation, O::kLimit>(scaled(next_gate), scaled(next_up));
    return O::Result::rounded(low, high, scale);
  }
};

}  // namespace heddle

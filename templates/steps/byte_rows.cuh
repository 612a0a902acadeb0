// What eight rows of W, or a row block of gates and ups, have beside their sums of products of
// codes of eight bits: scales and, for zero points of X, sums of codes.
#pragma once

#include "steps/byte_sums.cuh"

namespace heddle {

template <class Config>
struct ByteRows {
  using Sums = typename Config::Sums;
  static constexpr int kHalves = Config::value.epilogue.rows() / 8;

  float scale[kHalves][8];
  int sum[kHalves][8];

  // Loads what the packed rows from `row` on have.
  static __device__ __forceinline__ ByteRows load(const u8* weights, int row) {
    ByteRows rows;
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
      const int first = row + 8 * half;
      const bool upper = first % Chunk::kRows != 0;
#pragma unroll
      for (int g = 0; g < 8; ++g) {
        const auto pair =
            Sums::template of_rows<Config>(weights, Config::value.shape, first / Chunk::kRows, g);
        rows.scale[half][g] = upper ? pair.scale.high : pair.scale.low;
        rows.sum[half][g] = upper ? pair.sum_high : pair.sum_low;
      }
    }
    return rows;
  }

  // The sums of one half of the rows and a token, scaled.
  __device__ __forceinline__ Sums8 outputs(EightSums<typename Sums::Sum> sums,
                                           const typename Sums::OfToken& of_token, int half) const {
    Sums8 scaled;
#pragma unroll
    for (int g = 0; g < 8; ++g) {
      Sums::template scale<Config>(sums.v[g], of_token, scale[half][g], sum[half][g]);
      scaled.v[g] = Sums::as_float(sums.v[g]);
    }
    return scaled;
  }
};

}  // namespace heddle

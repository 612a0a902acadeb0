// One warp's share of all stages: codes from shared memory into fragments, and their products.
#pragma once

#include "byte_tiles/shape.cuh"
#include "primitives/mma_bytes.cuh"

namespace heddle {

// 16 rows by 32 columns by 8 tokens.
struct ByteMmaAmpere {
  template <class A, class B>
  static __device__ __forceinline__ void run(A a_codes, B b_codes, typename A::Sum (&d)[4],
                                             const u32 (&a)[4], const u32 (&b)[2]) {
    mma16832(a_codes, b_codes, d, a, b[0], b[1]);
  }
};
// INT8 by four instructions of 8 rows by 16 columns.
struct ByteMmaTuring {
  static __device__ __forceinline__ void run(Int8Codes, Int8Codes, u32 (&d)[4], const u32 (&a)[4],
                                             const u32 (&b)[2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      mma8816(d[0], d[1], a[2 * half], b[half]);
      mma8816(d[2], d[3], a[2 * half + 1], b[half]);
    }
  }
};

template <class Config>
struct ByteWarpTile {
  using S = ByteTilesShape<Config>;
  using Rows = typename Config::WeightCodes;
  using Columns = typename Config::TokenCodes;
  using Sum = typename Rows::Sum;
  static constexpr bool kPromotes = Config::value.promotes;
  static constexpr int kSteps = Chunk::kColumns / 32;  // of a chunk

  // What the instruction adds to: of a chunk or, where nothing is promoted, of all columns.
  Sum part[S::kRowTiles][S::kTokenTiles][4];
  Sum sum[S::kRowTiles][S::kTokenTiles][4];

  int g, t;         // lane = 4 * g + t
  int row_block;    // of the warp's first row tile, in the stage
  int token_row;    // the warp's first token, in the stage
  int chunk;        // the warp's first, of the stage
  u32 row_place;    // of the lane's row and unit for the first step of ldmatrix, in a chunk
  u32 token_place;  // the same, in the tokens of a chunk's columns

  __device__ __forceinline__ ByteWarpTile(int lane, int warp_m, int warp_n, int warp_k)
      : g(lane / 4),
        t(lane % 4),
        row_block(warp_n * S::kRowTiles),
        token_row(warp_m * S::kTokenTiles * 8),
        chunk(warp_k * S::kRunChunks),
        // Matrices of rows 0 to 7, rows 8 to 15, and those of the next 16 columns.
        row_place(S::unit_offset(lane % 16, lane / 16)),
        // Matrices of tokens 0 to 7, of the next 16 columns of these, and those of tokens 8 to 15.
        token_place(S::unit_offset(token_row + lane / 16 * 8 + lane % 8, lane / 8 % 2)) {
    clear(part);
    clear(sum);
  }

  // The block's stages, from `stages` (pipeline.cuh).
  template <class Stages>
  __device__ __forceinline__ void run(Stages& stages, int count) {
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      const u32 stage = stages.acquire();
#pragma unroll 1
      for (int c = chunk; c < chunk + S::kRunChunks; ++c) multiply_chunk(stage, c);
      stages.release();
    }
    if constexpr (!kPromotes) promote();
  }

 private:
  struct Fragments {
    u32 rows[S::kRowTiles][4];
    u32 tokens[S::kTokenTiles][2];
  };

  // The fragments of a step are loaded while those before it are multiplied. Where they become FP16
  // the compiler would convert those of all steps at once, for which there are no registers.
  __device__ __forceinline__ void multiply_chunk(u32 stage, int c) {
    const u32 rows = stage + row_block * S::kRowBlockBytes + c * S::kChunkBytes + row_place;
    const u32 tokens = stage + S::kWeightBytes + c * S::kTokenBytes + token_place;
    if constexpr (Config::value.converts) {
      Fragments fragments;
#pragma unroll 1
      for (int step = 0; step < kSteps; ++step) {
        load(rows, tokens, step, fragments);
        multiply(fragments);
      }
    } else {
      Fragments fragments[2];
      load(rows, tokens, 0, fragments[0]);
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        if (step + 1 < kSteps) load(rows, tokens, step + 1, fragments[(step + 1) % 2]);
        multiply(fragments[step % 2]);
      }
    }
    if constexpr (kPromotes) {
      promote();
      clear(part);
    }
  }

  // A step is two units: the swizzle makes its number bits 5 and 6 of the address, exclusive or.
  __device__ __forceinline__ void load(u32 rows, u32 tokens, int step, Fragments& to) const {
    const u32 row_unit = rows ^ 32 * step;
    const u32 token_unit = tokens ^ 32 * step;
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r)
      ldmatrix_x4(to.rows[r], row_unit + r * S::kRowBlockBytes);
#pragma unroll
    for (int j = 0; j < S::kTokenTiles; j += 2) {
      const u32 at = token_unit + j * 8 * S::kLineBytes;
      if (j + 1 == S::kTokenTiles) {
        ldmatrix_x2(to.tokens[j], at);
      } else {
        u32 pair[4];
        ldmatrix_x4(pair, at);
#pragma unroll
        for (int i = 0; i < 4; ++i) to.tokens[j + i / 2][i % 2] = pair[i];
      }
    }
  }

  __device__ __forceinline__ void multiply(const Fragments& of) {
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
#pragma unroll
      for (int j = 0; j < S::kTokenTiles; ++j) {
        Config::Mma::run(Rows{}, Columns{}, part[r][j], of.rows[r], of.tokens[j]);
      }
    }
  }

  __device__ __forceinline__ void promote() {
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r)
#pragma unroll
      for (int j = 0; j < S::kTokenTiles; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) sum[r][j][i] += part[r][j][i];
  }

  static __device__ __forceinline__ void clear(Sum (&sums)[S::kRowTiles][S::kTokenTiles][4]) {
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r)
#pragma unroll
      for (int j = 0; j < S::kTokenTiles; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) sums[r][j][i] = 0;
  }
};

}  // namespace heddle

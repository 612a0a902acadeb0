// GEMM of two operands of eight bits on mma.sync: Y[M, N] = X[M, K] * W[N, K]^T, INT8 from sm_75
// on, FP8 from sm_89 on, for every M. Weights are the A operand and tokens the N dimension, eight
// at a time; nothing is decoded, and scales meet the sums.
//
// Floors. Bytes: the codes of W once for each tile of tokens, those of X once for each tile of
// rows. Operations: 2 M N K at twice the rate of 16 bits.
//
// Budget of 128 rows by 128 columns on an SM of an A100, computed, in clocks:
//
//   tokens                                         16     64    128   128, tiles of 256 rows
//   weights from memory, 10.2 bytes a clock      1606   1606   1606   1606
//   tensor cores, 2048 products a clock           128    512   1024   1024
//   shared memory, 128 bytes a clock: fragments   256    512    768    512
//     of the warps, and stages that are written   144    192    256    192
//   instructions of a part of the SM               60    220    400    370
//
// A warp of 32 rows by 64 tokens reads 3 KB for 16 matrix instructions of 64 clocks in all, one of
// 64 by 64 reads 4 KB for 32: with its 128 sums only 256 threads fit an SM. An Ada or Turing SM
// multiplies half as fast, so shared memory is never the limit there. Promotion adds an instruction
// to each matrix instruction, and as many registers as there are sums.
//
// Roles. A thread block has one tile, or a part of its K (schedule/split_k.cuh). All warps copy,
// and all multiply. They share the tile's rows, its tokens, and the chunks of each stage.
//
// Order.
// 1. The stages in shared memory are filled (pipeline.cuh): the first one's weights at once, all
//    else after the previous kernel; then the scales and zero points of the tile's tokens.
// 2. Stage by stage each warp multiplies its chunks while later stages are copied (multiply.cuh).
// 3. The warps' sums go to shared memory, where the stages were, and are added; then those of
//    blocks that share K, in a fixed order, integers as integers (steps/tile_epilogue.cuh).
// 4. They are scaled (steps/byte_rows.cuh), and Y is written.
#pragma once

#include "byte_tiles/multiply.cuh"
#include "byte_tiles/pipeline.cuh"
#include "schedule/split_k.cuh"
#include "steps/byte_rows.cuh"
#include "steps/tile_epilogue.cuh"

namespace heddle {

// Sums become what they stand for where they go to Y; see PlainValues.
template <class Config>
struct ByteValues {
  using Sums = typename Config::Sums;
  using OfRows = ByteRows<Config>;

  Sums sums;
  const u8* weights;
  u32 token_values;  // in shared memory

  // Called after wait_for_predecessor(). Begins to copy what there is of the tile's tokens.
  __device__ __forceinline__ void fetch_tokens(int first_token, int m) const {
    for (int i = threadIdx.x; i < Config::value.tile_m; i += Config::value.threads()) {
      const int token = first_token + i < m ? first_token + i : m - 1;
      sums.template fetch_token<Config>(token, token_values + 4 * i);
    }
  }

  __device__ __forceinline__ OfRows of_rows(int row) const { return OfRows::load(weights, row); }

  __device__ __forceinline__ Sums8 outputs(const EightSums<typename Sums::Sum>& sum,
                                           const OfRows& rows, int token, int half) const {
    return rows.outputs(sum, Sums::template load_token<Config>(token_values + 4 * token), half);
  }
};

// `x_scales`: FP32, one for each token, or one in all; `x_zero_points`: int32, one for each token,
// or none.
template <class Config>
__device__ __forceinline__ void gemm_byte_tiles(const u8* x, const u8* weights, const u8* x_scales,
                                                const u8* x_zero_points, u8* y, const u8* bias,
                                                const u8* residual, u8* workspace, int m,
                                                u8* y_scales = nullptr) {
  using S = ByteTilesShape<Config>;
  extern __shared__ __align__(128) u8 shared_memory[];
  const u32 shared = shared_address(shared_memory);
  launch_dependents();
  typename Config::Schedule schedule;
  Piece piece;
  if (!schedule.next(piece)) return;
  const int row_block = piece.row_tile * S::kStageRowBlocks;

  const ByteOperands operands{
      weights + static_cast<i64>(row_block) * Config::value.shape.chunks * S::kChunkBytes,
      x + static_cast<i64>(piece.first_token) * Config::value.shape.k,
      Config::value.shape.row_blocks - row_block, m - piece.first_token};
  typename Config::Stages stages(operands, piece, shared);
  stages.start();
  const ByteValues<Config> values{
      {x_scales, x_zero_points}, weights, shared + Config::value.token_value_offset()};
  values.fetch_tokens(piece.first_token, m);

  // Warps of one K slice are neighbours; inside a slice, those of one group of tokens are.
  const int warp = threadIdx.x / 32;
  const int warp_n = warp % Config::value.warps_n;
  const int warp_m = warp / Config::value.warps_n % Config::value.warps_m;
  const int warp_k = warp / (Config::value.warps_n * Config::value.warps_m);
  ByteWarpTile<Config> tile(threadIdx.x % 32, warp_m, warp_n, warp_k);
  tile.run(stages, piece.end - piece.begin);

  stages.finish();
  const Epilogue<Config, S::kThreads, ByteValues<Config>> epilogue{
      {shared},
      schedule.part,
      {weights, y, bias, residual, Config::value.shape, y_scales},
      workspace,
      m,
      values};
  epilogue.put(tile, warp_k);
  block_barrier();
  epilogue.finish();
}

}  // namespace heddle

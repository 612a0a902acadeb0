// GEMM with quantised weights on mma.sync: Y[M, N] = X[M, K] * W[N, K]^T.
//
// One tile, or a part of its K, for each block (schedule/split_k.cuh). Weights are the A operand
// and tokens the N dimension of the matrix instruction, so that one to eight tokens waste nothing.
//
#pragma once

#include "schedule/split_k.cuh"
#include "tiles/epilogue.cuh"
#include "tiles/multiply.cuh"
#include "tiles/pipeline.cuh"

namespace heddle {

template <class Config, class Decode>
__device__ __forceinline__ void gemm_mma(const u8* x, const u8* weights, u8* y, const u8* bias,
                                         const u8* residual, const u8* pre_scale, u8* workspace,
                                         int m) {
  using S = Shape<Config>;
  extern __shared__ __align__(128) u8 shared_memory[];
  const u32 shared = shared_address(shared_memory);
  launch_dependents();
  typename Config::Schedule schedule;
  Piece piece;
  if (!schedule.next(piece)) return;
  const int row_block = piece.row_tile * S::kStageRowBlocks;

  typename Config::Pipeline pipeline{};
  pipeline.shared = shared;
  pipeline.begin = piece.begin;
  pipeline.end = piece.end;
  pipeline.copy.weights = weights + static_cast<i64>(row_block) * Config::value.weights.chunks *
                                        Config::value.weights.chunk_bytes;
  pipeline.copy.row_blocks = Config::value.weights.row_blocks - row_block;
  pipeline.copy.tokens = x + static_cast<i64>(piece.first_token) * Config::value.weights.k * 2;
  pipeline.copy.pre_scale = pre_scale;
  pipeline.copy.rows = m - piece.first_token;
  pipeline.start();

  // Warps of one K slice are neighbours; inside a slice, those of one group of tokens are.
  const int warp = threadIdx.x / 32;
  const int warp_n = warp % Config::value.warps_n;
  const int warp_m = warp / Config::value.warps_n % Config::value.warps_m;
  const int warp_k = warp / (Config::value.warps_n * Config::value.warps_m);
  WarpTile<Config, Decode> tile(threadIdx.x % 32, warp_m, warp_n, warp_k);
  tile.load_channel_zeros(weights + Config::value.weights.channel_offset, row_block);

#pragma unroll 1
  for (int stage = pipeline.begin; stage < pipeline.end; ++stage) {
    tile.multiply(pipeline.acquire(stage));
    pipeline.release(stage);
  }

  pipeline.finish();
  tile.subtract_channel_zeros(weights + Config::value.weights.channel_offset, row_block);
  const Epilogue<Config> epilogue{
      shared, schedule.part, {weights, y, bias, residual}, workspace, m};
  epilogue.put(tile, warp_k);
  block_barrier();
  epilogue.finish();
}

}  // namespace heddle

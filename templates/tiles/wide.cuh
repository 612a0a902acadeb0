// GEMM with quantised weights on mma.sync for many tokens: Y[M, N] = X[M, K] * W[N, K]^T.
//
// As tiles.cuh, but a warp has 32 or 64 rows by 64 or
// 128 tokens and reads ahead of its products.
//
#pragma once

#include "schedule/split_k.cuh"
#include "tiles/epilogue.cuh"
#include "tiles/multiply_wide.cuh"

namespace heddle {

template <class Config, class Decode>
__device__ __forceinline__ void gemm_wide(const u8* x, const u8* weights, u8* y, const u8* bias,
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

  static_assert(Config::value.split_k <= S::kTotalStages, "a warp begins to read before it looks");
  WidePipeline<Config> pipeline{
      {piece.begin,
       weights + static_cast<i64>(row_block) * Config::value.weights.chunks *
                     Config::value.weights.chunk_bytes,
       x + static_cast<i64>(piece.first_token) * Config::value.weights.k * 2, pre_scale,
       Config::value.weights.row_blocks - row_block, m - piece.first_token},
      shared,
      piece.end,
      piece.end - piece.begin};
  pipeline.start();

  // Warps of one K slice are neighbours; inside a slice, those of one group of tokens are.
  const int warp = threadIdx.x / 32;
  const int warp_n = warp % Config::value.warps_n;
  const int warp_m = warp / Config::value.warps_n % Config::value.warps_m;
  const int warp_k = warp / (Config::value.warps_n * Config::value.warps_m);
  WideTile<Config, Decode> tile(threadIdx.x % 32, warp_m, warp_n, warp_k);
  tile.load_channel_zeros(weights + Config::value.weights.channel_offset, row_block);
  tile.run(pipeline);

  pipeline.finish();
  const Epilogue<Config> epilogue{
      shared, schedule.part, {weights, y, bias, residual}, workspace, m};
  epilogue.put(tile, warp_k);
  block_barrier();
  epilogue.finish();
}

}  // namespace heddle

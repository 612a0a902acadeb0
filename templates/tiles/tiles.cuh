// GEMM with quantised weights on mma.sync, sm_75 and up: Y[M, N] = X[M, K] * W[N, K]^T. Weights are
// the A operand and tokens the N dimension, so that one to eight tokens waste nothing.
//
// Floors. Bytes: the packed weights once for each tile of tokens, the tokens once for each tile of
// rows. Operations: for each 8 tokens 8 matrix instructions for a chunk of 16 rows by 128 columns,
// and decoding it, at 4 bits 64 instructions to FP16 and 72 to BF16, in every warp that needs it.
//
// Budget of an SM of an A100, computed. Up to 16 tokens memory is the limit: it gives an SM 13
// bytes a clock, so a chunk of 1056 bytes takes 79 clocks, while decoding and products take the
// four parts of the SM 20. With many tokens the tensor cores are: a stage of 256 rows by 64 tokens
// by 128 columns has 1024 matrix instructions, 2048 clocks at 8 a part; copying its 33 KB needs 16
// bytes a clock of the L2 cache, decoding 256 issue slots of each part. Shared memory: the ring of
// stages, 67 KB for two of these. Registers of a warp: 4 sums for each pair of a row tile and a
// token tile, 128 for 32 rows by 128 tokens.
//
// Roles. A thread block has one tile, or a part of its K (schedule/split_k.cuh). All warps copy,
// and all multiply. They share the tile's rows, its tokens, and the columns of each stage, whose
// sums meet in the epilogue.
//
// Order.
// 1. The pipeline copies its first stages: weights at once, tokens after the previous kernel.
// 2. Stage by stage each warp decodes its columns and multiplies them while later stages are
//    copied.
// 3. The warps' sums go to shared memory, where the stages were, and are added.
// 4. The sums of blocks that share K are added in a fixed order, and Y is written.
//
// Two policies of Config say how. Pipeline fills the stages: RegisterPipeline and AsyncPipeline
// (pipeline.cuh), WidePipeline (wide_pipeline.cuh). It is made of a TileOperands, a Piece and the
// ring's shared address; start() copies the first stages; after finish() nothing is copied or read.
// Tile multiplies what a Pipeline brings, in run(): WarpTile (multiply.cuh) stage by stage,
// WideTile (multiply_wide.cuh) for many tokens, which loads and decodes ahead of its products.
#pragma once

#include "schedule/split_k.cuh"
#include "steps/tile_epilogue.cuh"
#include "tiles/multiply.cuh"
#include "tiles/multiply_wide.cuh"
#include "tiles/pipeline.cuh"

namespace heddle {

template <class Config, class Decode>
__device__ __forceinline__ void gemm_tiles(const u8* x, const u8* weights, u8* y, const u8* bias,
                                           const u8* residual, const u8* pre_scale, u8* workspace,
                                           int m, u8* y_scales = nullptr) {
  using S = Shape<Config>;
  extern __shared__ __align__(128) u8 shared_memory[];
  const u32 shared = shared_address(shared_memory);
  launch_dependents();
  typename Config::Schedule schedule;
  Piece piece;
  if (!schedule.next(piece)) return;
  const int row_block = piece.row_tile * S::kStageRowBlocks;
  const u8* const metadata = weights + Config::value.shape.channel_offset;

  const TileOperands operands{weights + static_cast<i64>(row_block) * Config::value.shape.chunks *
                                            Config::value.weights.chunk_bytes,
                              x + static_cast<i64>(piece.first_token) * Config::value.shape.k * 2,
                              pre_scale, Config::value.shape.row_blocks - row_block,
                              m - piece.first_token};
  typename Config::Pipeline pipeline(operands, piece, shared);
  pipeline.start();

  // Warps of one K slice are neighbours; inside a slice, those of one group of tokens are.
  const int warp = threadIdx.x / 32;
  const int warp_n = warp % Config::value.warps_n;
  const int warp_m = warp / Config::value.warps_n % Config::value.warps_m;
  const int warp_k = warp / (Config::value.warps_n * Config::value.warps_m);
  typename Config::template Tile<Decode> tile(threadIdx.x % 32, warp_m, warp_n, warp_k);
  tile.load_channel_zeros(metadata, row_block);
  tile.run(pipeline);

  pipeline.finish();
  tile.subtract_channel_zeros(metadata, row_block);
  const Epilogue<Config> epilogue{{shared},
                                  schedule.part,
                                  {weights, y, bias, residual, Config::value.shape, y_scales},
                                  workspace,
                                  m};
  epilogue.put(tile, warp_k);
  block_barrier();
  epilogue.finish();
}

}  // namespace heddle

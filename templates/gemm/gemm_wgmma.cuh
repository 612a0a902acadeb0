// GEMM with quantised weights on wgmma, sm_90a, from nine tokens up: Y[M, N] = X[M, K] * W[N, K]^T.
//
// Weights are the A operand, decoded into registers; tokens are the B operand, in shared memory as
// the tensor copy engine has put them. One block to an SM, for the whole launch: a warpgroup
// that fetches, two that decode and multiply, each half of the tile's rows.
//
// Budget of an SM of an H200 for one stage, 128 columns, 4-bit weights in groups of 128, clocks at
// 1755 MHz. Memory gives an SM 20 bytes a clock, the L2 cache some 30 or 40; decoding takes 72
// instructions for a chunk (16 rows), of which each of four parts of the SM issues one a clock:
//
//   tile, rows x tokens   256 x 16   256 x 64   128 x 128   256 x 128   128 x 256
//   weights, bytes           16896      16896        8448       16896        8448
//   tokens, bytes             4096      16384       32768       32768       65536
//   from memory, clocks        845        845         422         845         422
//   tensor cores, clocks       256       1024        1024        2048        2048
//   instructions, clocks       520        560         270         560         270
//   sums, registers      2 x 8 + 2 x 8   2 x 32        64      2 x 64         128
//
// So up to 32 tokens memory should set the pace, from 64 on the tensor cores; weights of the next
// step are decoded while those of the last are multiplied, in 2 x 16 registers.
// docs/measurements.md has what became of it.
//
// heddle-parameters: kBits kN kK kChunks kRowBlocks kTileM kTileN kTokens kStages kShares
// heddle-parameters: kStepTiles kDecodedSets
// heddle-parameters: kSharedBytes kCounterBytes kMetaGroup kChunkBytes kScaleOffset kScaleBytes
// heddle-parameters: kZeroOffset kZeroBytes kZeroPoint kChannelOffset kChannelBytes
// heddle-parameters: kChannelZeroOffset kTensorOffset kTensorScale kResultExponent kRowLines
// heddle-parameters: kScaleMode kBias kResidual kActivation Value Scale
#pragma once

#include "gemm/wgmma_fetch.cuh"
#include "gemm/wgmma_finish.cuh"
#include "gemm/wgmma_multiply.cuh"

namespace heddle {

// `shared_tiles`: how many tiles at the end are shared by several blocks.
template <class Config, class Decode>
__device__ __forceinline__ void gemm_wgmma(const TensorMap& tokens, const u8* weights, u8* y,
                                           const u8* bias, const u8* residual, u8* workspace, int m,
                                           int shared_tiles) {
  extern __shared__ __align__(1024) u8 shared_memory[];
  const WgmmaMemory<Config> memory{shared_address(shared_memory)};
  const int lane = threadIdx.x % 32;
  const int warp = broadcast(threadIdx.x / 32, 0);  // tells the compiler that lanes agree
  const int warpgroup = warp / 4 - 1;
  launch_dependents();

  if (threadIdx.x == 0) {
    prefetch_tensor_map(tokens);
    memory.init_barriers();
    mbarrier_init_fence();
  }
  block_barrier();

  WgmmaWork<Config> work(m, shared_tiles);
  if (warpgroup < 0) {
    shrink_registers<40>();
    if (lane == 0) {
      WgmmaFetch<Config> fetch{memory, tokens, weights, work, warp};
      fetch.run();
    }
  } else {
    grow_registers<232>();
    WgmmaMultiply<Config, Decode> multiply(memory, warpgroup, warp % 4, lane);
    const WgmmaFinish<Config> finish{
        memory,    {weights, y, bias, residual},       workspace, m, shared_tiles,
        warpgroup, static_cast<int>(threadIdx.x) % 128};
    wait_for_predecessor();
    RingPlace<Config> place;
    Piece piece;
#pragma unroll 1
    while (work.next(piece)) {
      const int first_row_block = piece.row_group * WgmmaShape<Config>::kTileRowBlocks;
      multiply.load_channel_zeros(weights + Config::kChannelOffset, first_row_block);
      multiply.run(piece.end - piece.begin, place);
      finish.run(work, piece, multiply.sum);
    }
  }
}

}  // namespace heddle

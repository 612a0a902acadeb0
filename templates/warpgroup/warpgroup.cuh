// GEMM with quantised weights on wgmma, sm_90a: Y[M, N] = X[M, K] * W[N, K]^T, for ranges of M that
// end with nine tokens or more. Weights are the A operand, decoded into registers; tokens are the B
// operand, in shared memory as the tensor copy engine has put them.
//
// Floors. Bytes: the packed weights once for each tile of tokens, the tokens once for each tile of
// rows. Operations: 2 M N K, and decoding, at 4 bits 256 instructions to FP16 and 288 to BF16 for
// 64 rows by 128 columns.
//
// Budget of these 64 rows by 128 columns on an SM of an H200, computed, in clocks at 1.965 GHz:
//
//   tokens                                       16     32     64    128    256
//   weights from memory, 17.5 bytes a clock     241    241    241    241    241
//   tensor cores                                104    128    256    512   1024
//
// Each of the SM's four parts has 64 to 72 instructions to decode and as many again for scales,
// loads and barriers. Half of the first are logical ones, which take a part two clocks each; while
// wgmma reads A from registers, a part issues others at some 0.4 of its rate. So up to 32 tokens
// memory and decoding set the pace, at 64 decoding beside wgmma, from 128 on the tensor cores. At
// the limit of power, with many tokens, the fewest reads and instructions a product are the
// fastest. The L2 cache gives an SM 28 to 33 bytes a clock; tiles of 256 x 128 (rows by tokens)
// read 24, of 128 x 128 40 and of 128 x 256 36, and 16, 24, 20 where two blocks of a cluster read
// tokens once. Weights of 16 bits are not decoded, and take 936 clocks from memory. Registers: 232
// a thread that multiplies (112 with four warpgroups), 40 (32) one that fetches. Shared memory: the
// ring of stages, which takes all there is, and room for sums on their way to Y.
//
// Roles. One block to an SM, for the whole launch. One warpgroup fetches (fetch.cuh), two or four
// multiply (multiply.cuh): each has a part of the tile's rows, or of 64 rows half of the columns.
// Four have a row tile each: while one waits for its sums or its words, three have products on
// their way.
//
// Order. The fetching warps copy the weights of the first stages_ahead stages, wait for the
// previous kernel, then copy tokens and all further stages, tile after tile
// (schedule/shared_tiles.cuh). The others wait for a stage, decode a step into registers while the
// tensor cores work on the steps before, and give the stage back. At the end of a tile sums are
// exchanged between warpgroups that share columns, blocks of a pair, or through the workspace
// (finish.cuh, parts.cuh), and go to Y.
#pragma once

#include "schedule/shared_tiles.cuh"
#include "warpgroup/fetch.cuh"
#include "warpgroup/finish.cuh"
#include "warpgroup/multiply.cuh"

namespace heddle {

// `shape`: of W. `shared_tiles`: how many tiles at the end are shared by several blocks.
template <class Config, class Decode>
__device__ __forceinline__ void gemm_wgmma(const TensorMap& tokens, const u8* weights, u8* y,
                                           const u8* bias, const u8* residual, u8* workspace,
                                           const WeightShape& shape, int m, int shared_tiles) {
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
  if constexpr (WgmmaShape<Config>::kBlocks > 1) {
    cluster_barrier();
  } else {
    block_barrier();
    WgmmaFinish<Config>::start_pair();
  }

  typename Config::Schedule schedule(m, WgmmaShape<Config>::row_sets(shape),
                                     WgmmaShape<Config>::total_units(shape), shared_tiles);
  if (warpgroup < 0) {
    shrink_registers<WgmmaShape<Config>::kFetchRegisters>();
    WgmmaFetch<Config> fetch{memory, tokens, weights, shape, schedule, m, warp};
    fetch.run();
    warp_barrier();
    WgmmaFinish<Config>::meet_pair();
  } else {
    grow_registers<WgmmaShape<Config>::kMultiplyRegisters>();
    WgmmaMultiply<Config, Decode> multiply(memory, warpgroup, warp % 4, lane);
    const int thread = static_cast<int>(threadIdx.x) % 128;
    const WgmmaStore<Config> store{
        memory, {weights, y, bias, residual, shape}, m, warpgroup, thread};
    const WgmmaParts<Config> parts{memory, workspace, shared_tiles, warpgroup, thread};
    const WgmmaFinish<Config> finish{memory, store, parts, warpgroup, thread};
    wait_for_predecessor();
    WgmmaStage<Config> stage = multiply.first_stage();
    Piece piece;
    bool is_first = true;
#pragma unroll 1
    while (schedule.next(piece)) {
      multiply.load_channel_zeros(weights, shape, piece);
      multiply.run(piece, shape, stage);
      if (is_first) WgmmaFinish<Config>::meet_pair();
      is_first = false;
      finish.run(schedule, piece, multiply.sum);
    }
  }
  // Another block of the cluster may still signal this one.
  if constexpr (WgmmaShape<Config>::kBlocks > 1) {
    warp_barrier();
    cluster_barrier();
  }
}

}  // namespace heddle

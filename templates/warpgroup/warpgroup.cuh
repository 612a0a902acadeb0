// GEMM with quantised weights on wgmma, sm_90a: Y[M, N] = X[M, K] * W[N, K]^T, for ranges of M that
// end with nine tokens or more.
//
// Weights are the A operand, decoded into registers; tokens are the B operand, in shared memory as
// the tensor copy engine has put them. One block to an SM, for the whole launch: a warpgroup
// that fetches, two that decode and multiply, each half of the tile's rows, or of 64 rows half of
// the columns. Of 256 rows by up to 64 tokens four multiply a row tile each: while one waits for
// its sums or its words, three have products on their way.
//
// Budget of an SM of an H200 for 64 rows by 128 columns of 4-bit weights, in clocks at 1965 MHz.
// Memory gives an SM 17 bytes a clock, the L2 cache some 30. Decoding takes 64 to 72 instructions
// of each of the four parts of an SM, half of them logical ones, of which a part issues one every
// two clocks. While wgmma reads weights from registers, a part issues others at some 0.4 of its
// rate.
//
//   tokens                            16     32     64    128    256
//   weights from memory              243    243    243    243    243
//   tensor cores                     104    128    256    512   1024
//   measured, memory not the limit   225    255    334    570   1120   64: two sets of sums
//
// So up to 32 tokens memory and decoding set the pace, from 128 on the tensor cores. Few
// instructions beside decoding matter most: long stages, copies from uniform registers, no waiting
// for sums. docs/measurements/wgmma.md has what became
// of it.
//
// Bytes a clock that an SM reads of the L2 cache, which gives it 28 to 33, while the tensor cores
// take the clocks above; and the clocks from a tile's last product to the next one's first:
//
//   tile, rows by tokens                    256 x 128   128 x 128   128 x 256
//   each block reads its tokens                    22          36          34
//   two blocks of a cluster read them once         15          22          19
//   sums through shared memory as floats         3300
//   rounded first, by stmatrix                   2400        1200        2400
//
// Weights of 16 bits are not decoded: from shared memory they go into the registers of the A
// operand, 128 clocks for these 64 rows by 128 columns. From memory they take 963.
//
// With many tokens the GPU is at its limit of power: then the fewest reads and instructions for a
// product are the fastest, whatever the clocks say.
//
#pragma once

#include "schedule/shared_tiles.cuh"
#include "warpgroup/fetch.cuh"
#include "warpgroup/finish.cuh"
#include "warpgroup/multiply.cuh"

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
  if constexpr (WgmmaShape<Config>::kBlocks > 1) {
    cluster_barrier();
  } else {
    block_barrier();
    WgmmaFinish<Config>::start_pair();
  }

  typename Config::Schedule schedule(m, shared_tiles);
  if (warpgroup < 0) {
    shrink_registers<WgmmaShape<Config>::kFetchRegisters>();
    WgmmaFetch<Config> fetch{memory, tokens, weights, schedule, m, warp};
    fetch.run();
    warp_barrier();
    WgmmaFinish<Config>::meet_pair();
  } else {
    grow_registers<WgmmaShape<Config>::kMultiplyRegisters>();
    WgmmaMultiply<Config, Decode> multiply(memory, warpgroup, warp % 4, lane);
    const int thread = static_cast<int>(threadIdx.x) % 128;
    const WgmmaStore<Config> store{memory, {weights, y, bias, residual}, m, warpgroup, thread};
    const WgmmaParts<Config> parts{memory, workspace, shared_tiles, warpgroup, thread};
    const WgmmaFinish<Config> finish{memory, store, parts, warpgroup, thread};
    wait_for_predecessor();
    WgmmaStage<Config> stage = multiply.first_stage();
    Piece piece;
    bool is_first = true;
#pragma unroll 1
    while (schedule.next(piece)) {
      multiply.load_channel_zeros(weights + Config::value.weights.channel_offset, piece);
      multiply.run(piece, stage);
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

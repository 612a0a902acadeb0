// GEMM with quantised weights for few tokens, sm_90 and up: Y[M, N] = X[M, K] * W[N, K]^T, M up to
// `tokens`.
//
// The weights are the traffic, once each; everything else must stay out of their way. Floors per SM
// of an H200: 20 bytes a clock from memory, so a 4-bit chunk of 1056 bytes in 53 clocks. Its
// instructions: 72 to decode, 8 to multiply each 8 tokens, some 20 for scales, loads and addresses:
// 100 of the 212 issue slots. Shared memory: weights are written and read once, tokens for
// every row block: 78 of 128 bytes a clock with 8 tokens, 117 with 16.
//
// Where the tokens of all of K fit beside the ring, each block has them; more than eight are read
// once by two blocks for each other, which have row blocks of their own. Else the blocks of a
// cluster share K (split_k), each has the tokens of its part, and each in turn adds the sums of
// all. A block asks for more than half of an SM's shared memory, so that each SM holds one of a
// launch: two of one that starts early would else meet on the first SM that is free, and leave
// others idle. Each SM has a block, if only to read tokens.
//
// Weights are read before the kernel ahead has ended, which must not write them
// (GemmArgs::weights). Everything else is read and written after it.
//
#pragma once

#include "primitives/dependent_launch.cuh"
#include "schedule/strided_rows.cuh"
#include "stream/sums.cuh"
#include "stream/warp.cuh"

namespace heddle {

template <class Config, class Decode>
__device__ __forceinline__ void gemm_stream(const u8* x, const u8* weights, u8* y, const u8* bias,
                                            const u8* residual, const u8* pre_scale, u8* workspace,
                                            int m) {
  extern __shared__ __align__(128) u8 shared_memory[];
  const StreamMemory<Config> memory{shared_address(shared_memory)};
  const int warp = broadcast(threadIdx.x / 32, 0);
  const int lane = threadIdx.x % 32;
  launch_dependents();

  const typename Config::Schedule schedule;
  const StreamSums<Config> sums{memory, schedule, {weights, y, bias, residual}, m, lane};
  StreamWarp<Config, Decode> stream(memory, schedule, x, weights, pre_scale, m, warp, lane);
  const bool adds = warp == Config::value.warps_k;
  if (adds) {
    sums.init_barriers();
  } else {
    stream.start_ring();
  }
  if constexpr (Config::value.cluster > 1) {
    cluster_barrier();
  } else {
    block_barrier();
  }
  wait_for_predecessor();
  if (adds) {
    sums.run();
  } else {
    stream.run();
  }
  // No block may go while another may still write into it.
  if constexpr (Config::value.split_k > 1) cluster_barrier();
}

}  // namespace heddle

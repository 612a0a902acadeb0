// GEMM with quantised weights for few tokens, sm_90 and up: Y[M, N] = X[M, K] * W[N, K]^T, M up to
// kTokens.
//
// The weights are the traffic, once each; everything else must stay out of their way. Floors per SM
// of an H200: 20 bytes a clock from memory, so a 4-bit chunk of 1056 bytes in 53 clocks. Its
// instructions: 72 to decode, 8 to multiply each 8 tokens, some 20 for scales, loads and addresses:
// 100 of the 212 issue slots. Shared memory: written once and read once, 40 of 128 bytes a clock.
// The tokens' values cost nothing per weight, because they stay in registers: 16 of them for a
// chunk's 128 columns by 8 tokens.
//
// Grid: (blocks that share the row blocks, split_k).
//
// heddle-parameters: kBits kN kK kChunks kRowBlocks kTileM kTokens kSliceChunks kStages
// heddle-parameters: kFirstStages kSplitK kWarpsN kWarpsK kSharedBytes kCounterBytes kMetaGroup
// heddle-parameters: kChunkBytes kScaleOffset kScaleBytes kZeroOffset kZeroBytes kZeroPoint
// heddle-parameters: kChannelOffset kChannelBytes kChannelZeroOffset kTensorOffset kTensorScale
// heddle-parameters: kResultExponent kRowLines kScaleMode kPreScale kBias kResidual kActivation
// heddle-parameters: Value Scale
#pragma once

#include "gemm/slice_reducer.cuh"
#include "gemm/slice_worker.cuh"

namespace heddle {

template <class Config, class Decode>
__device__ __forceinline__ void gemm_slices(const u8* x, const u8* weights, u8* y, const u8* bias,
                                            const u8* residual, const u8* pre_scale, u8* workspace,
                                            int m) {
  using S = SliceShape<Config>;
  extern __shared__ __align__(128) u8 shared_memory[];
  const SliceMemory<Config> memory{shared_address(shared_memory)};
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  launch_dependents();

  if (lane == 0) init_barriers(memory, warp);
  mbarrier_init_fence();
  block_barrier();

  if (warp == S::kWarps) {
    const SliceReducer<Config> reducer{memory, {weights, y, bias, residual}, workspace, m, lane};
    reducer.run();
  } else {
    SliceWorker<Config, Decode> worker(memory, x, weights, pre_scale, m, warp, lane);
    worker.run();
  }
}

}  // namespace heddle

// A GEMM with wgmma, whatever its operands are: which warps do what, in which order. Entries are
// warpgroup.cuh, of weights that are decoded, decoded_bytes.cuh, of weights that are decoded to
// eight bits, and bytes.cuh, of two operands of eight bits.
//
// Roles. One block to an SM, for the whole launch. One warpgroup fetches (fetch.cuh), two or four
// multiply (multiply.cuh, byte_multiply.cuh): each has a part of the tile's rows, or of 64 rows
// half of the columns. Four have a row tile each: while one waits for its sums or its words, three
// have products on their way.
//
// Order. The fetching warps copy the weights of the first stages_ahead stages, wait for the
// previous kernel, then copy tokens and all further stages, tile after tile
// (schedule/shared_tiles.cuh). The others wait for a stage, multiply it - weights that are decoded
// step by step, into registers, while the tensor cores work on the steps before - and give it back.
// At the end of a tile sums are exchanged between warpgroups that share columns, blocks of a pair,
// or through the workspace (finish.cuh, parts.cuh), and go to Y.
#pragma once

#include "primitives/dependent_launch.cuh"
#include "schedule/shared_tiles.cuh"
#include "warpgroup/fetch.cuh"
#include "warpgroup/finish.cuh"
#include "warpgroup/float_end.cuh"
#include "warpgroup/found_rows.cuh"
#include "warpgroup/found_scales.cuh"
#include "warpgroup/found_tokens.cuh"
#include "warpgroup/rounded_end.cuh"
#include "warpgroup/stage.cuh"

namespace heddle {

// Multiply: what a warpgroup does with its stages. `factors`: of the tokens, with
// ScaleMode::kBlock; else null. `shape`: of W. `shared_tiles`: how many tiles at
// the end are shared by several blocks.
template <class Config, class Multiply>
__device__ __forceinline__ void gemm_by_wgmma(const TensorMap& tokens, const TensorMap* factors,
                                              const u8* weights, const typename Config::Sums& sums,
                                              u8* y, const u8* bias, const u8* residual,
                                              u8* workspace, const WeightShape& shape, int m,
                                              int shared_tiles, u8* y_scales) {
  extern __shared__ __align__(1024) u8 shared_memory[];
  const WgmmaMemory<Config> memory{shared_address(shared_memory)};
  const int lane = threadIdx.x % 32;
  const int warp = broadcast(threadIdx.x / 32, 0);  // tells the compiler that lanes agree
  const int warpgroup = warp / 4 - 1;
  launch_dependents();

  if (threadIdx.x == 0) {
    prefetch_tensor_map(tokens);
    if constexpr (Config::value.scales_blocks()) prefetch_tensor_map(*factors);
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
    WgmmaFetch<Config> fetch{memory, tokens, factors, weights, shape, schedule, m, warp};
    fetch.run();
    warp_barrier();
    WgmmaFinish<Config>::meet_pair();
  } else {
    grow_registers<WgmmaShape<Config>::kMultiplyRegisters>();
    Multiply multiply(memory, warpgroup, warp % 4, lane);
    const int thread = static_cast<int>(threadIdx.x) % 128;
    const WgmmaStore<Config> store{
        memory, {weights, y, bias, residual, shape, y_scales}, sums, m, warpgroup, thread, {}};
    const WgmmaParts<Config> parts{memory, workspace, shared_tiles, warpgroup, thread};
    WgmmaFinish<Config> finish{memory, store, parts, warpgroup, thread};
    wait_for_predecessor();
    WgmmaStage<Config> stage = multiply.first_stage();
    Piece piece;
    bool is_first = true;
#pragma unroll 1
    while (schedule.next(piece)) {
      finish.begin(piece);
      multiply.begin(weights, shape, piece);
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

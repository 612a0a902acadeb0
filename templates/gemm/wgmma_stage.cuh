// The stage of the ring that a warpgroup multiplies next, as addresses that go on from stage to
// stage: computed from its number they would take a dozen uniform instructions more.
#pragma once

#include "gemm/wgmma_products.cuh"

namespace heddle {

template <class Config>
struct WgmmaStage {
  using S = WgmmaShape<Config>;
  using Products = typename ProductsOf<Config, Config::kByWarps>::Type;

  u32 full_barrier;
  u32 weights;                         // of the warp's first row block
  typename Products::Columns columns;  // the first that the warpgroup has of the tokens
  u32 parity = 0;                      // of the phase in which the stage is filled

  // The ring's first stage. `first_half`: of those that a stage has of a chunk's columns.
  __device__ __forceinline__ WgmmaStage(WgmmaMemory<Config> memory, int row_block, int first_half,
                                        int lane)
      : full_barrier(memory.full_barrier(0)),
        weights(memory.weights(0) + row_block * S::kRowBlockBytes),
        columns(Products::columns(memory.tokens(0) + first_half * S::kHalfBytes, lane)) {}

  __device__ __forceinline__ void advance(WgmmaMemory<Config> memory) {
    go(1);
    if (full_barrier == memory.full_barrier(Config::kStages)) {
      go(-Config::kStages);
      parity ^= 1;
    }
  }

  static __device__ __forceinline__ u32 empty_barrier(u32 full_barrier) {
    return full_barrier + 8 * Config::kStages;
  }

 private:
  __device__ __forceinline__ void go(int stages) {
    full_barrier += 8 * stages;
    weights += stages * S::kWeightBytes;
    columns = Products::behind(columns, stages * S::kTokenBytes);
  }
};

}  // namespace heddle

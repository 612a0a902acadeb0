// The stage of the ring that a warpgroup multiplies next, as addresses that go on from stage to
// stage: computed from its number they would take a dozen uniform instructions more. With more
// than 128 tokens they would be in no uniform registers, and there are none to spare: there they
// are computed from the barrier's place.
#pragma once

#include "primitives/wgmma.cuh"
#include "warpgroup/shape.cuh"

namespace heddle {

template <class Config>
struct WgmmaStage {
  using S = WgmmaShape<Config>;
  static constexpr bool kGoesOn = !Config::value.has_many_tokens();

  WgmmaMemory<Config> memory;
  u32 full_barrier;
  u32 parity = 0;  // of the phase in which the stage is filled

  // The ring's first stage. `first_half`: of those that a stage has of a chunk's columns.
  __device__ __forceinline__ WgmmaStage(WgmmaMemory<Config> memory, int row_block, int first_half)
      : memory(memory),
        full_barrier(memory.full_barrier(0)),
        weights_(memory.weights(0) + row_block * S::kRowBlockStep),
        columns_(wgmma_columns(memory.tokens(0) + first_half * S::kColumnHalfBytes)) {}

  // The weights of the warp's first row block, with byte_operands the warpgroup's.
  __device__ __forceinline__ u32 weights() const {
    return kGoesOn ? weights_ : weights_ + number() * Config::value.weight_bytes();
  }
  // The descriptor of the first that the warpgroup has of the tokens.
  __device__ __forceinline__ u64 columns() const {
    return kGoesOn ? columns_ : columns_ + number() * Config::value.token_bytes() / 16;
  }
  // The tokens' factors.
  __device__ __forceinline__ u32 factors() const { return memory.factors(number()); }

  __device__ __forceinline__ void advance() {
    go(1);
    if (full_barrier == memory.full_barrier(Config::value.stages)) {
      go(-Config::value.stages);
      parity ^= 1;
    }
  }

 private:
  __device__ __forceinline__ int number() const {
    return static_cast<int>(full_barrier - memory.full_barrier(0)) / 8;
  }
  __device__ __forceinline__ void go(int stages) {
    full_barrier += 8 * stages;
    if constexpr (kGoesOn) {
      weights_ += stages * Config::value.weight_bytes();
      columns_ += stages * Config::value.token_bytes() / 16;
    }
  }

  u32 weights_;  // of this stage, or of the ring's first one
  u64 columns_;  // the same
};

}  // namespace heddle

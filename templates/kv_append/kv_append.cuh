// Append: K and V of new tokens, rotated, quantised and written into the cache.
//
// Floor: K and V read once, their codes and scales written once. Grid: tiles of kTokens tokens,
// with few tokens several blocks for each, which share the heads; for K and for V in turn, so that
// the work of turning K hides behind V's bytes (append_rows.cuh).
//
// With scales per channel K goes its own way (append_channel.cuh): the grid is then blocks of K's
// tokens for every head, and behind them V's tiles.
#pragma once

#include "kv_append/append_channel.cuh"
#include "kv_append/append_rows.cuh"
#include "primitives/dependent_launch.cuh"

namespace heddle {

template <class Config, class Tensor, bool kRotate>
__device__ __forceinline__ void append(const KvAppendParameters& p, const u8* input, i64 stride,
                                       const KvTensorPointers& cache, u32 shared, int block) {
  AppendRows<Config, Tensor, kRotate> rows(p, cache, shared, block / p.head_parts,
                                           block % p.head_parts, p.head_parts);
  rows.run(input, stride);
}

template <class Config>
__device__ __forceinline__ void kv_append(const KvAppendParameters& p) {
  extern __shared__ __align__(128) u8 shared_memory[];
  const u32 shared = shared_address(shared_memory);
  const int block = static_cast<int>(blockIdx.x);
  if constexpr (Config::value.dependent) {
    // What comes before may have made K, V and the table, or still read the cache.
    wait_for_predecessor();
    launch_dependents();
  }
  if constexpr (Config::value.k.granularity == KvGranularity::kChannel) {
    const int of_k = channel_units<Config>(p) * Config::value.heads;
    if (block < of_k) {
      append_channel<Config>(p, block / Config::value.heads, block % Config::value.heads, shared);
    } else {
      append<Config, VTensor<Config>, false>(p, p.v, p.v_stride, p.v_cache, shared, block - of_k);
    }
  } else if (block % 2 == 0) {
    append<Config, KTensor<Config>, Config::value.rope != RopePairing::kNone>(
        p, p.k, p.k_stride, p.k_cache, shared, block / 2);
  } else {
    append<Config, VTensor<Config>, false>(p, p.v, p.v_stride, p.v_cache, shared, block / 2);
  }
}

}  // namespace heddle

// Append: K and V of new tokens, normalised, rotated, quantised and written into the cache; Q of
// these tokens, normalised and rotated, into a tensor of its own.
//
// Floors. Bytes: K, V and Q read once, codes, scales and Q written once: for a head of a token with
// 128 elements in 8 bits 256 in and 130 out. Operations: 8 lanes take such a row, each with 160 to
// 200 instructions to rotate its 16 elements, find their range and round them.
//
// Budget. A block of 128 threads has 16 rows at a time: 6.2 KB read and written. An SM of an H200
// moves some 15 bytes a clock, so these take 410 clocks, 1640 issue slots, of which the block's
// four warps need 800. One token of 64 sequences is bound by latency instead: lengths, block table,
// the row, its store. Registers: 64 a thread. Shared memory: 32 bytes a thread for each row under
// way, 12 KB with three.
//
// Roles. Grid: tiles of `tokens` tokens, for K and for V in turn, so that the work of rotating K
// hides behind V's bytes; with few tokens several blocks (head_parts) share the heads of a tile.
// Q's tiles follow, in more blocks as it has more heads. `lanes` lanes take a token, and go from
// head to head, so that its place and its rotations are found once (append_rows.cuh). With scales
// per channel K goes its own way (append_channel.cuh): the first blocks are then those of K, each a
// block of tokens of one head, and those of V and Q follow.
//
// Order, of rows: wait for the previous kernel, which may have made K, V and Q or still read the
// cache; request the first rows; find the token's place through offsets, lengths and block table,
// and its rotations; then head by head: normalise, rotate, range, scale, codes, store, and request
// the row `stages` on.
#pragma once

#include "kv_append/append_channel.cuh"
#include "kv_append/append_rows.cuh"
#include "primitives/dependent_launch.cuh"

namespace heddle {

template <class Config, class Tensor, bool kRotate>
__device__ __forceinline__ void append(const KvAppendParameters& p, const u8* input, i64 stride,
                                       const u8* weights, const KvTensorPointers& cache, u32 shared,
                                       int block) {
  AppendRows<Config, Tensor, kRotate> rows(p, cache, shared, block / p.head_parts,
                                           block % p.head_parts, p.head_parts);
  rows.run(input, stride, weights);
}

// `block`: the first one of Q is 0.
template <class Config>
__device__ __forceinline__ void append_query(const KvAppendParameters& p, u32 shared, int block) {
  constexpr bool kRotate = Config::value.rope != RopePairing::kNone;
  const int parts = query_parts_of(Config::value.heads, Config::value.query_heads, p.head_parts);
  const KvTensorPointers output{p.q_out, nullptr, nullptr};
  AppendRows<Config, QTensor<Config>, kRotate> rows(p, output, shared, block / parts, block % parts,
                                                    parts);
  rows.run(p.q, p.q_stride, p.q_norm);
}

// How many thread blocks are not Q's.
template <class Config>
__device__ __forceinline__ int cache_blocks(const KvAppendParameters& p) {
  const int of_v = (p.tokens + Config::value.tokens - 1) / Config::value.tokens * p.head_parts;
  if constexpr (Config::value.k.granularity == KvGranularity::kChannel) {
    return of_v + channel_units<Config>(p) * Config::value.heads;
  } else {
    return 2 * of_v;
  }
}

template <class Config>
__device__ __forceinline__ void kv_append(const KvAppendParameters& p) {
  extern __shared__ __align__(128) u8 shared_memory[];
  const u32 shared = shared_address(shared_memory);
  const int block = static_cast<int>(blockIdx.x);
  if constexpr (Config::value.dependent) {
    launch_dependents();
    // What comes before may have made K, V, Q and the table, or still read the cache.
    wait_for_predecessor();
  }
  if constexpr (Config::value.query_heads != 0) {
    const int of_cache = cache_blocks<Config>(p);
    if (block >= of_cache) return append_query<Config>(p, shared, block - of_cache);
  }
  if constexpr (Config::value.k.granularity == KvGranularity::kChannel) {
    const int of_k = channel_units<Config>(p) * Config::value.heads;
    if (block < of_k) {
      append_channel<Config>(p, block / Config::value.heads, block % Config::value.heads, shared);
    } else {
      append<Config, VTensor<Config>, false>(p, p.v, p.v_stride, nullptr, p.v_cache, shared,
                                             block - of_k);
    }
  } else if (block % 2 == 0) {
    append<Config, KTensor<Config>, Config::value.rope != RopePairing::kNone>(
        p, p.k, p.k_stride, p.k_norm, p.k_cache, shared, block / 2);
  } else {
    append<Config, VTensor<Config>, false>(p, p.v, p.v_stride, nullptr, p.v_cache, shared,
                                           block / 2);
  }
}

}  // namespace heddle

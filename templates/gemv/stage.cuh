// What a warp stages in shared memory before it multiplies: the metadata of its chunks, and X of
// their columns. No other warp reads them.
#pragma once

#include "gemv/config.h"
#include "primitives/memory.cuh"

namespace heddle {

template <class Config>
struct GemvStage {
  using Value = typename Config::Value;
  static constexpr int kMetaVectors = Config::value.meta_bytes() / 16;  // of a chunk
  static constexpr int kTokenVectors = GemvConfig::kChunkTokenBytes / 16;

  // Vectors of metadata and of tokens that a lane copies for all chunks of its warp; it holds up to
  // kMostHeld of them at a time.
  static constexpr int kMostHeld = 4;
  static constexpr int kLaneMeta = (Config::value.warp_chunks() * kMetaVectors + 31) / 32;
  static constexpr int kLaneTokens = (Config::value.warp_chunks() * kTokenVectors + 31) / 32;
  static constexpr int kHeldMeta = min_of(kLaneMeta, kMostHeld);
  static constexpr int kHeldTokens = min_of(kLaneTokens, kMostHeld);

  const u8* weights;    // the warp's first chunk
  const u8* x;          // of its first column
  const u8* pre_scale;  // the same
  int chunks;           // of the warp
  int columns;          // from its first to the end of K
  u32 meta, tokens;     // shared addresses
  int lane;

  u32x4 held_meta[kHeldMeta > 0 ? kHeldMeta : 1];

  // The first metadata are requested like the weights, before the wait for the previous kernel, and
  // stored once X is on its way, so that a warp waits for memory once.
  __device__ __forceinline__ void request_meta() { load_meta(0); }

  __device__ __forceinline__ void copy() {
    u32x4 vectors[kHeldTokens];
    load_tokens(0, vectors);
    store_meta(0);
    store_tokens(0, vectors);
#pragma unroll 1
    for (int first = kHeldMeta; first < kLaneMeta; first += kHeldMeta) {
      load_meta(first);
      store_meta(first);
    }
#pragma unroll 1
    for (int first = kHeldTokens; first < kLaneTokens; first += kHeldTokens) {
      load_tokens(first, vectors);
      store_tokens(first, vectors);
    }
  }

 private:
  // The lane's i-th vector of all of the warp's.
  __device__ __forceinline__ int vector(int i) const { return 32 * i + lane; }

  __device__ __forceinline__ void load_meta(int first) {
    constexpr int kOfChunk = kMetaVectors > 0 ? kMetaVectors : 1;
#pragma unroll
    for (int i = 0; i < kHeldMeta; ++i) {
      const int v = vector(first + i);
      if (v >= chunks * kMetaVectors) break;
      held_meta[i] = load_global_16_l2(weights + v / kOfChunk * Config::value.weights.chunk_bytes +
                                       Config::value.weights.scale_offset + 16 * (v % kOfChunk));
    }
  }
  __device__ __forceinline__ void store_meta(int first) const {
#pragma unroll
    for (int i = 0; i < kHeldMeta; ++i) {
      const int v = vector(first + i);
      if (v >= chunks * kMetaVectors) break;
      store_shared_16(meta + 16 * v, held_meta[i]);
    }
  }

  // X may have been written by the previous kernel: it is read from the L2 cache, where that has
  // put it. Columns beyond K are zero.
  __device__ __forceinline__ void load_tokens(int first, u32x4 (&vectors)[kHeldTokens]) const {
#pragma unroll
    for (int i = 0; i < kHeldTokens; ++i) {
      const int v = vector(first + i);
      vectors[i] = {0, 0, 0, 0};
      if (v < chunks * kTokenVectors && 8 * v < columns) {
        vectors[i] = load_global_16_l2(x + 16 * v);
        if constexpr (Config::value.pre_scale) {
          const u32x4 factors = load_global_16_l2(pre_scale + 16 * v);
          vectors[i] = {Value::mul2(vectors[i].x, factors.x), Value::mul2(vectors[i].y, factors.y),
                        Value::mul2(vectors[i].z, factors.z), Value::mul2(vectors[i].w, factors.w)};
        }
      }
    }
  }
  __device__ __forceinline__ void store_tokens(int first,
                                               const u32x4 (&vectors)[kHeldTokens]) const {
#pragma unroll
    for (int i = 0; i < kHeldTokens; ++i) {
      const int v = vector(first + i);
      if (v < chunks * kTokenVectors) store_shared_16(tokens + 16 * v, vectors[i]);
    }
  }
};

}  // namespace heddle

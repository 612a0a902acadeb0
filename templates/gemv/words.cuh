// The packed words of one chunk, from global memory into a lane's registers.
//
// Nothing else reads them, so they pass the L1 cache. steps/chunk.cuh has the same order for chunks
// in shared memory; docs/layouts.md says why it is so.
#pragma once

#include "gemv/config.h"
#include "primitives/memory.cuh"

namespace heddle {

template <class Config>
struct GemvWords {
  static constexpr int kBits = Config::value.weights.bits;

  u32 halves[2][kBits];  // of 64 columns each

  __device__ __forceinline__ void load(const u8* chunk, int lane) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if constexpr (Config::value.weights.row_lines) {
        load_row_lines(chunk + 128 * half, lane, halves[half]);
      } else {
        load_half(chunk + 128 * kBits * half, lane, halves[half]);
      }
    }
  }

 private:
  // Loads 16 bytes at a time, then 8 and 4.
  static __device__ __forceinline__ void load_half(const u8* half, int lane, u32 (&words)[kBits]) {
    constexpr int kFours = kBits / 4 * 4;
#pragma unroll
    for (int i = 0; i < kFours; i += 4) {
      const u32x4 v = load_global_16_l2(half + 128 * i + 16 * lane);
      words[i] = v.x;
      words[i + 1] = v.y;
      words[i + 2] = v.z;
      words[i + 3] = v.w;
    }
    if constexpr ((kBits & 2) != 0) {
      const u64 v = load_global_8_l2(half + 128 * kFours + 8 * lane);
      words[kFours] = static_cast<u32>(v);
      words[kFours + 1] = static_cast<u32>(v >> 32);
    }
    if constexpr ((kBits & 1) != 0) {
      words[kBits - 1] = load_global_4_l2(half + 128 * (kBits - 1) + 4 * lane);
    }
  }

  // TensorRT-LLM's order: even words are of row g, odd ones of row g + 8. Each load takes half of
  // the sectors that it touches; the next one finds the rest of them in the L1 cache.
  static __device__ __forceinline__ void load_row_lines(const u8* chunk, int lane,
                                                        u32 (&words)[kBits]) {
    constexpr int kRowsOfLine = 16 / kBits;
    constexpr int kRowBytes = 8 * kBits;
#pragma unroll
    for (int i = 0; i < kBits; ++i) {
      const int row = lane / 4 + 8 * (i % 2);
      words[i] = load_global_4(chunk + 256 * (row / kRowsOfLine) + row % kRowsOfLine * kRowBytes +
                               16 * (i / 2) + 4 * (lane % 4));
    }
  }
};

}  // namespace heddle

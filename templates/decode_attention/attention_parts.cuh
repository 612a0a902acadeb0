// Four neighbouring elements of a row of the output, and how parts of them are added up: those of
// the warps of a block, of the blocks of a team and of the teams that share an item.
#pragma once

#include "primitives/bits.cuh"
#include "primitives/float.cuh"
#include "primitives/memory.cuh"

namespace heddle {

// Where parts of a row lie in shared memory. Part i's reference and sum of P are at
// `stats + i * stats_step`; its four elements, in FP32, are at `quads + i * quads_step`, or, where
// there is a table `places`, at `quads` bytes from its i-th entry.
struct AttentionParts {
  u32 stats;
  u32 stats_step;
  u32 quads;
  u32 quads_step;
  u32 places;  // 0: none
};

struct RowQuad {
  // The elements count 2^-reference times themselves, and so does the sum of P.
  float reference = -1e30f;
  float total = 0.0f;
  float v[4] = {};

  // Adds `count` parts in their order.
  __device__ __forceinline__ void add(const AttentionParts& parts, int count) {
    // Loads of this many parts are on their way at once.
    constexpr int kAtOnce = 4;
#pragma unroll 1
    for (int begin = 0; begin < count; begin += kAtOnce) {
      u64 stats[kAtOnce];
      u32x4 quads[kAtOnce];
      float next = reference;
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        // Behind the last part comes the first one of these again.
        const u32 part = begin + (begin + i < count ? i : 0);
        const u32 base =
            parts.places != 0 ? load_shared_4(parts.places + 4 * part) : part * parts.quads_step;
        stats[i] = load_shared_8(parts.stats + part * parts.stats_step);
        quads[i] = load_shared_16(base + parts.quads);
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
        next = larger(next, float_from_bits(static_cast<u32>(stats[i])));
      scale(exp2_fast(reference - next));
      reference = next;
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (begin + i >= count) break;
        const float factor = exp2_fast(float_from_bits(static_cast<u32>(stats[i])) - reference);
        total += factor * float_from_bits(static_cast<u32>(stats[i] >> 32));
        v[0] += factor * float_from_bits(quads[i].x);
        v[1] += factor * float_from_bits(quads[i].y);
        v[2] += factor * float_from_bits(quads[i].z);
        v[3] += factor * float_from_bits(quads[i].w);
      }
    }
  }

  __device__ __forceinline__ f32x4 floats() const { return {v[0], v[1], v[2], v[3]}; }

 private:
  __device__ __forceinline__ void scale(float factor) {
    total *= factor;
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] *= factor;
  }
};

}  // namespace heddle

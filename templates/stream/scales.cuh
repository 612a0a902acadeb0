// Scales of 8 bits, widened once for the four lanes that use each.
//
// Four lanes have the same rows g and g + 8. Each would widen the scales of these rows for itself:
// with groups of 16 that took more instructions than decoding. So each lane widens some of those of
// a few chunks, and all read them from shared memory, those of half a chunk in one load.
#pragma once

#include "primitives/bits.cuh"
#include "primitives/memory.cuh"
#include "primitives/scale.cuh"
#include "primitives/sync.cuh"
#include "stream/shape.cuh"

namespace heddle {

template <class Config>
struct StreamScales {
  using S = StreamShape<Config>;
  using Value = typename Config::Value;
  using Scale = typename Config::Scale;
  static constexpr bool kWeight = Config::value.scaling.mode == ScaleMode::kWeight;
  static constexpr int kWords = S::kWideBytes / 4;  // of an entry
  // Entries of half a chunk: those that its columns touch, or one more where the other half touches
  // more.
  static constexpr int kHalfEntries =
      max_of(Config::value.weights.entry(63) + 1, S::kEntries - Config::value.weights.entry(64));
  static constexpr int kHalfWords = kHalfEntries * kWords;
  // Whether the scales of a half begin at a multiple of their bytes: they do without an offset.
  static constexpr bool kAligned = Config::value.weights.entry_offset == 0;

  // What a lane has of half a chunk, for each entry kWords.
  u32 words[kHalfWords];

  // Widens the scales of S::kWideChunks chunks, by the lanes of a warp together. They may be read
  // at once, and written again after a warp_barrier().
  static __device__ __forceinline__ void widen(u32 chunks, u32 wide, int lane) {
    static_assert(Config::value.weights.scale_bytes == 16,
                  "pairs of codes of an entry, one behind the other");
    constexpr int kChunkPairs = 8 * S::kEntries;
    constexpr int kPairs = S::kWideChunks * kChunkPairs;
#pragma unroll
    for (int first = 0; first < kPairs; first += 32) {
      const int i = first + lane;
      if (kPairs % 32 != 0 && i >= kPairs) break;
      const int chunk = i / kChunkPairs;
      const int pair = i % kChunkPairs;
      const u32 from = chunks + chunk * Config::value.weights.chunk_bytes +
                       Config::value.weights.scale_offset + 2 * pair;
      const u32 to = wide + chunk * S::kWideChunkBytes + pair % 8 * S::kWideRowBytes +
                     pair / 8 * S::kWideBytes;
      if constexpr (kWeight) {
        store_shared_4(
            to, Scale::template load_values<Value, Config::value.scaling.scale_exponent>(from));
      } else {
        const RowPair scale = Scale::load_shared(from);
        store_shared_8(
            to, bits_of_float(power_of_two<Config::value.scaling.result_exponent>(scale.low)),
            bits_of_float(power_of_two<Config::value.scaling.result_exponent>(scale.high)));
      }
    }
    warp_barrier();
  }

  // `wide`: of the chunk.
  __device__ __forceinline__ void load(u32 wide, int half, int g) {
    const u32 at = wide + g * S::kWideRowBytes + first_entry(half) * S::kWideBytes;
    if constexpr (kAligned && kHalfWords % 4 == 0) {
#pragma unroll
      for (int i = 0; i < kHalfWords; i += 4) {
        const u32x4 v = load_shared_16(at + 4 * i);
        words[i] = v.x;
        words[i + 1] = v.y;
        words[i + 2] = v.z;
        words[i + 3] = v.w;
      }
    } else if constexpr (kWords == 2 || (kAligned && kHalfWords == 2)) {
#pragma unroll
      for (int i = 0; i < kHalfWords; i += 2) {
        const u64 v = load_shared_8(at + 4 * i);
        words[i] = static_cast<u32>(v);
        words[i + 1] = static_cast<u32>(v >> 32);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kHalfWords; ++i) words[i] = load_shared_4(at + 4 * i);
    }
  }

  // The scales of a column of the chunk: for weights, and for sums, times the result exponent.
  __device__ __forceinline__ u32 of_weights(int column) const { return words[entry(column)]; }
  __device__ __forceinline__ RowPair of_sums(int column) const {
    return {float_from_bits(words[2 * entry(column)]),
            float_from_bits(words[2 * entry(column) + 1])};
  }

 private:
  // The first that a half has in `words`: the second half ends with the chunk's last one.
  static __device__ __forceinline__ constexpr int first_entry(int half) {
    return half == 0 ? 0 : S::kEntries - kHalfEntries;
  }
  static __device__ __forceinline__ constexpr int entry(int column) {
    return Config::value.weights.entry(column) - first_entry(column / 64);
  }
};

}  // namespace heddle

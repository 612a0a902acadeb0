// The tensors of a checkpoint: codes, scales and zero points. docs/checkpoints.md has the formats.
#pragma once

#include "packing/chunk.cuh"
#include "primitives/bits.cuh"
#include "primitives/memory.cuh"
#include "primitives/types.cuh"
#include "repack/config.h"

namespace heddle {

// Which nibble of a word has row i of AWQ's eight: the inverse of 0 2 4 6 1 3 5 7.
__device__ __forceinline__ int awq_nibble(int i) { return i % 2 * 4 + i / 2; }

// Value i of a stream of kBits-wide values, with kWordBias added to its word.
template <int kBits, u32 kWordBias>
__device__ __forceinline__ u32 stream_value(const u8* words, u32 i) {
  const u32 bit = i * kBits;
  const u32 low = (load_global_4(words + bit / 32 * 4) + kWordBias) >> bit % 32;
  if constexpr (32 % kBits == 0) {
    return low & ((1u << kBits) - 1);
  } else {
    const u32 taken = 32 - bit % 32;
    const u32 high = taken < kBits ? load_global_4(words + bit / 32 * 4 + 4) << taken : 0;
    return (low | high) & ((1u << kBits) - 1);
  }
}

// Asked for by packed rows.
template <class Config>
struct CheckpointValues {
  const u8* scales;  // [K / group, N]
  const u8* zeros;   // [K / group, N * bits / 32], a stream along N; AWQ: as its codes

  static constexpr int kN = Config::value.tiles.n;
  static constexpr int kBits = Config::value.packed.bits;
  static constexpr int kScaleWidth = Config::value.packed.scale_width();
  static constexpr u32 kWordBias = Config::value.stored_zeros().of_word();
  static constexpr u32 kFieldBias = Config::value.stored_zeros().of_field();

  __device__ __forceinline__ u32 scale(int packed_row, int group) const {
    const int row = weight_row<Config>(packed_row);
    return load_global<kScaleWidth>(scales + (static_cast<i64>(group) * kN + row) * kScaleWidth);
  }
  __device__ __forceinline__ u32 zero(int packed_row, int group) const {
    const int row = weight_row<Config>(packed_row);
    const u8* const words = zeros + static_cast<i64>(group) * (kN * kBits / 32) * 4;
    if constexpr (Config::value.source == RepackSource::kAwq) {
      return load_global_4(words + row / 8 * 4) >> 4 * awq_nibble(row % 8) & 15;
    } else {
      return (stream_value<kBits, kWordBias>(words, row) + kFieldBias) & ((1u << kBits) - 1);
    }
  }
};

}  // namespace heddle

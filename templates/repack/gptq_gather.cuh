// GPTQ's codes with act-order: packed column j is column permutation[j] of the checkpoint.
#pragma once

#include "packing/code_tile.cuh"
#include "primitives/memory.cuh"
#include "repack/checkpoint.cuh"

namespace heddle {

// A thread takes one row of W, and gathers code by code. Neighbouring lanes still read neighbouring
// words; of each word one code is used here, and the others while it is in the L2 cache.
template <class Config>
struct GptqGather {
  static constexpr int kBits = Config::value.packed.bits;
  static_assert(Config::value.tiles.rows == Config::value.threads(), "one row per thread");

  const u8* codes_of_row;
  const u8* permutation;
  int first_column;
  bool row_inside;

  __device__ __forceinline__ void load(const u8* qweight, const u8* order, int row, int column) {
    const int packed_row = row + static_cast<int>(threadIdx.x);
    codes_of_row = qweight + static_cast<i64>(weight_row<Config>(packed_row)) * 4;
    permutation = order;
    first_column = column;
    row_inside = kWholeRows<Config> || packed_row < Config::value.tiles.n;
  }

  __device__ __forceinline__ void store(const CodeTile& tile) const {
#pragma unroll 1
    for (int unit = 0; unit < 8; ++unit) {
      u32 codes[4];
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        const int column = first_column + unit / 4 * 64 + 16 * q + unit % 4 * 2;
        const bool inside = row_inside && (kWholeColumns<Config> || column < Config::value.tiles.k);
        codes[q] = inside ? gather(column) : Config::value.packed.padding_code * 0x01010101u;
      }
      store_shared_16(tile.unit(static_cast<int>(threadIdx.x), unit),
                      {codes[0], codes[1], codes[2], codes[3]});
    }
  }

  // Columns 2t, 2t + 8, 2t + 1 and 2t + 9 of a k tile, from column 2t on.
  __device__ __forceinline__ u32 gather(int column) const {
    u32 codes = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      codes |= code(load_global_4(permutation + (column + i / 2 + i % 2 * 8) * 4)) << 8 * i;
    }
    return codes;
  }

  __device__ __forceinline__ u32 code(u32 column) const {
    const u32 bit = column * kBits;
    const u8* const word = codes_of_row + static_cast<i64>(bit / 32) * Config::value.tiles.n * 4;
    u32 code = load_global_4(word) >> bit % 32;
    if constexpr (32 % kBits != 0) {
      const u32 taken = 32 - bit % 32;
      if (taken < kBits)
        code |= load_global_4(word + static_cast<i64>(Config::value.tiles.n) * 4) << taken;
    }
    return code & ((1u << kBits) - 1);
  }
};

}  // namespace heddle

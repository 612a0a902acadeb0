// GPTQ's codes to the shared tile: qweight [K * bits / 32, N], a stream of bits down each column.
#pragma once

#include "packing/code_tile.cuh"
#include "primitives/bits.cuh"
#include "primitives/memory.cuh"
#include "repack/checkpoint.cuh"

namespace heddle {

// Four codes from 4 * kBits bits at the bottom of a register to a byte each; what lies above them
// is dropped.
template <int kBits>
__device__ __forceinline__ u32 spread_codes(u32 bits) {
  if constexpr (kBits == 8) {
    return bits;
  } else {
    constexpr u32 kPair = (1u << 2 * kBits) - 1;
    constexpr u32 kCode = (1u << kBits) - 1;
    // Two codes to each half, then one to each byte.
    const u32 halves = lop3<0xea>(shl<16 - 2 * kBits>(bits), kPair << 16, bits & kPair);
    return lop3<0xea>(shl<8 - kBits>(halves), kCode * 0x01000100u, halves & kCode * 0x00010001u);
  }
}

// A thread takes one row of W.
template <class Config>
struct GptqCodes {
  static constexpr int kBits = Config::value.packed.bits;
  static constexpr int kWords = 2 * kBits;  // of 64 columns
  static constexpr u32 kPadding = Config::value.packed.padding_code * 0x01010101u;
  static_assert(Config::value.tiles.rows == Config::value.threads(), "one row per thread");

  u32 words[2][kWords];  // of each 64 columns
  int first_column;
  bool row_inside;

  __device__ __forceinline__ bool inside(int column) const {
    return row_inside && (kWholeColumns<Config> || first_column + column < Config::value.tiles.k);
  }

  __device__ __forceinline__ void load(const u8* qweight, int row, int column) {
    const int packed_row = row + static_cast<int>(threadIdx.x);
    const int row_of_w = weight_row<Config>(packed_row);
    first_column = column;
    row_inside = kWholeRows<Config> || packed_row < Config::value.tiles.n;
    const u8* const from =
        qweight + (static_cast<i64>(column / 32 * kBits) * Config::value.tiles.n + row_of_w) * 4;
#pragma unroll
    for (int i = 0; i < 2 * kWords; ++i) {
      words[i / kWords][i % kWords] =
          inside(i / kBits * 32)
              ? load_global_4(from + static_cast<i64>(i) * Config::value.tiles.n * 4)
              : 0;
    }
  }

  __device__ __forceinline__ void store(const CodeTile& tile) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      u32 codes[4][4];
      unpack<0>(words[half], codes);
      unpack<1>(words[half], codes);
      unpack<2>(words[half], codes);
      unpack<3>(words[half], codes);
#pragma unroll
      for (int t = 0; t < 4; ++t) {
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          if (!inside(64 * half + 16 * q)) codes[t][q] = kPadding;
        }
        store_shared_16(tile.unit(static_cast<int>(threadIdx.x), 4 * half + t),
                        {codes[t][0], codes[t][1], codes[t][2], codes[t][3]});
      }
    }
  }

  // Codes 4i .. 4i + 3 of the words' stream.
  template <int i>
  static __device__ __forceinline__ u32 four(const u32 (&words)[kWords]) {
    constexpr int kBit = 4 * kBits * i;
    constexpr int kWord = kBit / 32;
    if constexpr (kBit % 32 + 4 * kBits <= 32) {
      return spread_codes<kBits>(words[kWord] >> kBit % 32);
    } else {
      return spread_codes<kBits>(funnel_shr<kBit % 32>(words[kWord], words[kWord + 1]));
    }
  }

  // The 16 columns of k tile q: register t has columns 2t, 2t + 8, 2t + 1 and 2t + 9.
  template <int q>
  static __device__ __forceinline__ void unpack(const u32 (&words)[kWords], u32 (&codes)[4][4]) {
    u32 fours[4];
    if constexpr (kBits == 4) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const u32 even = words[2 * q + i] & 0x0f0f0f0fu;
        const u32 odd = shr<4>(words[2 * q + i]) & 0x0f0f0f0fu;
        fours[2 * i] = prmt<0x5140>(even, odd);
        fours[2 * i + 1] = prmt<0x7362>(even, odd);
      }
    } else {
      fours[0] = four<4 * q>(words);
      fours[1] = four<4 * q + 1>(words);
      fours[2] = four<4 * q + 2>(words);
      fours[3] = four<4 * q + 3>(words);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      codes[2 * i][q] = prmt<0x5140>(fours[i], fours[i + 2]);
      codes[2 * i + 1][q] = prmt<0x7362>(fours[i], fours[i + 2]);
    }
  }
};

}  // namespace heddle

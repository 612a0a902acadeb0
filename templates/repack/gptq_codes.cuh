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

// A thread takes one row of W, and 64 columns at a time.
template <class Config>
struct GptqCodes {
  static constexpr int kBits = Config::kBits;
  static constexpr int kWords = 2 * kBits;  // of 64 columns
  static constexpr u32 kPadding = Config::kPaddingCode * 0x01010101u;
  static_assert(Config::kTileRows == Config::kThreads, "one row per thread");

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

  static __device__ __forceinline__ void load(const u8* qweight, const u8* permutation, int row,
                                              int column, const CodeTile& tile) {
    const int r = static_cast<int>(threadIdx.x);
    const bool row_inside = Config::kWholeRows || row + r < Config::kN;
    const u8* const from = qweight + static_cast<i64>(row + r) * 4;
    if constexpr (Config::kActOrder) {
      for (int half = 0; half < 2; ++half) {
        gather(from, permutation, row_inside, column + 64 * half, tile, r, half);
      }
    } else {
      u32 words[2][kWords];
#pragma unroll
      for (int half = 0; half < 2; ++half) load_words(from, row_inside, column, half, words[half]);
#pragma unroll
      for (int half = 0; half < 2; ++half) store_codes(words[half], row_inside, column, half, tile);
    }
  }

  static __device__ __forceinline__ void load_words(const u8* from, bool row_inside, int column,
                                                    int half, u32 (&words)[kWords]) {
    const i64 first = static_cast<i64>(column / 32 + 2 * half) * kBits;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      const bool inside =
          row_inside && (Config::kWholeColumns || column + 64 * half + i / kBits * 32 < Config::kK);
      words[i] = inside ? load_global_4(from + (first + i) * Config::kN * 4) : 0;
    }
  }

  static __device__ __forceinline__ void store_codes(const u32 (&words)[kWords], bool row_inside,
                                                     int column, int half, const CodeTile& tile) {
    u32 codes[4][4];
    unpack<0>(words, codes);
    unpack<1>(words, codes);
    unpack<2>(words, codes);
    unpack<3>(words, codes);
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      const bool inside =
          row_inside && (Config::kWholeColumns || column + 64 * half + 16 * q < Config::kK);
#pragma unroll
      for (int t = 0; t < 4; ++t) codes[t][q] = inside ? codes[t][q] : kPadding;
    }
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      store_shared_16(tile.unit(static_cast<int>(threadIdx.x), 4 * half + t),
                      {codes[t][0], codes[t][1], codes[t][2], codes[t][3]});
    }
  }

  // Act-order: packed column j is column permutation[j] of the checkpoint. Neighbouring lanes still
  // read neighbouring words; of each word one code is used here, and the others while the word is
  // in the L2 cache.
  static __device__ __forceinline__ u32 gather_code(const u8* from, u32 column) {
    const u32 bit = column * kBits;
    const u8* const word = from + static_cast<i64>(bit / 32) * Config::kN * 4;
    u32 code = load_global_4(word) >> bit % 32;
    if constexpr (32 % kBits != 0) {
      const u32 taken = 32 - bit % 32;
      if (taken < kBits) code |= load_global_4(word + static_cast<i64>(Config::kN) * 4) << taken;
    }
    return code & ((1u << kBits) - 1);
  }

  static __device__ __forceinline__ void gather(const u8* from, const u8* permutation,
                                                bool row_inside, int column, const CodeTile& tile,
                                                int r, int half) {
#pragma unroll 1
    for (int t = 0; t < 4; ++t) {
      u32 codes[4];
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        const int first = column + 16 * q + 2 * t;
        codes[q] = kPadding;
        if (!row_inside || (!Config::kWholeColumns && first >= Config::kK)) continue;
        codes[q] = 0;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const u32 k = load_global_4(permutation + (first + i / 2 + i % 2 * 8) * 4);
          codes[q] |= gather_code(from, k) << 8 * i;
        }
      }
      store_shared_16(tile.unit(r, 4 * half + t), {codes[0], codes[1], codes[2], codes[3]});
    }
  }
};

}  // namespace heddle

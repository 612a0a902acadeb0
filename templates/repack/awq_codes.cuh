// AWQ's codes to the shared tile: qweight [K, N / 8], eight rows of W to a word.
#pragma once

#include "packing/code_tile.cuh"
#include "primitives/bits.cuh"
#include "primitives/memory.cuh"
#include "repack/checkpoint.cuh"

namespace heddle {

// A thread takes a column of words, eight rows of W, and all that a lane t packs from 64 columns:
// 16 words, which become 16 codes of each row.
template <class Config>
struct AwqCodes {
  static constexpr int kWords = Config::value.tiles.n / 8;
  static constexpr int kTileWords = Config::value.tiles.rows / 8;
  static_assert(8 * kTileWords == Config::value.threads(), "an eighth of the columns per thread");

  // Four words of one k tile, columns 2t, 2t + 8, 2t + 1 and 2t + 9, to the codes of eight rows.
  static __device__ __forceinline__ void transpose(const u32 (&words)[4], u32 (&rows)[8]) {
    const u32 low_ab = prmt<0x5140>(words[0], words[1]);  // bytes a0 b0 a1 b1
    const u32 high_ab = prmt<0x7362>(words[0], words[1]);
    const u32 low_cd = prmt<0x5140>(words[2], words[3]);
    const u32 high_cd = prmt<0x7362>(words[2], words[3]);
    const u32 bytes[4] = {prmt<0x5410>(low_ab, low_cd), prmt<0x7632>(low_ab, low_cd),
                          prmt<0x5410>(high_ab, high_cd), prmt<0x7632>(high_ab, high_cd)};
    // Byte i of a word has nibbles 2i and 2i + 1.
#pragma unroll
    for (int row = 0; row < 8; ++row) {
      const u32 pair = bytes[(row % 2 * 4 + row / 2) / 2];
      rows[row] = (row / 2 % 2 == 0 ? pair : pair >> 4) & 0x0f0f0f0fu;
    }
  }

  u32 words[4][4];  // [k tile][column], columns as above
  int first_row;    // in the tile
  int unit;         // of the tile's rows

  __device__ __forceinline__ void load(const u8* qweight, int row, int column) {
    const int c = static_cast<int>(threadIdx.x % kTileWords);
    unit = static_cast<int>(threadIdx.x / kTileWords);  // 4 * half + t
    first_row = 8 * c;
    const int first = column + unit / 4 * 64 + unit % 4 * 2;
    const bool row_inside = kWholeRows<Config> || row + first_row < Config::value.tiles.n;
    // Eight packed rows are eight rows of W also where gates and ups take turns.
    const int word = weight_row<Config>(row + first_row) / 8;
    const u8* const from = qweight + (static_cast<i64>(first) * kWords + word) * 4;
#pragma unroll
    for (int q = 0; q < 4; ++q) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int k = 16 * q + i / 2 + i % 2 * 8;
        const bool inside =
            row_inside && (kWholeColumns<Config> || first + k < Config::value.tiles.k);
        words[q][i] = inside ? load_global_4(from + static_cast<i64>(k) * kWords * 4)
                             : Config::value.packed.padding_code * 0x11111111u;
      }
    }
  }

  __device__ __forceinline__ void store(const CodeTile& tile) const {
    u32 rows[4][8];
#pragma unroll
    for (int q = 0; q < 4; ++q) transpose(words[q], rows[q]);
#pragma unroll
    for (int r = 0; r < 8; ++r) {
      store_shared_16(tile.unit(first_row + r, unit),
                      {rows[0][r], rows[1][r], rows[2][r], rows[3][r]});
    }
  }
};

}  // namespace heddle

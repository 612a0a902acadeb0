// AWQ's tensors to W[N, K].
//
// Floors. Bytes: half a byte and its share of scales in, two bytes out for a weight; the memory of
// an H200 leaves time for 18 instructions of a lane. Operations: 2.8 to 3.5 instructions a weight
// in all.
//
// Budget. A word of qweight [K, N / 8] has eight rows of W of one column. A lane takes two
// neighbouring words of eight consecutive columns with eight 8-byte loads, 16 rows by 8 columns: 64
// bytes of codes per lane are in flight at once, and 20 warps fit an SM of an H200. Registers: 72.
// Nothing passes through shared memory.
//
// Roles. A warp's four lanes along N and eight along K read runs of 32 bytes and write runs of 128;
// four warps of a block lie side by side along N, so that it reads whole lines.
//
// Order. A lane loads everything. Decoding a word gives pairs of rows; one PRMT for each two pairs
// makes pairs of columns of them, and eight words give each of eight rows a 16-byte store.
#pragma once

#include "dequantize/config.h"
#include "dequantize/scale.cuh"
#include "dequantize/tile_place.cuh"
#include "primitives/bits.cuh"
#include "primitives/memory.cuh"

namespace heddle {

template <class Config, class Decode>
struct AwqTile {
  using Scale = typename Config::Scale;
  using Lanes = DequantizeAwqConfig;
  static constexpr MatrixTiles kW = Config::value.tiles;
  static constexpr int kWordRows = Lanes::kWordRows;
  static constexpr int kColumns = Lanes::kLaneColumns;
  static constexpr int kWords = Lanes::kLaneWords;
  static constexpr bool kHasZeros = Config::value.scaling.zero == ZeroKind::kInt;
  static constexpr int kRowWords = kW.n / kWordRows;  // of qweight and qzeros
  static constexpr bool kWhole = kRowWords % kWords == 0;
  static_assert(Decode::kTiles == 1, "a unit is a word");

  // Words word and word + 1 of a row; those past its end are zero.
  static __device__ __forceinline__ void load_row(const u32* row, int word, u32 (&to)[kWords]) {
    if constexpr (kWhole) {
      const u64 v = *reinterpret_cast<const u64*>(row + word);
      to[0] = static_cast<u32>(v);
      to[1] = static_cast<u32>(v >> 32);
    } else {
#pragma unroll
      for (int i = 0; i < kWords; ++i) to[i] = word + i < kRowWords ? row[word + i] : 0;
    }
  }

  // Eight rows by eight columns, the first of them at `to`.
  static __device__ __forceinline__ void put(const u32 (&words)[kColumns], u32 zero_word,
                                             const RawScales<Scale, kWordRows>& scales, u8* to) {
    u32 z[Decode::kGroupRegisters];
    if constexpr (kHasZeros) Decode::group(zero_word, z);
      // Two rows at a time: of a word's four pairs only one is in registers.
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      PairScale<Config> scale;
      scale.set(scales[2 * i], scales[2 * i + 1], 1.0f);
      u32 pairs[kColumns];
#pragma unroll
      for (int k = 0; k < kColumns; ++k) {
        const u32 own[Lanes::kBits] = {words[k]};
        u32 a[1][4];
        Decode::unit(own, 0, z, a);
        pairs[k] = scale.apply(a[0][i], 1.0f);
      }
      store_global_16(to + weights_apart<Config>(2 * i, 0),
                      {prmt<0x5410>(pairs[0], pairs[1]), prmt<0x5410>(pairs[2], pairs[3]),
                       prmt<0x5410>(pairs[4], pairs[5]), prmt<0x5410>(pairs[6], pairs[7])});
      store_global_16(to + weights_apart<Config>(2 * i + 1, 0),
                      {prmt<0x7632>(pairs[0], pairs[1]), prmt<0x7632>(pairs[2], pairs[3]),
                       prmt<0x7632>(pairs[4], pairs[5]), prmt<0x7632>(pairs[6], pairs[7])});
    }
  }
};

template <class Config, class Decode>
__device__ __forceinline__ void dequantize_awq(const u8* qweight, const u8* scales,
                                               const u8* qzeros, const int*, u8* w) {
  using Tile = AwqTile<Config, Decode>;
  using Scale = typename Config::Scale;
  using Lanes = DequantizeAwqConfig;
  constexpr int kWarpsN = Config::value.tiles.rows / Lanes::kWarpRows;

  const TilePlace<Config> place = TilePlace<Config>::of_block();
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int row = place.row + warp % kWarpsN * Lanes::kWarpRows +
                  lane % Lanes::kLanesN * (Tile::kWords * Tile::kWordRows);
  const int column =
      place.column + warp / kWarpsN * Lanes::kWarpColumns + lane / Lanes::kLanesN * Tile::kColumns;
  if (row >= Config::value.tiles.n || column >= Config::value.tiles.k) return;

  // Everything is loaded before anything is used.
  const int word = row / Tile::kWordRows;
  const int group = (column + Config::value.group_offset) / Config::value.group_size;
  const u32* words_at =
      reinterpret_cast<const u32*>(qweight) + static_cast<i64>(column) * Tile::kRowWords;
  u32 words[Tile::kColumns][Tile::kWords];
#pragma unroll
  for (int k = 0; k < Tile::kColumns; ++k) {
    Tile::load_row(words_at + k * Tile::kRowWords, word, words[k]);
  }
  u32 zeros[Tile::kWords] = {};
  if constexpr (Tile::kHasZeros) {
    Tile::load_row(reinterpret_cast<const u32*>(qzeros) + static_cast<i64>(group) * Tile::kRowWords,
                   word, zeros);
  }
  RawScales<Scale, Tile::kWordRows> row_scales[Tile::kWords];
#pragma unroll
  for (int i = 0; i < Tile::kWords; ++i) {
    if (!Tile::kWhole && word + i >= Tile::kRowWords) continue;
    row_scales[i].load(
        scales + (static_cast<i64>(group) * Config::value.tiles.n + row + Tile::kWordRows * i) *
                     Scale::kBytes);
  }
  u8* to = weight_address<Config>(w, row, column);
#pragma unroll
  for (int i = 0; i < Tile::kWords; ++i) {
    if (!Tile::kWhole && word + i >= Tile::kRowWords) break;
    const u32 column_words[Tile::kColumns] = {words[0][i], words[1][i], words[2][i], words[3][i],
                                              words[4][i], words[5][i], words[6][i], words[7][i]};
    Tile::put(column_words, zeros[i], row_scales[i],
              to + weights_apart<Config>(Tile::kWordRows * i, 0));
  }
}

}  // namespace heddle

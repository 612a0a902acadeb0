// AWQ's tensors to W[N, K].
//
// A word of qweight [K, N / 8] has eight rows of W of one column. A lane takes four neighbouring
// words of eight consecutive columns with eight 16-byte loads, 32 rows by 8 columns. Decoding a
// word gives pairs of rows; one PRMT for each two pairs makes pairs of columns of them, and eight
// words give each of eight rows a 16-byte store. A warp's four lanes along N and eight along K read
// 64-byte and write 128-byte runs. Nothing passes through shared memory: 128 bytes of codes per
// lane are in flight at once.
//
// heddle-parameters: kBits kN kK kTileRows kTileColumns kHasZeros kFloatZero kCodeBias kPackedScale
// heddle-parameters: kExactProduct kTensorScale Value Scale kGroupSize
#pragma once

#include "dequantize/scale.cuh"
#include "dequantize/tile_place.cuh"
#include "primitives/bits.cuh"
#include "primitives/memory.cuh"

namespace heddle {

template <class Config, class Decode>
struct AwqTile {
  using Scale = typename Config::Scale;
  static constexpr int kWordRows = 8;
  static constexpr int kColumns = 8;  // of a lane
  static constexpr int kWords = 4;    // neighbouring ones
  static constexpr int kLanesN = 4;
  static constexpr int kLanesK = 8;
  static constexpr int kWarpRows = kLanesN * kWords * kWordRows;
  static constexpr int kWarpColumns = kLanesK * kColumns;
  static constexpr int kRowWords = Config::kN / kWordRows;  // of qweight and qzeros
  static constexpr bool kWhole = kRowWords % kWords == 0;
  static_assert(Config::kBits == 4 && Decode::kTiles == 1, "a unit is a word");

  // Words word .. word + 3 of a row; those past its end are zero.
  static __device__ __forceinline__ void load_row(const u32* row, int word, u32 (&to)[kWords]) {
    if constexpr (kWhole) {
      const u32x4 v = load_global_16(row + word);
      to[0] = v.x;
      to[1] = v.y;
      to[2] = v.z;
      to[3] = v.w;
    } else {
#pragma unroll
      for (int i = 0; i < kWords; ++i) to[i] = word + i < kRowWords ? row[word + i] : 0;
    }
  }

  // Eight rows by eight columns.
  static __device__ __forceinline__ void put(const u32 (&words)[kColumns], u32 zero_word,
                                             const RawScales<Scale, kWordRows>& scales, u8* w,
                                             int row, int column) {
    u32 z[Decode::kZeroRegisters];
    if constexpr (Config::kHasZeros) Decode::zeros(zero_word, z);
    u32 pairs[kColumns][4];  // of rows 2i, 2i + 1
    PairScale<Config> scale[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) scale[i].set(scales[2 * i], scales[2 * i + 1], 1.0f);
#pragma unroll
    for (int k = 0; k < kColumns; ++k) {
      const u32 own[Config::kBits] = {words[k]};
      u32 a[1][4];
      Decode::unit(own, 0, z, a);
#pragma unroll
      for (int i = 0; i < 4; ++i) pairs[k][i] = scale[i].apply(a[0][i], 1.0f);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      store_weights<Config>(
          w, row + 2 * i, column,
          {prmt<0x5410>(pairs[0][i], pairs[1][i]), prmt<0x5410>(pairs[2][i], pairs[3][i]),
           prmt<0x5410>(pairs[4][i], pairs[5][i]), prmt<0x5410>(pairs[6][i], pairs[7][i])});
      store_weights<Config>(
          w, row + 2 * i + 1, column,
          {prmt<0x7632>(pairs[0][i], pairs[1][i]), prmt<0x7632>(pairs[2][i], pairs[3][i]),
           prmt<0x7632>(pairs[4][i], pairs[5][i]), prmt<0x7632>(pairs[6][i], pairs[7][i])});
    }
  }
};

template <class Config, class Decode>
__device__ __forceinline__ void dequantize_awq(const u8* qweight, const u8* scales,
                                               const u8* qzeros, const int*, u8* w) {
  using Tile = AwqTile<Config, Decode>;
  using Scale = typename Config::Scale;
  constexpr int kWarpsN = Config::kTileRows / Tile::kWarpRows;

  const TilePlace<Config> place = TilePlace<Config>::of_block();
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int row = place.row + warp % kWarpsN * Tile::kWarpRows +
                  lane % Tile::kLanesN * (Tile::kWords * Tile::kWordRows);
  const int column =
      place.column + warp / kWarpsN * Tile::kWarpColumns + lane / Tile::kLanesN * Tile::kColumns;
  if (row >= Config::kN || column >= Config::kK) return;

  // Everything is loaded before anything is used.
  const int word = row / Tile::kWordRows;
  const int group = column / Config::kGroupSize;
  const u32* words_at =
      reinterpret_cast<const u32*>(qweight) + static_cast<i64>(column) * Tile::kRowWords;
  u32 words[Tile::kColumns][Tile::kWords];
#pragma unroll
  for (int k = 0; k < Tile::kColumns; ++k) {
    Tile::load_row(words_at + k * Tile::kRowWords, word, words[k]);
  }
  u32 zeros[Tile::kWords] = {};
  if constexpr (Config::kHasZeros) {
    Tile::load_row(reinterpret_cast<const u32*>(qzeros) + static_cast<i64>(group) * Tile::kRowWords,
                   word, zeros);
  }
  RawScales<Scale, Tile::kWordRows> row_scales[Tile::kWords];
#pragma unroll
  for (int i = 0; i < Tile::kWords; ++i) {
    if (!Tile::kWhole && word + i >= Tile::kRowWords) continue;
    row_scales[i].load(scales +
                       (static_cast<i64>(group) * Config::kN + row + 8 * i) * Scale::kBytes);
  }
#pragma unroll
  for (int i = 0; i < Tile::kWords; ++i) {
    if (!Tile::kWhole && word + i >= Tile::kRowWords) break;
    const u32 column_words[Tile::kColumns] = {words[0][i], words[1][i], words[2][i], words[3][i],
                                              words[4][i], words[5][i], words[6][i], words[7][i]};
    Tile::put(column_words, zeros[i], row_scales[i], w, row + 8 * i, column);
  }
}

}  // namespace heddle

// Packed chunks, written by whole warps: docs/layouts.md has the bytes.
//
// This file reads the members `tiles` and `packed` of a Config's value.
#pragma once

#include "config/matrix_tiles.h"
#include "packing/code_tile.cuh"
#include "packing/config.h"
#include "primitives/memory.cuh"
#include "primitives/sync.cuh"
#include "primitives/types.cuh"

namespace heddle {

// Whether all rows of all tiles, and all columns of all chunks, are those of W.
template <class Config>
constexpr bool kWholeRows = Config::value.tiles.whole_rows();
template <class Config>
constexpr bool kWholeColumns = Config::value.tiles.k % Chunk::kColumns == 0;

// The row of W that a row of the row blocks is.
template <class Config>
__device__ __forceinline__ constexpr int weight_row(int packed_row) {
  return Config::value.packed.row_of_w(packed_row, Config::value.tiles.n);
}

// The low kBytes bytes of a value. kBytes: 1, 2, 4.
template <int kBytes>
__device__ __forceinline__ void store_global(u8* address, u32 value) {
  if constexpr (kBytes == 1) {
    store_global_1(address, value);
  } else if constexpr (kBytes == 2) {
    store_global_2(address, value);
  } else {
    store_global_4(address, value);
  }
}

template <int kBytes>
__device__ __forceinline__ u32 load_global(const u8* address) {
  if constexpr (kBytes == 1) {
    return load_global_1(address);
  } else if constexpr (kBytes == 2) {
    return load_global_2(address);
  } else {
    return load_global_4(address);
  }
}

// A lane's words of 64 columns: fours, then a pair, then a single word, each for all lanes in a
// row.
template <int kBits>
__device__ __forceinline__ void store_lane_words(u8* half, int lane, const u32 (&words)[kBits]) {
  constexpr int kFours = kBits / 4 * 4;
#pragma unroll
  for (int i = 0; i < kFours; i += 4) {
    store_global_16(half + 128 * i + 16 * lane,
                    {words[i], words[i + 1], words[i + 2], words[i + 3]});
  }
  if constexpr ((kBits & 2) != 0) {
    store_global_8(half + 128 * kFours + 8 * lane, words[kFours], words[kFours + 1]);
  }
  if constexpr ((kBits & 1) != 0) {
    store_global_4(half + 128 * (kBits - 1) + 4 * lane, words[kBits - 1]);
  }
}

// TensorRT-LLM's order: lines of 128 bytes, each 64 columns of neighbouring rows. Even words are of
// row g, odd ones of row g + 8.
template <int kBits>
__device__ __forceinline__ void store_lane_words_trtllm(u8* chunk, int half, int lane,
                                                        const u32 (&words)[kBits]) {
  constexpr int kRowsOfLine = 16 / kBits;
#pragma unroll
  for (int i = 0; i < kBits; ++i) {
    const int row = lane / 4 + 8 * (i % 2);
    store_global_4(chunk + (row / kRowsOfLine * 2 + half) * 128 + row % kRowsOfLine * (8 * kBits) +
                       16 * (i / 2) + 4 * (lane % 4),
                   words[i]);
  }
}

// Packs 64 columns of the tile's 16 rows from `row` on. A whole warp calls it.
template <class Config, class Encode>
__device__ __forceinline__ void pack_half_chunk(const CodeTile& tile, int row, int half, int lane,
                                                u8* chunk) {
  const int unit = 4 * half + lane % 4;
  const u32x4 near = load_shared_16(tile.unit(row + lane / 4, unit));
  const u32x4 far = load_shared_16(tile.unit(row + lane / 4 + 8, unit));
  const u32 codes[8] = {near.x, far.x, near.y, far.y, near.z, far.z, near.w, far.w};
  constexpr int kBits = Config::value.packed.bits;
  u32 words[kBits];
#pragma unroll
  for (int i = 0; i < 4 / Encode::kTiles; ++i) Encode::unit(codes, i, words);
  if constexpr (Config::value.packed.order == ChunkOrder::kRowLines) {
    store_lane_words_trtllm<kBits>(chunk, half, lane, words);
  } else {
    store_lane_words<kBits>(chunk + half * (Config::value.packed.scale_offset / 2), lane, words);
  }
}

// One row's part of a row block's scales and zero points.
template <class Config>
struct RowMetadata {
  static constexpr MatrixTiles kW = Config::value.tiles;
  static constexpr PackedLayout kTo = Config::value.packed;
  static constexpr int kScaleWidth = kTo.scale_width();
  static constexpr int kZeroWidth = kTo.zero_width();

  u8* scales;      // of the row block
  u8* zeros;       // of the row block
  int packed_row;  // of all row blocks: a block of 16 starts at a multiple of 16
  int entries;     // of scales
  int zero_bytes;  // from `zeros` on, what pads the entries included

  // Values: scale(row, group) and zero(row, group), bits, of packed rows; neither is asked for what
  // lies outside of W. Whole warps call it, each 16 lanes for the rows of a row block.
  template <class Values>
  __device__ __forceinline__ void put(int entry, int column, const Values& values) const {
    const int row = packed_row & (Chunk::kRows - 1);
    const int k = column + kTo.first_column(entry);
    const bool column_inside = entry < entries && (kWholeColumns<Config> || k < kW.k);
    const int group = kTo.group_of(k);
    const bool read = column_inside && (kWholeRows<Config> || packed_row < kW.n);
    // All loads before the first store.
    const u32 scale = read ? values.scale(packed_row, group) : 0;
    u32 zero = 0;
    if constexpr (kZeroWidth != 0) zero = read ? values.zero(packed_row, group) : 0;
    const bool has_block = kWholeRows<Config> || packed_row < kTo.row_blocks * Chunk::kRows;
    if (has_block && entry < entries) {
      // Rows g and g + 8 lie side by side.
      const int slot = entry * Chunk::kRows + (row & 7) * 2 + (row >> 3);
      store_global<kScaleWidth>(scales + slot * kScaleWidth, scale);
    }
    if constexpr (kZeroWidth != 0) {
      const u32 pair = zero | shuffle_down_8(zero) << kTo.bits;
      if (has_block && row < 8 && entry * kTo.zero_bytes < zero_bytes) {
        store_global<kZeroWidth>(zeros + (entry * 8 + row) * kZeroWidth, pair);
      }
    }
  }
};

// Where chunks lie.
template <class Config>
struct Packed {
  // Entries of a chunk and of a row block's channel metadata, an entry that pads included.
  static constexpr PackedLayout kTo = Config::value.packed;
  static constexpr int kPaddedEntries = kTo.entries + (kTo.zero_bytes != 0);
  static constexpr int kPaddedChannelEntries = 1 + (kTo.zero_bytes != 0);

  u8* packed;

  __device__ __forceinline__ u8* chunk(int row_block, int c) const {
    return packed + (static_cast<i64>(row_block) * kTo.chunks + c) * kTo.chunk_bytes;
  }
  __device__ __forceinline__ RowMetadata<Config> of_chunk(int packed_row, int c) const {
    u8* const at = chunk(packed_row >> 4, c);
    return {at + kTo.scale_offset, at + kTo.zero_offset, packed_row, kTo.entries,
            kTo.chunk_bytes - kTo.zero_offset};
  }
  // Scales of whole rows, after all the chunks.
  __device__ __forceinline__ RowMetadata<Config> of_channel(int packed_row) const {
    u8* const at =
        packed + kTo.channel_offset + static_cast<i64>(packed_row >> 4) * kTo.channel_bytes;
    return {at, at + kTo.channel_zero_offset, packed_row, 1,
            kTo.channel_bytes - kTo.channel_zero_offset};
  }
};

}  // namespace heddle

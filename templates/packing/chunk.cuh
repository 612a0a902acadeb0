// Packed chunks, written by whole warps: docs/layouts.md has the bytes.
//
// Config: kN kK kBits kGroup (columns that share a scale; past K: all of a row's), kChunks,
// kRowBlocks, kChunkBytes and the offsets in a chunk; kEntries of scales in a chunk, each of
// kMetaGroup columns; kScaleWidth and kZeroWidth in bytes, of one scale and of a pair of zero
// points (0: there are none).
#pragma once

#include "packing/code_tile.cuh"
#include "primitives/memory.cuh"
#include "primitives/types.cuh"

namespace heddle {

constexpr int kRowBlock = 16;

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
  u32 words[Config::kBits];
#pragma unroll
  for (int i = 0; i < 4 / Encode::kTiles; ++i) Encode::unit(codes, i, words);
  if constexpr (Config::kTrtllm) {
    store_lane_words_trtllm<Config::kBits>(chunk, half, lane, words);
  } else {
    store_lane_words<Config::kBits>(chunk + half * (Config::kScaleOffset / 2), lane, words);
  }
}

// Writes the scales of a row block's `entries` runs of kMetaGroup columns, and its zero points up
// to `end`, with what pads them. Values: scale(row, group) and zero(row, group), bits; neither is
// asked for what lies outside of W. A whole warp calls it.
template <class Config, class Values>
__device__ __forceinline__ void put_metadata(u8* scales, u8* zeros, const u8* end, int entries,
                                             int row, int column, int lane, const Values& values) {
  for (int i = lane; i < entries * kRowBlock; i += 32) {
    // Rows g and g + 8 lie side by side.
    const int r = row + i % kRowBlock / 2 + i % 2 * 8;
    const int k = column + i / kRowBlock * Config::kMetaGroup;
    const bool inside = r < Config::kN && k < Config::kK;
    store_global<Config::kScaleWidth>(scales + i * Config::kScaleWidth,
                                      inside ? values.scale(r, k / Config::kGroup) : 0);
  }
  if constexpr (Config::kZeroWidth != 0) {
    const int slots = static_cast<int>(end - zeros) / Config::kZeroWidth;
    for (int i = lane; i < slots; i += 32) {
      const int r = row + i % 8;
      const int k = column + i / 8 * Config::kMetaGroup;
      u32 pair = 0;
      if (i / 8 < entries && k < Config::kK) {
        if (r < Config::kN) pair = values.zero(r, k / Config::kGroup);
        if (r + 8 < Config::kN) pair |= values.zero(r + 8, k / Config::kGroup) << Config::kBits;
      }
      store_global<Config::kZeroWidth>(zeros + i * Config::kZeroWidth, pair);
    }
  }
}

// Where chunks lie.
template <class Config>
struct Packed {
  u8* packed;

  __device__ __forceinline__ u8* chunk(int row_block, int c) const {
    return packed + (static_cast<i64>(row_block) * Config::kChunks + c) * Config::kChunkBytes;
  }

  template <class Values>
  __device__ __forceinline__ void put_chunk_metadata(int row_block, int c, int lane,
                                                     const Values& values) const {
    u8* const at = chunk(row_block, c);
    put_metadata<Config>(at + Config::kScaleOffset, at + Config::kZeroOffset,
                         at + Config::kChunkBytes, Config::kEntries, row_block * kRowBlock,
                         c * CodeTile::kColumns, lane, values);
  }

  // Scales of a whole row, after all the chunks.
  template <class Values>
  __device__ __forceinline__ void put_channel_metadata(int row_block, int lane,
                                                       const Values& values) const {
    u8* const at =
        packed + Config::kChannelOffset + static_cast<i64>(row_block) * Config::kChannelBytes;
    put_metadata<Config>(at, at + Config::kChannelZeroOffset, at + Config::kChannelBytes, 1,
                         row_block * kRowBlock, 0, lane, values);
  }
};

}  // namespace heddle

// Heddle's packed weights in the order swizzle_128b to W[N, K].
//
// Floors. Bytes: one in and two out for a weight, and a scale for each row, or for each block of
// 128 by 128. Operations: 1 to 2 instructions a weight to decode and half a one to scale.
//
// Budget of a warp's chunk, 16 rows by 128 columns: 2048 bytes in, 4096 out. A lane has eight
// 8-byte loads of codes and as many small ones of scales in flight. Nothing passes through shared
// memory: codes that lie together in a row are neighbours in W, too.
//
// Roles. A warp takes a chunk and works for itself; tile_place.cuh says which. Sixteen lanes read
// the 128 bytes of a row and write its 256.
//
// Order. A lane loads everything, then decodes, scales and stores row by row.
#pragma once

#include "dequantize/config.h"
#include "dequantize/scale.cuh"
#include "dequantize/tile_place.cuh"
#include "packing/swizzled.cuh"
#include "primitives/memory.cuh"

namespace heddle {

template <class Config, class Decode>
struct SwizzledChunk {
  using Scale = typename Config::Scale;
  using Sizes = DequantizeSwizzledConfig;
  static constexpr MatrixTiles kW = Config::value.tiles;
  static constexpr PackedLayout kFrom = Config::value.packed;
  static constexpr int kSteps = Sizes::kSteps;
  static_assert(Decode::kTiles == 1, "a unit of the decode plan is eight columns");

  int row_block, chunk_index;
  int first_row;  // in the row block
  int column;     // in the chunk
  u64 codes[kSteps];
  u32 scales[kSteps];

  static __device__ __forceinline__ SwizzledChunk of_lane(int row_block, int chunk_index) {
    const int lane = threadIdx.x % 32;
    SwizzledChunk chunk;
    chunk.row_block = row_block;
    chunk.chunk_index = chunk_index;
    chunk.first_row = lane / Sizes::kLanesK;
    chunk.column = lane % Sizes::kLanesK * Sizes::kLaneColumns;
    return chunk;
  }

  __device__ __forceinline__ int row(int step) const { return first_row + step * Sizes::kStepRows; }

  __device__ __forceinline__ void load(const u8* weights) {
    const u8* from =
        weights + (static_cast<i64>(row_block) * kFrom.chunks + chunk_index) * kFrom.chunk_bytes;
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      codes[i] =
          *reinterpret_cast<const u64*>(from + swizzled_unit(row(i), column / 16) + column % 16);
      scales[i] = load_scale(weights, row(i));
    }
  }

  __device__ __forceinline__ void store(u8* w) const {
    if (kW.k % Chunk::kColumns != 0 && chunk_index * Chunk::kColumns + column >= kW.k) return;
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      const int packed_row = row_block * Chunk::kRows + row(i);
      if (kW.n % Chunk::kRows != 0 && packed_row >= kW.n) return;
      // Unit 0 reads the first two.
      u32 words[kFrom.bits];
      words[0] = static_cast<u32>(codes[i]);
      words[1] = static_cast<u32>(codes[i] >> 32);
      u32 z[Decode::kGroupRegisters];
      u32 a[Decode::kTiles][4];
      Decode::unit(words, 0, z, a);
      PairScale<Config> scale;
      scale.set(scales[i], scales[i], 1.0f);
      store_global_16(weight_address<Config>(w, kFrom.row_of_w(packed_row, kW.n),
                                             chunk_index * Chunk::kColumns + column),
                      {scale.apply(a[0][0], 1.0f), scale.apply(a[0][1], 1.0f),
                       scale.apply(a[0][2], 1.0f), scale.apply(a[0][3], 1.0f)});
    }
  }

 private:
  // A row's scale as it is stored; rows g and g + 8 of a row block have theirs side by side.
  __device__ __forceinline__ u32 load_scale(const u8* weights, int row) const {
    constexpr int kHalf = Chunk::kRows / 2;
    if constexpr (kFrom.by_blocks()) {
      constexpr int kTileBlocks = PackedLayout::kTileRows / Chunk::kRows;
      return load_global_4(
          weights + block_scale_offset<Config>(row_block / kTileBlocks, chunk_index, row / kHalf));
    } else {
      const u8* of_block =
          weights + kFrom.channel_offset + static_cast<i64>(row_block) * kFrom.channel_bytes;
      const int slot = row % kHalf * 2 + row / kHalf;
      if constexpr (Scale::kBytes == 4) return load_global_4(of_block + 4 * slot);
      return load_global_2(of_block + 2 * slot);
    }
  }
};

template <class Config, class Decode>
__device__ __forceinline__ void dequantize_swizzled(const u8* weights, const u8*, const u8*,
                                                    const int*, u8* w) {
  using Mine = SwizzledChunk<Config, Decode>;
  constexpr int kWarpColumns = Config::value.tiles.columns / Chunk::kColumns;
  const TilePlace<Config> place = TilePlace<Config>::of_block();
  const int warp = threadIdx.x / 32;
  const int row_block = place.row / Chunk::kRows + warp / kWarpColumns;
  const int chunk_index = place.column / Chunk::kColumns + warp % kWarpColumns;
  if (row_block >= Mine::kFrom.row_blocks || chunk_index >= Mine::kFrom.chunks) return;
  Mine chunk = Mine::of_lane(row_block, chunk_index);
  chunk.load(weights);
  chunk.store(w);
}

}  // namespace heddle

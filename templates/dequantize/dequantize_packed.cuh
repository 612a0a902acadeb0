// Heddle's packed weights to W[N, K].
//
// Floors. Bytes: at 4 bits half a byte and its share of scales in, two bytes out for a weight; the
// memory of an H200 leaves time for 18 instructions of a lane. Operations: 1.1 to 1.4 instructions
// a weight to decode and half a one to scale, some 4 in all.
//
// Budget of a warp's chunk, 16 rows by 128 columns: 256 * bits bytes of words and 32 and more of
// scales and zero points in, 4096 bytes out. At 4 bits a lane has two 16-byte loads of words and
// two small ones of metadata in flight, and decodes 64 weights. Registers: 40. Shared memory: 4352
// bytes a warp (32 stores of 4 bytes, 8 loads of 16, no bank conflicts).
//
// Roles. A warp takes a chunk and works for itself; tile_place.cuh says which.
//
// Order. It loads everything, decodes and scales pairs of columns of two rows, and passes them
// through shared memory to 16-byte stores that write 256 consecutive bytes of each of two rows,
// wherever in W these are.
#pragma once

#include "dequantize/config.h"
#include "dequantize/scale.cuh"
#include "dequantize/tile_place.cuh"
#include "primitives/memory.cuh"
#include "primitives/sync.cuh"

namespace heddle {

template <class Config, class Decode>
struct ChunkToRows {
  using Value = typename Config::Value;
  using Scale = typename Config::Scale;
  static constexpr MatrixTiles kW = Config::value.tiles;
  static constexpr PackedLayout kFrom = Config::value.packed;
  static constexpr int kBits = kFrom.bits;
  static constexpr int kHalfK = 64;  // whose words a lane loads together
  static constexpr int kEntries = kFrom.per_channel() ? 1 : kFrom.entries;
  static constexpr int kRowPitch = DequantizePackedConfig::kRowPitch;
  static constexpr bool kFloatZero = Config::value.scaling.zero == ZeroKind::kFloat;
  static constexpr bool kHasZeros = Config::value.scaling.zero == ZeroKind::kInt;

  int g, t;  // lane = 4 * g + t
  u32 words[Chunk::kColumns / kHalfK][kBits];
  // Scales and zero points of rows g and g + 8, as they are stored.
  u32 scales[kEntries][2];
  u32 zeros[kEntries][2];
  float tensor;

  // Everything is loaded before anything is used.
  __device__ __forceinline__ void load(const u8* weights, int row_block, int chunk_index) {
    const u8* chunk =
        weights + (static_cast<i64>(row_block) * kFrom.chunks + chunk_index) * kFrom.chunk_bytes;
#pragma unroll
    for (int half = 0; half < 2; ++half) load_words(chunk, half);
    const u8* scale_at = chunk + kFrom.scale_offset;
    const u8* zero_at = chunk + kFrom.zero_offset;
    if constexpr (kFrom.per_channel()) {
      scale_at = weights + kFrom.channel_offset + static_cast<i64>(row_block) * kFrom.channel_bytes;
      zero_at = scale_at + kFrom.channel_zero_offset;
    }
#pragma unroll
    for (int i = 0; i < kEntries; ++i) {
      load_pair<Scale::kBytes>(scale_at + i * kFrom.scale_bytes, scales[i]);
      if constexpr (kFloatZero) {
        load_pair<Scale::kBytes>(zero_at + i * kFrom.zero_bytes, zeros[i]);
      } else if constexpr (kHasZeros) {
        // Two neighbouring fields, in one byte up to 4 bits, in two above.
        const u8* at = zero_at + i * kFrom.zero_bytes;
        zeros[i][0] = kFrom.zero_bytes == 8 ? at[g] : reinterpret_cast<const u16*>(at)[g];
      }
    }
    tensor = 1.0f;
    if constexpr (Config::value.scaling.tensor_scale) {
      tensor = *reinterpret_cast<const float*>(weights + kFrom.tensor_offset);
    }
  }

  // The 16 rows to shared memory, kRowPitch bytes apart.
  __device__ __forceinline__ void decode(u32 shared) const {
    u32 z[Decode::kGroupRegisters];
    u32 a[Decode::kTiles][4];
    PairScale<Config> near, far;  // of rows g and g + 8
    const u32 at = shared + g * kRowPitch + 4 * t;
#pragma unroll
    for (int tile = 0; tile < Chunk::kColumns / 16; ++tile) {
      const int column = 16 * tile;
      const bool begins = kFrom.begins_entry(column);
      if (begins) begin_group(kFrom.entry(column), z, near, far);
      // Another group has other zero points: what follows is decoded with them.
      if (tile % Decode::kTiles == 0 || begins) {
        Decode::unit(words[column / kHalfK], tile % 4 / Decode::kTiles, z, a);
      }
      const u32(&tile_codes)[4] = a[tile % Decode::kTiles];
      store_shared_4(at + 2 * column, near.apply(tile_codes[0], tensor));
      store_shared_4(at + 2 * column + 8 * kRowPitch, far.apply(tile_codes[1], tensor));
      store_shared_4(at + 2 * column + 16, near.apply(tile_codes[2], tensor));
      store_shared_4(at + 2 * column + 8 * kRowPitch + 16, far.apply(tile_codes[3], tensor));
    }
  }

  // From shared memory to W, 16 bytes at a time. Rows are packed rows, `first_row` that of a row
  // block.
  __device__ __forceinline__ void store(u32 shared, u8* w, int first_row, int first_column) const {
    constexpr int kPieces = Chunk::kColumns / 8;
    const int lane = 4 * g + t;
    const int row = lane / kPieces;
    const int column = lane % kPieces * 8;
    if (kW.k % Chunk::kColumns != 0 && first_column + column >= kW.k) return;
    const u32 from = shared + row * kRowPitch + 2 * column;
    u8* to =
        weight_address<Config>(w, kFrom.row_of_w(first_row + row, kW.n), first_column + column);
#pragma unroll
    for (int i = 0; i < Chunk::kRows; i += 2) {
      if (kW.n % Chunk::kRows != 0 && first_row + row + i >= kW.n) return;
      // i is even and row 0 or 1, so that both are in the same half of the row block.
      store_global_16(to + weights_apart<Config>(kFrom.row_of_w(i, kW.n), 0),
                      load_shared_16(from + i * kRowPitch));
    }
  }

  // Writes packed column j to column order[j].
  __device__ __forceinline__ void scatter(u32 shared, u8* w, int first_row, int first_column,
                                          const int* order) const {
    const int lane = 4 * g + t;
#pragma unroll 1
    for (int column = lane; column < Chunk::kColumns; column += 32) {
      if (kW.k % Chunk::kColumns != 0 && first_column + column >= kW.k) return;
      u16* to = reinterpret_cast<u16*>(w) +
                static_cast<i64>(kFrom.row_of_w(first_row, kW.n)) * kW.k +
                order[first_column + column];
#pragma unroll
      for (int row = 0; row < Chunk::kRows; ++row) {
        if (kW.n % Chunk::kRows != 0 && first_row + row >= kW.n) break;
        to[static_cast<i64>(kFrom.row_of_w(row, kW.n)) * kW.k] =
            static_cast<u16>(load_shared_2(shared + row * kRowPitch + 2 * column));
      }
    }
  }

 private:
  // The lane's kBits words of 64 columns: as 16-byte loads, then one of 8 and one of 4 bytes.
  __device__ __forceinline__ void load_words(const u8* chunk, int half) {
    const int lane = 4 * g + t;
    u32(&to)[kBits] = words[half];
    if constexpr (kFrom.order == ChunkOrder::kRowLines) {
      // Lines of 128 bytes hold 64 columns of 4 or 2 rows; even words are of row g, odd of g + 8.
      constexpr int kRowsOfLine = 16 / kBits;
#pragma unroll
      for (int i = 0; i < kBits; ++i) {
        const int row = g + 8 * (i % 2);
        const int line = row / kRowsOfLine * 2 + half;
        to[i] = *reinterpret_cast<const u32*>(chunk + 128 * line + row % kRowsOfLine * (8 * kBits) +
                                              16 * (i / 2) + 4 * t);
      }
      return;
    }
    const u8* from = chunk + half * kHalfK * (2 * kBits);
    constexpr int kFours = kBits / 4 * 4;
#pragma unroll
    for (int i = 0; i < kFours; i += 4) {
      const u32x4 v = load_global_16(from + 128 * i + 16 * lane);
      to[i] = v.x;
      to[i + 1] = v.y;
      to[i + 2] = v.z;
      to[i + 3] = v.w;
    }
    if constexpr ((kBits & 2) != 0) {
      const u64 v = *reinterpret_cast<const u64*>(from + 128 * kFours + 8 * lane);
      to[kFours] = static_cast<u32>(v);
      to[kFours + 1] = static_cast<u32>(v >> 32);
    }
    if constexpr ((kBits & 1) != 0) {
      to[kBits - 1] = *reinterpret_cast<const u32*>(from + 128 * (kBits - 1) + 4 * lane);
    }
  }

  // Values of rows g and g + 8, which lie side by side.
  template <int kBytes>
  __device__ __forceinline__ void load_pair(const u8* at, u32 (&pair)[2]) const {
    if constexpr (kBytes == 4) {
      const u64 v = reinterpret_cast<const u64*>(at)[g];
      pair[0] = static_cast<u32>(v);
      pair[1] = static_cast<u32>(v >> 32);
    } else if constexpr (kBytes == 2) {
      const u32 v = reinterpret_cast<const u32*>(at)[g];
      pair[0] = v & 0xffff;
      pair[1] = v >> 16;
    } else {
      const u32 v = reinterpret_cast<const u16*>(at)[g];
      pair[0] = v & 0xff;
      pair[1] = v >> 8;
    }
  }

  __device__ __forceinline__ void begin_group(int entry, u32 (&z)[Decode::kGroupRegisters],
                                              PairScale<Config>& near,
                                              PairScale<Config>& far) const {
    near.set(scales[entry][0], scales[entry][0], tensor);
    far.set(scales[entry][1], scales[entry][1], tensor);
    if constexpr (kFloatZero) {
      near.set_zeros(zeros[entry][0], zeros[entry][0]);
      far.set_zeros(zeros[entry][1], zeros[entry][1]);
    } else if constexpr (kHasZeros) {
      Decode::group(zeros[entry][0] * 0x00010001u, z);
    }
  }
};

template <class Config, class Decode>
__device__ __forceinline__ void dequantize_packed(const u8* weights, const u8*, const u8*,
                                                  const int* order, u8* w) {
  using Rows = ChunkToRows<Config, Decode>;
  constexpr int kWarpColumns = Config::value.tiles.columns / Chunk::kColumns;
  extern __shared__ __align__(128) u8 shared_memory[];

  const TilePlace<Config> place = TilePlace<Config>::of_block();
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int row_block = place.row / Chunk::kRows + warp / kWarpColumns;
  const int chunk_index = place.column / Chunk::kColumns + warp % kWarpColumns;
  if (row_block >= Rows::kFrom.row_blocks || chunk_index >= Rows::kFrom.chunks) return;

  const u32 shared = shared_address(shared_memory) + warp * DequantizePackedConfig::kWarpBytes;
  Rows chunk;
  chunk.g = lane / 4;
  chunk.t = lane % 4;
  chunk.load(weights, row_block, chunk_index);
  chunk.decode(shared);
  warp_barrier();
  const int row = row_block * Chunk::kRows;
  const int column = chunk_index * Chunk::kColumns;
  if constexpr (Config::value.permuted) {
    chunk.scatter(shared, w, row, column, order);
  } else {
    chunk.store(shared, w, row, column);
  }
}

}  // namespace heddle

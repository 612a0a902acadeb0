// Quantize: W[N, K] in 16 bits to packed weights in the order swizzle_128b with a scale for each
// block of 128 by 128, each code the nearest.
//
// Floors. As in quantize_weight.cuh, but that W is read once: a block fits the registers of its
// threads.
//
// Budget of a thread block: a block of W, 32 KB, as 32 registers of each thread. Shared memory: 16
// bytes, the magnitudes of the largest values.
//
// Roles. Grid: (blocks along N, chunks). Eight threads take a row, a unit of 16 columns each; a
// thread has the same columns of four rows.
//
// Order. The block reads W and looks for its largest values; every thread finds the scale from
// them, rounds its codes and stores them as units of a chunk; four threads store the scale, once
// for each 64 packed rows that have rows of the block.
#pragma once

#include "packing/chunk.cuh"
#include "packing/swizzled.cuh"
#include "primitives/sync.cuh"
#include "quantize_weight/config.h"
#include "quantize_weight/span.cuh"
#include "quantize_weight/unit_codes.cuh"

namespace heddle {

// The scale of block `block` of W's rows and chunk `c`, as it is stored. Thread `thread` of four.
template <class Config>
__device__ __forceinline__ void store_block_scale(u32 scale, int block, int c, int thread,
                                                  u8* packed) {
  constexpr PackedLayout kTo = Config::value.packed;
  constexpr int kTileBlocks = PackedLayout::kTileRows / Chunk::kRows;
  constexpr int kTiles = static_cast<int>(device::ceil_div(kTo.row_blocks, kTileBlocks));
  constexpr int kN = Config::value.tiles.n;
  constexpr int kHalfBlocks = kTo.gated ? kN / (2 * PackedLayout::kBlockRows) : 1;
  // A block has half of the rows of four tiles of gated weights, or two whole tiles of others.
  const int tile = kTo.gated ? block % kHalfBlocks * 4 + thread : block * 2 + thread / 2;
  const int half = kTo.gated ? block / kHalfBlocks : thread % 2;
  const bool has_rows =
      kTo.gated || tile * PackedLayout::kTileRows + half * (Chunk::kRows / 2) < kN;
  if (tile < kTiles) {
    store_global_4(packed + block_scale_offset<Config>(tile, c, half), has_rows ? scale : 0);
  }
  // What pads all scales to 16 bytes.
  if constexpr (kTiles * kTo.chunks % 2 != 0) {
    if (tile == kTiles - 1 && c == kTo.chunks - 1 && half == 0) {
      store_global_8(packed + block_scale_offset<Config>(kTiles - 1, kTo.chunks, 0), 0, 0);
    }
  }
}

template <class Config>
__device__ __forceinline__ void quantize_blocks(const u8* w, u8* packed) {
  constexpr MatrixTiles kW = Config::value.tiles;
  constexpr PackedLayout kTo = Config::value.packed;
  constexpr int kStepRows = Config::value.threads() / 8;
  constexpr int kSteps = PackedLayout::kBlockRows / kStepRows;
  extern __shared__ __align__(128) u8 shared_memory[];
  const u32 range_entry = shared_address(shared_memory);
  const int thread = static_cast<int>(threadIdx.x);
  const int unit = thread % 8;
  const int c = static_cast<int>(blockIdx.y);
  const int column = c * Chunk::kColumns + 16 * unit;
  const bool column_inside = kWholeColumns<Config> || column < kW.k;
  const int first_row = static_cast<int>(blockIdx.x) * PackedLayout::kBlockRows + thread / 8;

  if (thread == 0) store_shared_16(range_entry, {0, 0, 0, 0});
  block_barrier();
  RunningRange range;
  u32 pairs[kSteps][8];
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const int row = first_row + i * kStepRows;
#pragma unroll
    for (int j = 0; j < 8; ++j) pairs[i][j] = 0;
    if (column_inside && (kWholeRows<Config> || row < kW.n)) {
      Segment<Config>{row, unit, w + static_cast<i64>(row) * kW.k * 2}.load(column, pairs[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < kSteps; ++i) range.add(pairs[i]);
  range.add_lanes();
  if (thread % 32 == 0) range.flush(range_entry);
  block_barrier();

  const u32x4 largest = load_shared_16(range_entry);
  const RoundedScale scale = Rounding<Config>::group_code(largest.x, largest.y).scale;
  const Packed<Config> to{packed};
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const int row = first_row + i * kStepRows;
    const int packed_row = kTo.packed_row(row, kW.n);
    // Rows that pad W are zeros, which zero rounds to.
    if (!kWholeRows<Config> && packed_row >= kTo.row_blocks * Chunk::kRows) break;
    const int row_of_block = packed_row % Chunk::kRows;
    store_global_16(to.chunk(packed_row / Chunk::kRows, c) + swizzled_unit(row_of_block, unit),
                    unit_codes<Config>(pairs[i], scale.value));
  }
  if (thread < 4) store_block_scale<Config>(scale.bits, blockIdx.x, c, thread, packed);
}

}  // namespace heddle

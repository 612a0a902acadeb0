// Quantize: W[N, K] in 16 bits to packed weights in the order swizzle_128b with a scale for each
// row, each code the nearest.
//
// Floors. As in quantize_weight.cuh: W read once from memory, packed weights written once; a
// division in IEEE rounding for each code, which is the limit.
//
// Budget of a thread block: a row block of 16 rows by all of K. Shared memory: 16 bytes for each
// row: first the magnitudes of its largest values, then its scale, then the sums of its codes.
// Codes need none: the 16 columns of a row that a thread rounds are a unit of a chunk.
//
// Roles. Grid: a row block each. 128 threads take a chunk, each a unit of a row; step_chunks()
// chunks go at a time.
//
// Order. The block finds the scales of its rows as quantize_weight.cuh does; then, step by step,
// the rows are read again, rounded and stored. Of int8 codes each thread adds its own, eight
// neighbouring lanes theirs, and 16 threads those of the chunks that went at a time.
#pragma once

#include "packing/chunk.cuh"
#include "packing/swizzled.cuh"
#include "primitives/sync.cuh"
#include "quantize_weight/config.h"
#include "quantize_weight/span.cuh"
#include "quantize_weight/unit_codes.cuh"

namespace heddle {

// The sums of the rows' codes, behind their scales. `sum`: of the units that the thread has
// rounded. All threads of the block call it.
template <class Config>
__device__ __forceinline__ void store_row_sums(int sum, int row, int step,
                                               const SpanMemory<Config>& memory, u8* of_block) {
  constexpr int kSteps = Config::value.step_chunks();
  static_assert(4 * kSteps <= QuantizeWeightConfig::kEntryBytes, "an entry holds a row's parts");
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int mask = 1; mask < 8; mask *= 2) {
    sum += static_cast<int>(shuffle(static_cast<u32>(sum), lane ^ mask));
  }
  if (lane % 8 == 0) store_shared_4(memory.entry(row, 0) + 4 * step, static_cast<u32>(sum));
  block_barrier();
  if (threadIdx.x >= Chunk::kRows) return;
  const int own = static_cast<int>(threadIdx.x);
  u32 total = 0;
#pragma unroll
  for (int i = 0; i < kSteps; ++i) total += load_shared_4(memory.entry(own, 0) + 4 * i);
  const int slot = (own & 7) * 2 + (own >> 3);
  store_global_4(of_block + Config::value.packed.channel_sum_offset + 4 * slot, total);
}

template <class Config>
__device__ __forceinline__ void quantize_rows(const u8* w, u8* packed) {
  extern __shared__ __align__(128) u8 shared_memory[];
  const SpanMemory<Config> memory{shared_address(shared_memory)};
  const int thread = static_cast<int>(threadIdx.x);
  const int row_block = static_cast<int>(blockIdx.x);
  const int step = thread / QuantizeWeightConfig::kChunkThreads;
  const int row = thread / 8 % Chunk::kRows;
  const int unit = thread % 8;
  const int packed_row = row_block * Chunk::kRows + row;
  const bool row_inside = kWholeRows<Config> || packed_row < Config::value.tiles.n;
  const Segment<Config> mine{
      row, unit, w + static_cast<i64>(weight_row<Config>(packed_row)) * Config::value.tiles.k * 2};
  find_groups(mine, row_inside, 0, step, memory);

  const Packed<Config> to{packed};
  const RowMetadata<Config> channel = to.of_channel(row_block * Chunk::kRows + thread % 16);
  if (thread < 32) {
    const SpanValues<Config> values{memory, row_block * Chunk::kRows, 0};
    channel.put(thread / 16, 0, values);
  }
  const float scale = float_from_bits(load_shared_16(memory.entry(row, 0)).y);
  int sum = 0;
#pragma unroll 1
  for (int c = step; c < Config::value.packed.chunks; c += Config::value.step_chunks()) {
    const int column = c * Chunk::kColumns + 16 * unit;
    u32x4 codes{0, 0, 0, 0};
    if (row_inside && (kWholeColumns<Config> || column < Config::value.tiles.k)) {
      u32 pairs[8];
      mine.load(column, pairs);
      codes = unit_codes<Config>(pairs, scale);
    }
    store_global_16(to.chunk(row_block, c) + swizzled_unit(row, unit), codes);
    if constexpr (Config::value.packed.channel_sum_offset != 0) sum += sum_of_codes(codes);
  }
  if constexpr (Config::value.packed.channel_sum_offset != 0) {
    // Every thread has read its row's scale.
    block_barrier();
    store_row_sums(sum, row, step, memory, channel.scales);
  }
}

}  // namespace heddle

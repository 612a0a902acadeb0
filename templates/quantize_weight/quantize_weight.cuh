// Quantize: W[N, K] in 16 bits to packed weights, each code the nearest.
//
// Floors. Bytes: W read once from memory (the second time from the caches), packed weights written
// once. Operations: a division in IEEE rounding for each code, which is the limit.
//
// Budget of a thread block: a row block of 16 rows by a span of chunks of 128 columns that holds
// whole groups. Shared memory: a byte for each code of step_chunks() chunks, 2 KB each, and 16
// bytes for each group of a row: first the magnitudes of its largest values, then what follows from
// them. Registers: 34.
//
// Roles. Grid: (row blocks, spans). 128 threads take a chunk, each a segment of 16 columns of a
// row, which lies in one group; step_chunks() chunks go at a time. Of a chunk's four warps two pack
// its codes and two write its scales and zero points.
//
// Order. The entries of groups are cleared; the block looks for the largest values of its groups; a
// thread for each entry finds scale and zero point; then, step by step, the span is read again,
// rounded into shared memory, packed and stored.
#pragma once

#include "packing/chunk.cuh"
#include "primitives/sync.cuh"
#include "quantize_weight/config.h"
#include "quantize_weight/rounding.cuh"
#include "quantize_weight/span.cuh"

namespace heddle {

// The codes of a segment, into the shared tile: register t of its k tile has columns 2t, 2t + 8,
// 2t + 1 and 2t + 9.
template <class Config>
__device__ __forceinline__ void round_segment(const Segment<Config>& mine, bool inside, int column,
                                              int tile_row, const CodeTile& tile, u32 entry) {
  using Value = typename Config::Value;
  u32 codes[4];
#pragma unroll
  for (int t = 0; t < 4; ++t) codes[t] = Config::value.packed.padding_code * 0x01010101u;
  if (inside) {
    const u32x4 group = load_shared_16(entry);
    const float scale = float_from_bits(group.y);
    const float zero = static_cast<float>(static_cast<int>(group.z));
    u32 pairs[8];
    mine.load(column, pairs);
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      codes[t] = Rounding<Config>::code(Value::low_to_float(pairs[t]), scale, zero) |
                 Rounding<Config>::code(Value::low_to_float(pairs[t + 4]), scale, zero) << 8 |
                 Rounding<Config>::code(Value::high_to_float(pairs[t]), scale, zero) << 16 |
                 Rounding<Config>::code(Value::high_to_float(pairs[t + 4]), scale, zero) << 24;
    }
  }
#pragma unroll
  for (int t = 0; t < 4; ++t) {
    store_shared_4(tile.unit(tile_row, mine.segment / 4 * 4 + t) + mine.segment % 4 * 4, codes[t]);
  }
}

template <class Config, class Encode>
__device__ __forceinline__ void quantize_weight(const u8* w, u8* packed) {
  extern __shared__ __align__(128) u8 shared_memory[];
  const SpanMemory<Config> memory{shared_address(shared_memory)};
  const CodeTile tile{memory.shared};
  const int thread = static_cast<int>(threadIdx.x);
  const int row_block = static_cast<int>(blockIdx.x);
  const int first_chunk = static_cast<int>(blockIdx.y) * Config::value.span_chunks();
  const int first_group = first_chunk * Chunk::kColumns / Config::value.packed.group;
  const int step = thread / QuantizeWeightConfig::kChunkThreads;
  const int row = thread / 8 % Chunk::kRows;
  const int packed_row = row_block * Chunk::kRows + row;
  const bool row_inside = kWholeRows<Config> || packed_row < Config::value.tiles.n;
  const Segment<Config> mine{
      row, thread % 8,
      w + static_cast<i64>(weight_row<Config>(packed_row)) * Config::value.tiles.k * 2};

  find_groups(mine, row_inside, first_chunk, step, memory);

  const Packed<Config> to{packed};
  const SpanValues<Config> values{memory, row_block * Chunk::kRows, first_group};
  const int lane = thread % 32;
  const int role = thread / 32 % 4;  // of a chunk's four warps
  if constexpr (Config::value.packed.per_channel()) {
    // An entry, and one that pads.
    if (thread < 32) {
      to.of_channel(row_block * Chunk::kRows + lane % Chunk::kRows)
          .put(lane / Chunk::kRows, 0, values);
    }
  }
#pragma unroll 1
  for (int base = 0; base < Config::value.span_chunks(); base += Config::value.step_chunks()) {
    const int c = first_chunk + base + step;
    const bool chunk_inside =
        base + step < Config::value.span_chunks() && c < Config::value.packed.chunks;
    if (chunk_inside) {
      const int column = c * Chunk::kColumns + 16 * mine.segment;
      const bool inside = row_inside && (kWholeColumns<Config> || column < Config::value.tiles.k);
      round_segment(mine, inside, column, step * Chunk::kRows + row, tile,
                    memory.entry(row, column / Config::value.packed.group - first_group));
    }
    block_barrier();
    if (chunk_inside) {
      if (role < 2) {
        pack_half_chunk<Config, Encode>(tile, step * Chunk::kRows, role, lane,
                                        to.chunk(row_block, c));
      } else if (!Config::value.packed.per_channel()) {
        // Two warps, four entries at a time.
        const auto metadata = to.of_chunk(row_block * Chunk::kRows + lane % Chunk::kRows, c);
        for (int entry = 0; entry < Packed<Config>::kPaddedEntries; entry += 4) {
          metadata.put(entry + thread / Chunk::kRows % 4, c * Chunk::kColumns, values);
        }
      }
    }
    block_barrier();
  }
}

}  // namespace heddle

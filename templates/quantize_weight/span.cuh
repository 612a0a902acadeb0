// The groups of a row block's span of chunks: their largest values, and the scales and zero points
// that follow from them.
#pragma once

#include "packing/chunk.cuh"
#include "primitives/sync.cuh"
#include "quantize_weight/config.h"
#include "quantize_weight/rounding.cuh"

namespace heddle {

// Shared memory: the codes of a step's chunks, then an entry for each group and row: first the
// magnitudes of its largest positive and negative value, then what follows from them.
template <class Config>
struct SpanMemory {
  u32 shared;

  __device__ __forceinline__ u32 entry(int row, int group) const {
    return shared + Config::value.code_bytes() +
           (group * Chunk::kRows + row) * QuantizeWeightConfig::kEntryBytes;
  }
};

// The scales and zero points that a block has found. Rows count from the first packed row, groups
// from the first of W.
template <class Config>
struct SpanValues {
  SpanMemory<Config> memory;
  int first_row;
  int first_group;

  __device__ __forceinline__ u32x4 at(int row, int group) const {
    return load_shared_16(memory.entry(row - first_row, group - first_group));
  }
  __device__ __forceinline__ u32 scale(int row, int group) const { return at(row, group).x; }
  __device__ __forceinline__ u32 zero(int row, int group) const {
    return at(row, group).z & ((1u << Config::value.packed.bits) - 1);
  }
};

// One thread's row and its segment in every chunk.
template <class Config>
struct Segment {
  int row;      // in the row block
  int segment;  // in the chunk
  const u8* w;  // of the row

  // The eight registers of a segment; each holds two columns.
  __device__ __forceinline__ void load(int column, u32 (&pairs)[8]) const {
    const u32x4 near = load_global_16(w + static_cast<i64>(column) * 2);
    const u32x4 far = load_global_16(w + static_cast<i64>(column) * 2 + 16);
    pairs[0] = near.x, pairs[1] = near.y, pairs[2] = near.z, pairs[3] = near.w;
    pairs[4] = far.x, pairs[5] = far.y, pairs[6] = far.z, pairs[7] = far.w;
  }
};

// The largest values of a run of segments. Bits of 16-bit floats order like their magnitudes: as
// signed numbers in the high half, the positive ones are on top, as unsigned ones the negative.
struct RunningRange {
  int positive = 0;
  u32 negative = 0x80000000u;

  __device__ __forceinline__ void add_high_half(u32 bits) {
    const int as_signed = static_cast<int>(bits);
    positive = as_signed > positive ? as_signed : positive;
    negative = bits > negative ? bits : negative;
  }
  __device__ __forceinline__ void add(const u32 (&pairs)[8]) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      add_high_half(pairs[i] << 16);
      add_high_half(pairs[i] & 0xffff0000u);
    }
  }
  // Adds the ranges of all lanes of the warp, in each of them.
  __device__ __forceinline__ void add_lanes() {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int mask = 1; mask < 32; mask *= 2) {
      const int other_positive = static_cast<int>(shuffle(static_cast<u32>(positive), lane ^ mask));
      const u32 other_negative = shuffle(negative, lane ^ mask);
      positive = other_positive > positive ? other_positive : positive;
      negative = other_negative > negative ? other_negative : negative;
    }
  }
  // Adds the ranges to an entry of shared memory, then starts anew.
  __device__ __forceinline__ void flush(u32 entry) {
    shared_max(entry, static_cast<u32>(positive) >> 16);
    shared_max(entry + 4, (negative & 0x7fffffffu) >> 16);
    *this = RunningRange();
  }
};

template <class Config>
__device__ __forceinline__ void find_ranges(const Segment<Config>& mine, bool row_inside,
                                            int first_chunk, int step,
                                            const SpanMemory<Config>& memory) {
  RunningRange range;
  int group = -1;
  if (row_inside) {
#pragma unroll 2
    for (int c = step; c < Config::value.span_chunks(); c += Config::value.step_chunks()) {
      const int in_span = c * Chunk::kColumns + 16 * mine.segment;
      const int column = first_chunk * Chunk::kColumns + in_span;
      if (column >= Config::value.tiles.k) break;
      if (group >= 0 && group != in_span / Config::value.packed.group)
        range.flush(memory.entry(mine.row, group));
      group = in_span / Config::value.packed.group;
      u32 pairs[8];
      mine.load(column, pairs);
      range.add(pairs);
    }
  }
  if (group >= 0) range.flush(memory.entry(mine.row, group));
}

// What follows from the largest values of a block's groups, into their entries: a scale as it is
// stored and as FP32, and a zero point. All threads of the block call it.
template <class Config>
__device__ __forceinline__ void find_groups(const Segment<Config>& mine, bool row_inside,
                                            int first_chunk, int step,
                                            const SpanMemory<Config>& memory) {
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll 1
  for (int i = thread; i < Config::value.entries(); i += Config::value.threads()) {
    store_shared_16(memory.entry(i, 0), {0, 0, 0, 0});
  }
  block_barrier();
  find_ranges(mine, row_inside, first_chunk, step, memory);
  block_barrier();
#pragma unroll 1
  for (int i = thread; i < Config::value.entries(); i += Config::value.threads()) {
    const u32x4 range = load_shared_16(memory.entry(i, 0));
    const auto code = Rounding<Config>::group_code(range.x, range.y);
    store_shared_16(memory.entry(i, 0), {code.scale.bits, bits_of_float(code.scale.value),
                                         static_cast<u32>(code.zero), 0});
  }
  block_barrier();
}

}  // namespace heddle

// One warp that multiplies: its columns of K of its group's units, one after the other.
#pragma once

#include "few_experts/middle.cuh"
#include "few_experts/ring.cuh"
#include "stream/multiply.cuh"
#include "stream/sums.cuh"

namespace heddle {

// By all threads of the block, ahead of a barrier of it: in kRows rows of tokens the columns behind
// the kRowBytes that are copied. They meet weights that are zero, but must be numbers.
template <class Product, int kRows, int kRowBytes>
__device__ __forceinline__ void clear_columns(const typename Product::Memory& memory) {
  constexpr int kVectors = (2 * Chunk::kColumns * Product::kStream.shape.chunks - kRowBytes) / 16;
  if constexpr (kVectors > 0) {
    for (int i = static_cast<int>(threadIdx.x); i < kRows * kVectors; i += Product::kThreads) {
      store_shared_16(memory.token_row(i / kVectors) + kRowBytes + 16 * (i % kVectors),
                      {0, 0, 0, 0});
    }
  }
}

// Fragments of tokens that lie in shared memory as rows.
template <class Product>
struct FewTokens {
  using Fragments = typename StreamTokens<typename Product::Gemm>::Fragments;

  u32 row[Product::S::kTokenTiles];  // of the lane, from its 16 bytes on
  u32 buffer = 0;                    // bytes to the rows at hand

  __device__ __forceinline__ FewTokens(typename Product::Memory memory, int lane) {
#pragma unroll
    for (int tile = 0; tile < Product::S::kTokenTiles; ++tile) {
      // Rows beyond the last token only make outputs that no one writes.
      const int token = 8 * tile + (lane & 7);
      row[tile] = memory.token_row(token < Product::kTokens ? token : 0) + 16 * (lane >> 3);
    }
  }
  __device__ __forceinline__ void load(int chunk, int half, Fragments& b) const {
#pragma unroll
    for (int tile = 0; tile < Product::S::kTokenTiles; ++tile) {
      const u32 from = row[tile] + buffer + (2 * chunk + half) * Product::S::kHalfTokenBytes;
      ldmatrix_x4(b[tile][0], from);
      ldmatrix_x4(b[tile][1], from + 64);
    }
  }
};

template <class Product>
struct FewWarp {
  using S = typename Product::S;
  using Gemm = typename Product::Gemm;
  using Multiplier = StreamMultiplier<Gemm, typename Product::Decode>;
  using Fragments = typename StreamTokens<Gemm>::Fragments;
  using Memory = typename Product::Memory;
  using Units = typename Product::Units;
  static constexpr StreamConfig kStream = Product::kStream;
  static constexpr int kRows = Product::kRows;
  // Chunks of a stage that are unrolled: fewer than in a GEMM, whose tokens are not in registers.
  static constexpr int kUnroll = Multiplier::kUnroll < 2 ? Multiplier::kUnroll : 2;

  Memory memory;
  int warp;
  int lane;
  FewRing<Product> ring;

  __device__ __forceinline__ FewWarp(Memory memory, const u8* weights, int warp, int lane)
      : memory(memory),
        warp(warp),
        lane(lane),
        ring{memory, weights, warp,
             part_of(block_chunks(), warp % Product::kParts, Product::kParts), units()} {}

  __device__ __forceinline__ void run(const MoeParameters& layer) {
    const auto nothing = [](const Units&) {};
    const auto put_sums = [this](const Units&, int turn, int count,
                                 const Multiplier(&rows)[kRows]) { put(turn, count, rows); };
    if constexpr (Product::kIsDown) {
      FewMiddleReader<Product> middle(memory, layer, ring.chunks, units(), ring.experts, lane);
      middle.start();
      Fragments b[2];  // of both halves of a chunk
      multiply(
          nothing,
          [&](int, int half, int row, Fragments& of_half) {
            if (half == 0 && row == 0) middle.take(b);
            copy(b[half], of_half);
          },
          put_sums);
    } else {
      mbarrier_wait(memory.token_barrier(), 0);
      const FewTokens<Product> tokens(memory, lane);
      multiply(
          nothing, [&](int chunk, int half, int, Fragments& b) { tokens.load(chunk, half, b); },
          put_sums);
    }
  }

  // Multiplies all units of the warp's group. `begin(unit)` is called ahead of each;
  // `load(chunk, half, row, b)` gives the fragments of the tokens of half a chunk, for each of the
  // row blocks that are multiplied at once: chunks come in order, and of a chunk row blocks.
  // `end(unit, turn, count, rows)` sees to the sums of the group's turn-th unit.
  template <class Begin, class Load, class End>
  __device__ __forceinline__ void multiply(const Begin& begin, const Load& load, const End& end) {
    Multiplier rows[kRows];
    int turn = 0;
#pragma unroll 1
    for (Units own = units(); own.expert < ring.experts; own.next()) {
      begin(own);
      const int count = own.rows();
      begin_unit(own, count, rows);
      const int chunks = ring.chunks.end - ring.chunks.begin;
#pragma unroll 1
      for (int first = 0; first < chunks; first += kStream.stage_chunks) {
        multiply_stage(first, chunks, count, load, rows);
      }
      end(own, turn++, count, rows);
    }
  }

  // The sums of the group's turn-th unit go to one of its two slots.
  __device__ __forceinline__ void put(int turn, int count, const Multiplier (&rows)[kRows]) const {
    const int slot = warp / Product::kParts + turn % 2 * Product::kGroups;
    // A fresh barrier counts as one whose phase of parity 1 has ended.
    mbarrier_wait(memory.free_barrier(slot), (turn / 2 & 1) ^ 1);
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      if (row >= count) break;
      put_fragments<Gemm>(memory.sums(slot, row) + warp % Product::kParts * S::kSumBytes, lane,
                          rows[row].sum);
    }
    mbarrier_arrive(memory.full_barrier(slot));
  }

 private:
  __device__ __forceinline__ Units units() const {
    return Units(memory, warp / Product::kParts, Product::kGroups);
  }
  // The block's part of K.
  static __device__ __forceinline__ Range block_chunks() {
    const int rank = Product::kSplitK > 1 ? static_cast<int>(cluster_rank()) : 0;
    return part_of({0, kStream.shape.chunks}, rank, Product::kSplitK);
  }

  __device__ __forceinline__ void begin_unit(const Units& units, int count,
                                             Multiplier (&rows)[kRows]) const {
    const i64 expert = load_shared_4(memory.expert(units.expert));
    const u8* const zeros = ring.weights + expert * Product::kExpertBytes +
                            kStream.shape.channel_offset + kStream.weights.channel_zero_offset;
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      if (row >= count) break;
      Multiplier::clear(rows[row].sum);
      const i64 row_block = units.row_block() + row * Product::kRowStride;
      rows[row].decoder.load_channel_zeros(0, rows[row],
                                           zeros + row_block * kStream.weights.channel_bytes);
    }
  }

  template <class Load>
  __device__ __forceinline__ void multiply_stage(int first, int chunks, int count, const Load& load,
                                                 Multiplier (&rows)[kRows]) {
    const u32 stage = ring.take();
    if constexpr (!Multiplier::kPartial) {
#pragma unroll
      for (Multiplier& row : rows) row.clear_parts();
    }
#pragma unroll kUnroll
    for (int c = 0; c < kStream.stage_chunks; ++c) {
      if (!S::kEven && c > 0 && first + c >= chunks) break;
      if (S::kWidens && c > 0 && c % S::kWideChunks == 0) warp_barrier();  // those before are read
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        if (row >= count) break;
        const u32 chunk = stage + row * S::kStageBytes + c * kStream.weights.chunk_bytes;
        const u32 wide = memory.wide_scales(warp, row);
        if constexpr (S::kWidens) {
          if (c % S::kWideChunks == 0) rows[row].wide_scales.widen(chunk, wide, lane);
        }
        rows[row].multiply_chunk(
            chunk, wide + c % S::kWideChunks * S::kWideChunkBytes,
            [&](int half, Fragments& b) { load(ring.chunks.begin + first + c, half, row, b); });
      }
    }
    if constexpr (!Multiplier::kPartial) {
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        if (row < count) rows[row].add_parts({1.0f, 1.0f});
      }
    }
    ring.give_back();
  }

  static __device__ __forceinline__ void copy(const Fragments& from, Fragments& to) {
#pragma unroll
    for (int tile = 0; tile < S::kTokenTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 8; ++i) to[tile][i / 4][i % 4] = from[tile][i / 4][i % 4];
  }
};

}  // namespace heddle

// One warp that multiplies: its columns of K of its group's units, one after the other.
#pragma once

#include "few_experts/middle.cuh"
#include "few_experts/ring.cuh"
#include "stream/multiply.cuh"
#include "stream/sums.cuh"

namespace heddle {

// Fragments of the first product's tokens, from shared memory, where all of them lie.
template <class Product>
struct FewTokens {
  using Fragments = typename StreamTokens<typename Product::Gemm>::Fragments;

  FewMemory<Product> memory;
  u32 row[Product::S::kTokenTiles];  // of the lane, from its 16 bytes on

  __device__ __forceinline__ FewTokens(FewMemory<Product> memory, int lane) : memory(memory) {
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
      const u32 from = row[tile] + (2 * chunk + half) * Product::S::kHalfTokenBytes;
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
  static constexpr StreamConfig kStream = Product::kStream;
  static constexpr int kRows = Product::kRows;
  // Chunks of a stage that are unrolled: fewer than in a GEMM, whose tokens are not in registers.
  static constexpr int kUnroll = Multiplier::kUnroll < 2 ? Multiplier::kUnroll : 2;

  FewMemory<Product> memory;
  int warp;
  int lane;
  FewRing<Product> ring;

  __device__ __forceinline__ FewWarp(FewMemory<Product> memory, const u8* weights, int warp,
                                     int lane)
      : memory(memory),
        warp(warp),
        lane(lane),
        ring{memory, weights, warp,
             part_of(block_chunks(), warp % Product::kParts, Product::kParts),
             FewUnits<Product>(warp / Product::kParts, Product::kGroups)} {}

  __device__ __forceinline__ void run(const MoeParameters& layer) {
    const FewUnits<Product> units(warp / Product::kParts, Product::kGroups);
    if constexpr (Product::kIsDown) {
      FewMiddleReader<Product> middle(memory, layer, ring.chunks, units, ring.experts, lane);
      middle.start();
      multiply(units, [&](int, Fragments(&b)[2]) { middle.take(b); });
    } else {
      mbarrier_wait(memory.token_barrier(), 0);
      const FewTokens<Product> tokens(memory, lane);
      multiply(units, [&](int chunk, Fragments(&b)[2]) {
        tokens.load(chunk, 0, b[0]);
        tokens.load(chunk, 1, b[1]);
      });
    }
  }

 private:
  // The block's part of K.
  static __device__ __forceinline__ Range block_chunks() {
    const int rank = Product::kSplitK > 1 ? static_cast<int>(cluster_rank()) : 0;
    return part_of({0, kStream.shape.chunks}, rank, Product::kSplitK);
  }

  // `load(chunk, b)`: the fragments of a chunk's tokens, of both its halves; chunks come in order.
  template <class Load>
  __device__ __forceinline__ void multiply(FewUnits<Product> units, const Load& load) {
    Multiplier rows[kRows];
    int turn = 0;
#pragma unroll 1
    for (; units.expert < ring.experts; units.next()) {
      const int count = units.rows();
      begin_unit(units, count, rows);
      const int chunks = ring.chunks.end - ring.chunks.begin;
#pragma unroll 1
      for (int first = 0; first < chunks; first += kStream.stage_chunks) {
        multiply_stage(first, chunks, count, load, rows);
      }
      put(turn++, count, rows);
    }
  }

  __device__ __forceinline__ void begin_unit(const FewUnits<Product>& units, int count,
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
      Fragments b[2];  // of both halves
      load(ring.chunks.begin + first + c, b);
      if (S::kWidens && c > 0 && c % S::kWideChunks == 0) warp_barrier();  // those before are read
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        if (row >= count) break;
        const u32 chunk = stage + row * S::kStageBytes + c * kStream.weights.chunk_bytes;
        const u32 wide = memory.wide_scales(warp, row);
        if constexpr (S::kWidens) {
          if (c % S::kWideChunks == 0) rows[row].wide_scales.widen(chunk, wide, lane);
        }
        rows[row].multiply_chunk(chunk, wide + c % S::kWideChunks * S::kWideChunkBytes,
                                 [&](int half, Fragments& of_half) { copy(b[half], of_half); });
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
};

}  // namespace heddle

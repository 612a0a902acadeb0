// What the first product gives the second one: of each assignment a row of the workspace, 16 bits
// each, columns up to the end of the last chunk, beyond the middle's end zeros.
//
// Of each 32 columns a row holds for t = 0 .. 3 the columns 2t, 2t + 1, 8 + 2t, 8 + 2t + 1 and so
// on: the 16 bytes that lanes 4g + t have of the B fragments of two matrix instructions, whose
// column g the row is. So a lane reads its fragments from the L2 cache into registers, without a
// place in shared memory, which for eight tokens of an expert would have to be twice that of the
// weights.
#pragma once

#include "few_experts/product.cuh"
#include "primitives/sync.cuh"
#include "stream/tokens.cuh"

namespace heddle {

template <class Product>
struct FewMiddle {
  static constexpr int kRowBytes = Product::kConfig.middle_row_bytes();
  static constexpr int kColumns = Product::kLayer.intermediate;
  static constexpr int kChunkBytes = 2 * Chunk::kColumns;
  static constexpr int kTileBytes = 64;  // of 32 columns

  static __device__ __forceinline__ u8* row(const MoeParameters& layer, int assignment) {
    return layer.workspace + Product::kConfig.middle_offset(layer.tokens) +
           static_cast<i64>(assignment) * kRowBytes;
  }

  // Two columns, the first of which is an even one.
  static __device__ __forceinline__ void store(u8* row, int column, u32 pair) {
    store_global_4(row + column / 32 * kTileBytes + column % 8 / 2 * 16 + column % 32 / 8 * 4,
                   pair);
  }

  // 16-byte vectors beyond the middle's end, and the i-th of them.
  static constexpr int kPadVectors = (kRowBytes - 2 * kColumns) / 16;
  static __device__ __forceinline__ void clear_pad(u8* row, int i) {
    store_global_16(row + 2 * kColumns + 16 * i, {0, 0, 0, 0});
  }
};

// Reads fragments chunk by chunk, unit after unit, each while the one before is multiplied.
template <class Product>
struct FewMiddleReader {
  using S = typename Product::S;
  using Middle = FewMiddle<Product>;
  using Fragments = typename StreamTokens<typename Product::Gemm>::Fragments;

  FewMemory<Product> memory;
  const MoeParameters& layer;
  Range chunks;
  FewUnits<Product> units;  // that of the next chunk
  int experts;
  int lane;
  int chunk = 0;
  const u8* from[S::kTokenTiles] = {};  // the lane's bytes of that chunk
  Fragments next[2] = {};

  __device__ __forceinline__ FewMiddleReader(FewMemory<Product> memory, const MoeParameters& layer,
                                             const Range& chunks, const FewUnits<Product>& units,
                                             int experts, int lane)
      : memory(memory), layer(layer), chunks(chunks), units(units), experts(experts), lane(lane) {}

  __device__ __forceinline__ void start() {
    begin_unit();
    read();
  }

  // The fragments of the next chunk, of both its halves.
  __device__ __forceinline__ void take(Fragments (&b)[2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int tile = 0; tile < S::kTokenTiles; ++tile)
#pragma unroll
        for (int i = 0; i < 8; ++i) b[half][tile][i / 4][i % 4] = next[half][tile][i / 4][i % 4];
    read();
  }

 private:
  __device__ __forceinline__ void begin_unit() {
    if (units.expert >= experts) return;
    chunk = chunks.begin;
    // A lane whose token has not chosen the expert reads the row of one that has: the column makes
    // outputs that no one adds.
    int choice[S::kTokenTiles];
    u32 chosen[S::kTokenTiles];
#pragma unroll
    for (int tile = 0; tile < S::kTokenTiles; ++tile) {
      const int token = 8 * tile + lane / 4;
      choice[tile] = -1;
      if (token < Product::kTokens) {
        choice[tile] = static_cast<int>(load_shared_4(memory.choice(units.expert, token)));
      }
      chosen[tile] = ballot(choice[tile] >= 0);
    }
    int any = choice_of_first(choice[0], chosen[0]);
    if constexpr (S::kTokenTiles == 2) {
      const int other = choice_of_first(choice[1], chosen[1]);
      if (chosen[0] == 0) any = other;
    }
#pragma unroll
    for (int tile = 0; tile < S::kTokenTiles; ++tile) {
      from[tile] = Middle::row(layer, choice[tile] >= 0 ? choice[tile] : any) +
                   chunk * Middle::kChunkBytes + 16 * (lane % 4);
    }
  }

  // That of the first lane whose token has chosen the expert; any where there is none.
  static __device__ __forceinline__ int choice_of_first(int choice, u32 chosen) {
    const int first = lowest_bit(chosen);
    return static_cast<int>(shuffle(static_cast<u32>(choice), first & 31));
  }

  __device__ __forceinline__ void read() {
    if (units.expert >= experts) return;
#pragma unroll
    for (int tile = 0; tile < S::kTokenTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const u32x4 v = load_global_16_coherent(from[tile] + i * Middle::kTileBytes);
        u32(&to)[4] = next[i / 2][tile][i % 2];
        to[0] = v.x;
        to[1] = v.y;
        to[2] = v.z;
        to[3] = v.w;
      }
      from[tile] += Middle::kChunkBytes;
    }
    if (++chunk < chunks.end) return;
    units.next();
    begin_unit();
  }
};

}  // namespace heddle

// One warp that multiplies: its columns of K of one row block after the other.
#pragma once

#include "stream/products.cuh"
#include "stream/ring.cuh"
#include "stream/scales.cuh"
#include "stream/sums.cuh"
#include "stream/tokens.cuh"

namespace heddle {

template <class Config, class Decode>
struct StreamWarp : ChunkLane<Config> {
  using S = StreamShape<Config>;
  using Lane = ChunkLane<Config>;
  using Schedule = typename Config::Schedule;
  using Products = typename Config::Products;
  using Lane::g;
  using Lane::t;
  static constexpr bool kPartial =  // sums of a group are scaled
      Lane::kPartial || Config::value.scaling.mode == ScaleMode::kGroup;
  static constexpr int kTileColumns = Products::kTileColumns;
  static constexpr int kHalfTiles = 64 / kTileColumns;  // whose words a lane loads at once
  // Columns between two looks at scales.
  static constexpr int kUnit =
      Config::value.weights.meta_group < S::kChunkK ? Config::value.weights.meta_group : S::kChunkK;
  // Accumulators that products alternate between, so that none waits for the one before. Small
  // groups do not wait for each other; where instructions set the pace the second would only cost
  // its addition. A group that is one tile has one.
  static constexpr int kAccumulators =
      kPartial && (S::kWidens || kTileColumns == 32) && kUnit <= 32 ? 1 : 2;
  // Chunks of a stage that are unrolled. With scales of 8 bits or of small groups four of them want
  // more registers than there are, of 16 tokens two as well, and so do two that are all of K.
  static constexpr bool kSmallGroups = kPartial && S::kEntries > 1;
  static constexpr bool kTwoOfAll =
      kSmallGroups && kUnit <= 32 && S::kOneStage && Config::value.stage_chunks == 2;
  static constexpr int kUnroll = kTwoOfAll                                  ? 1
                                 : (kPartial && S::kWidens) || kSmallGroups ? 2 / S::kTokenTiles
                                                                            : 4;

  StreamMemory<Config> memory;
  Schedule schedule;
  StreamTokens<Config> tokens;
  StreamRing<Config> ring;
  const u8* weights;
  int warp;
  int lane;

  using Parts = typename Products::Sum[S::kTokenTiles][4];

  StreamSum<Config> sum;
  Parts part[kAccumulators];  // of the group, before its scale; without groups of the stage
  RowTileDecoder<Config, Decode, 1> decoder;
  StreamScales<Config> wide_scales;  // of half a chunk; S::kWidens only

  __device__ __forceinline__ StreamWarp(StreamMemory<Config> memory, const Schedule& schedule,
                                        const u8* x, const u8* weights, const u8* pre_scale, int m,
                                        int warp, int lane)
      : Lane(lane),
        memory(memory),
        schedule(schedule),
        tokens{memory, x, pre_scale, m, warp, lane},
        ring{memory, schedule, weights, warp,
             part_of({schedule.first_unit(), schedule.end_unit()}, warp, Config::value.warps_k)},
        weights(weights),
        warp(warp),
        lane(lane) {}

  // The first weights on their way: one stage. More of them would make the tokens late, and the
  // kernel before this one.
  __device__ __forceinline__ void start_ring() {
    ring.init();
    ring.fill(0);
  }

  __device__ __forceinline__ void run() {
    tokens.copy(ring.chunks);
#pragma unroll
    for (int i = 1; i < Config::value.stages; ++i) ring.fill(i);
    warp_barrier();
    const int count = schedule.count();
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      multiply_block(schedule.piece(i), i == 0);
      put_sums(memory, i, warp, lane, sum);
    }
    if (count == 0) tokens.wait_for_all(ring.chunks);
  }

 private:
  // `is_first`: of this block's.
  __device__ __forceinline__ void multiply_block(const Piece& piece, bool is_first) {
    clear(sum);
    const u8* const zeros =
        weights + Config::value.shape.channel_offset + Config::value.weights.channel_zero_offset;
    decoder.load_channel_zeros(
        0, *this, zeros + static_cast<i64>(piece.row_tile) * Config::value.weights.channel_bytes);
    const int chunks = ring.chunks.end - ring.chunks.begin;
#pragma unroll 1
    for (int first = 0; first < chunks; first += Config::value.stage_chunks) {
      multiply_stage(is_first, first, chunks);
    }
  }

  // Multiplies a stage, the warp's chunks from `first` on. `begins`: of the first row block.
  __device__ __forceinline__ void multiply_stage(bool begins, int first, int chunks) {
    const u32 stage = ring.take();
    if constexpr (!kPartial) clear_parts();
    if (!S::kOneStage && begins) receive_tokens(first);
#pragma unroll kUnroll
    for (int c = 0; c < Config::value.stage_chunks; ++c) {
      if (!S::kEven && c > 0 && first + c >= chunks) break;
      if (S::kOneStage && begins) receive_tokens(c);
      const u32 chunk = stage + c * Config::value.weights.chunk_bytes;
      if constexpr (S::kWidens) widen_scales(chunk, c);
      multiply_chunk(chunk, first + c,
                     memory.wide_scales(warp) + c % S::kWideChunks * S::kWideChunkBytes);
    }
    if constexpr (!kPartial) add_parts({1.0f, 1.0f});
    ring.give_back();
  }

  // Waits for the tokens of the piece that chunk `c` begins, if it does.
  __device__ __forceinline__ void receive_tokens(int c) const {
    if (c % S::kPieceChunks == 0) tokens.wait(c / S::kPieceChunks);
  }

  // Widens the scales of S::kWideChunks chunks, if chunk `c` of the stage is the first of as many.
  __device__ __forceinline__ void widen_scales(u32 chunk, int c) {
    if (c % S::kWideChunks != 0) return;
    if (c > 0) warp_barrier();  // those before have been read
    wide_scales.widen(chunk, memory.wide_scales(warp), lane);
  }

  // Chunk `c` of the warp's; `wide`: its scales, S::kWidens only.
  __device__ __forceinline__ void multiply_chunk(u32 chunk, int c, u32 wide) {
    constexpr int kTiles = Decode::kTiles;
    typename Lane::Words words;                  // of 64 columns
    typename StreamTokens<Config>::Fragments b;  // the same
#pragma unroll
    for (int first = 0; first < 2 * kHalfTiles; first += kTiles) {
      if (first % kHalfTiles == 0) {
        const int half = first / kHalfTiles;
        Lane::load_words(chunk, half, words);
        if constexpr (S::kWidens) wide_scales.load(wide, half, g);
        tokens.load(memory.tokens(warp) + (2 * c + half) * S::kHalfTokenBytes, b);
      }
      u32 a[kTiles][4];
#pragma unroll
      for (int i = 0; i < kTiles; ++i) {
        const int tile = first + i;
        const int column = kTileColumns * tile;
        const bool begins = Config::value.weights.begins_unit(column, kUnit, S::kChunkK);
        if (begins) begin_unit(chunk, column);
        decoder.decode(0, words, first % kHalfTiles / kTiles, i, begins, a);
#pragma unroll
        for (int j = 0; j < S::kTokenTiles; ++j) {
          const u32(&pair)[4] = b[j][tile % kHalfTiles / 2];
          Products::multiply(part[tile % kAccumulators][j], a[i], pair[tile % 2 * 2],
                             pair[tile % 2 * 2 + 1]);
        }
        const bool ends =
            Config::value.weights.begins_unit(column + kTileColumns, kUnit, S::kChunkK);
        if (ends) end_unit(chunk, column);
      }
    }
  }

  __device__ __forceinline__ void begin_unit(u32 chunk, int column) {
    u32 scales = 0;
    if constexpr (S::kWidens && Lane::kWeight) {
      scales = wide_scales.of_weights(column);
    } else {
      scales = Lane::weight_scales(chunk, column);
    }
    decoder.begin_group(0, Lane::int_zeros(chunk, column), scales);
    if constexpr (kPartial) clear_parts();
  }
  __device__ __forceinline__ void end_unit(u32 chunk, int column) {
    if constexpr (!kPartial) return;
    if constexpr (S::kWidens) {
      add_parts(wide_scales.of_sums(column));
    } else {
      add_parts(Lane::sum_scales(chunk, column));
    }
  }

  template <class Sum>
  static __device__ __forceinline__ void clear(Sum (&sums)[S::kTokenTiles][4]) {
#pragma unroll
    for (int tile = 0; tile < S::kTokenTiles; ++tile)
#pragma unroll
      for (Sum& v : sums[tile]) v = 0;
  }
  __device__ __forceinline__ void clear_parts() {
#pragma unroll
    for (auto& sums : part) clear(sums);
  }
  __device__ __forceinline__ void add_parts(RowPair scales) {
#pragma unroll
    for (int tile = 0; tile < S::kTokenTiles; ++tile) {
      typename Products::Sum all[4];
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        all[v] = kAccumulators == 1 ? part[0][tile][v]
                                    : part[0][tile][v] + part[kAccumulators - 1][tile][v];
      }
      Products::add(scales, all, sum[tile]);
    }
  }
};

}  // namespace heddle

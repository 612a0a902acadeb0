// A warpgroup's share of a piece: decode weights into registers, multiply them with the tokens in
// shared memory.
//
// A step is one row tile by kStepTiles tiles of 16 columns: its weights are decoded while the
// tensor cores still work on the steps before, then handed over as one group. Steps take turns
// between kSets sets of registers for decoded weights. A step that ends a group of scales leaves
// its sums to the next one, which takes them up once its own weights are decoded; or, where groups
// take turns between two sets of sums, once its own products are on their way.
#pragma once

#include "gemm/chunk.cuh"
#include "gemm/wgmma_products.cuh"
#include "gemm/wgmma_work.cuh"
#include "primitives/cluster.cuh"
#include "primitives/sync.cuh"

namespace heddle {

template <class Config, class Decode>
struct WgmmaMultiply : ChunkLane<Config> {
  using S = WgmmaShape<Config>;
  using Lane = ChunkLane<Config>;
  using Products = typename ProductsOf<Config, Config::kByWarps>::Type;
  static constexpr bool kPartial = Config::kScaleMode == ScaleMode::kAccumulator;
  static constexpr bool kChannel = Config::kScaleMode == ScaleMode::kChannel;
  static constexpr bool kIntZeros = Config::kZeroPoint == ZeroPoint::kInt;
  static constexpr bool kOneHalf = S::kSplitsColumns || Config::kHalfStages;
  static constexpr int kTiles = kOneHalf ? 4 : 8;  // of 16 columns, of a chunk at a time
  static constexpr int kHalves = kTiles / 4;       // of a chunk at a time
  static constexpr int kGroupTiles =               // between two looks at scales
      Config::kMetaGroup / 16 < kTiles ? Config::kMetaGroup / 16 : kTiles;
  static constexpr int kStepTiles =
      kPartial && kGroupTiles < Config::kStepTiles ? kGroupTiles : Config::kStepTiles;
  static constexpr int kSets = Config::kDecodedSets;
  static constexpr int kColumnSteps = kTiles / kStepTiles;  // of a chunk at a time
  static constexpr int kSteps = kColumnSteps * S::kRowTiles;
  // What the second warpgroup has of row tiles while another block multiplies the last of them.
  static constexpr int kOwnTiles = S::kRowTiles - 1;
  static_assert(4 % kStepTiles == 0, "a step lies in the 64 columns of a lane's words");
  static_assert(kSets >= 2 && S::kUnitStages * kSteps % kSets == 0,
                "registers of decoded weights take turns");
  static_assert(!Config::kHalfStages || !kPartial, "groups end where they would without halves");
  // Groups take turns where the tensor cores would wait for the scaling: that of fewer tokens is
  // short, more leave no registers. With two sets of weights every step waits for the one before.
  // Every stage must begin with the same set of sums, and a short one would have a branch of its
  // own, with which ptxas lets no two steps overlap.
  static constexpr int kGroupSteps = kPartial ? kGroupTiles / kStepTiles : 1;
  static __device__ constexpr int parts_of(int row_tiles) {
    const bool even = Config::kChunks % S::kStageChunks == 0 &&
                      S::kStageChunks * kColumnSteps * row_tiles / kGroupSteps % 2 == 0;
    return kPartial && Config::kTileM == 64 && kSets == 2 && even ? 2 : 1;
  }
  static constexpr int kParts = parts_of(S::kRowTiles);

  WgmmaMemory<Config> memory;
  WgmmaMemory<Config> peer;  // of the cluster's other block, if there is one
  int warp;                  // of the warpgroup
  int row_block;             // in the tile, of the warp's first row tile
  int first_half;            // that the warpgroup multiplies, of those that a stage has of a chunk

  float sum[S::kRowTiles][S::kSums];
  float part[kParts][kPartial ? S::kSums : 1];  // of a group, not yet scaled
  u32 words[2][Config::kBits];                  // of 64 columns
  u32 a[kSets][kStepTiles][4];
  u32 group[kChannel ? S::kRowTiles : 1][Decode::kGroupRegisters];
  u32 weight_scales;  // of rows g and g + 8, with ScaleMode::kWeight only
  u32 to_pass[2];     // of the columns of words, with kPassesScales only
  RowPair scales;     // the same of the last group that has ended, with kPartial only

  __device__ __forceinline__ WgmmaMultiply(WgmmaMemory<Config> memory, int warpgroup, int warp,
                                           int lane)
      : Lane(lane),
        memory(memory),
        peer{S::kBlocks > 1 ? address_in_block(memory.shared, cluster_rank() ^ 1) : 0},
        warp(warp),
        row_block(S::kSplitsColumns ? warp : 4 * S::kRowTiles * warpgroup + warp),
        first_half(S::kSplitsColumns ? warpgroup : 0) {}

  // Units [begin, end) of one piece, for so many tokens of the tile; `place` walks on.
  template <int kTokens>
  __device__ __forceinline__ void run(int begin, int end, RingPlace<Config>& place) {
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r)
#pragma unroll
      for (float& v : sum[r]) v = 0.0f;
    if constexpr (Config::kSharesRows) {
#pragma unroll 1
      for (int half = 0; half < 2; ++half) {
        const int from = half == 0 ? begin : S::kHalfUnits;
        const int to = half == 0 ? S::kHalfUnits : end;
        if (row_block < 4 * S::kRowTiles || WgmmaWork<Config>::has_shared_rows(half)) {
          multiply_units<kTokens, S::kRowTiles>(from, to, place);
        } else {
          multiply_units<kTokens, kOwnTiles>(from, to, place);
        }
      }
    } else {
      multiply_units<kTokens, S::kRowTiles>(begin, end, place);
    }
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r)
#pragma unroll
      for (float& v : sum[r]) Products::hold(v);
  }

  // Integer zero points per channel, once for a piece. Rows past the end read row block 0's: their
  // results are never stored.
  __device__ __forceinline__ void load_channel_zeros(const u8* metadata, const Piece& piece) {
    if constexpr (kIntZeros && kChannel) {
#pragma unroll
      for (int r = 0; r < S::kRowTiles; ++r) {
        const int row_tile = piece.row_tile + (row_block / 4 + r) * WgmmaWork<Config>::row_step();
        int block = 4 * row_tile + row_block % 4;
        if (block >= Config::kRowBlocks) block = 0;
        Decode::group(
            Lane::channel_int_zeros(metadata + static_cast<i64>(block) * Config::kChannelBytes +
                                    Config::kChannelZeroOffset),
            group[r]);
      }
    }
  }

 private:
  // Of the first so many of the warpgroup's row tiles.
  template <int kTokens, int kRows>
  __device__ __forceinline__ void multiply_units(int begin, int end, RingPlace<Config>& place) {
    clear_parts();
    int previous = -1;  // the stage before
#pragma unroll 1
    for (int k = begin; k < end; ++k) {
#pragma unroll
      for (int part = 0; part < S::kUnitStages; ++part) {
        mbarrier_wait(memory.full_barrier(place.stage), place.parity);
        const int count = chunks_of_stage<Config::kChunks, S::kStageChunks>(k);
#pragma unroll
        for (int c = 0; c < S::kStageChunks; ++c) {
          if (c > 0 && c >= count) break;
          if constexpr (kRows > 0) {
            multiply_chunk<kTokens, kRows>(place.stage, c, part, c == 0 ? previous : -1);
          } else if (c == 0) {
            release(previous);
          }
        }
        previous = place.stage;
        place.advance();
      }
    }
    if constexpr (kRows > 0) {
      Products::template wait<0>();
      retire(kColumnSteps * kRows - 1, parts_of(kRows) - 1);
    }
    release(previous);
  }

  __device__ __forceinline__ void clear_parts() {
    if constexpr (kPartial) {
      // The first step finds nothing in what a step before has left.
#pragma unroll
      for (auto& sums : part)
#pragma unroll
        for (float& v : sums) v = 0.0f;
      scales = {0.0f, 0.0f};
    }
  }

  // Chunk c of the stage, or the half `part` of the only one, of each row tile. Behind it the warp
  // has read all of stage `previous`.
  template <int kTokens, int kRows>
  __device__ __forceinline__ void multiply_chunk(int stage, int c, int part, int previous) {
    constexpr int kRowSteps = kColumnSteps * kRows;
    constexpr int kTurns = parts_of(kRows);
    const auto columns = Products::columns(
        memory.tokens(stage) + (2 * c + first_half) * S::kHalfBytes, 4 * this->g + this->t);
    const u32 chunks =
        memory.weights(stage) + row_block * S::kRowBlockBytes + c * Config::kChunkBytes;
    load_half(chunks, first_half, part, words[0], to_pass[0]);
#pragma unroll
    for (int step = 0; step < kRowSteps; ++step) {
      const int r = step / kColumnSteps;
      const int tile = step % kColumnSteps * kStepTiles;  // the first, of the warpgroup's
      // As if the words of the other half were there, too.
      const u32 chunk = chunks + 4 * r * S::kRowBlockBytes - S::kMissingBytes;
      const int set = (part * kRowSteps + step) % kSets;
      decode(set, r, tile, chunk, first_half + part);
      if (tile % 4 == 0) load_next_words<kRows>(chunks, r, tile);
      const int before = (step + kRowSteps - 1) % kRowSteps;
      const int into = (c * kRowSteps + step) / kGroupSteps % kTurns;
      // ptxas takes no sums across the loop's end that are read while products run: it would let no
      // two steps overlap.
      const bool in_time = kTurns == 2 && (c > 0 || step > 0);
      if (kPartial && ends_group(before) && !in_time) {
        Products::template wait<0>();
        retire(before, kTurns - 1);
      }
      if (kPartial && ends_group(step) && kTurns == 1) load_scales(chunk, tile);
      issue<kTokens>(set, r, tile, columns, into);
      // The step that used the next set has ended, and with it one of the stage before.
      Products::template wait<kSets - 1>();
      if (kPartial && ends_group(before) && in_time) retire(before, 1 - into);
      if (kPartial && ends_group(step) && kTurns == 2) load_scales(chunk, tile);
      if (step == kSets - 2) release(previous);
    }
  }

  // A lane's words of 64 columns are loaded while those before them are decoded; a chunk has one or
  // two of these halves for each row tile.
  static __device__ __forceinline__ int half(int r, int tile) {
    return (kHalves * r + tile / 4) % 2;
  }
  template <int kRows>
  __device__ __forceinline__ void load_next_words(u32 chunks, int r, int tile) {
    const int next = kHalves * r + tile / 4 + 1;
    if (next == kHalves * kRows) return;
    load_half(chunks + next / kHalves * 4 * S::kRowBlockBytes, next % kHalves, 0, words[next % 2],
              to_pass[next % 2]);
  }
  // Half `half` of what the stage has of a chunk, which begins with half `part` of it.
  __device__ __forceinline__ void load_half(u32 chunk, int half, int part,
                                            u32 (&words)[Config::kBits], u32& to_pass) const {
    Lane::load_words(chunk, half, words);
    if constexpr (Lane::kPassesScales) {
      to_pass = Lane::scales_to_pass(chunk - S::kMissingBytes, half + part);
    }
  }

  // Weights of a row tile, from the tile on, which is counted from the half of the chunk.
  __device__ __forceinline__ void decode(int set, int r, int tile, u32 chunk, int from_half) {
    constexpr int kUnitTiles = Decode::kTiles;
    u32 unit[kUnitTiles][4];
#pragma unroll
    for (int i = 0; i < kStepTiles; ++i) {
      const int here = tile + i;
      const bool begins = here % kGroupTiles == 0;
      if (begins) begin_group(chunk, 16 * here + 64 * from_half, to_pass[half(r, here)]);
      // Another group has other zero points or scales: what follows is decoded with them.
      if (i == 0 || begins || here % kUnitTiles == 0) {
        Decode::unit(words[half(r, here)], here % 4 / kUnitTiles, group[kChannel ? r : 0], unit);
      }
#pragma unroll
      for (int v = 0; v < 4; ++v) a[set][i][v] = unit[here % kUnitTiles][v];
      if constexpr (Config::kScaleMode == ScaleMode::kWeight && !Decode::kScales) {
        Lane::scale_weights(weight_scales, a[set][i]);
      }
    }
  }

  // `column`: in the chunk. `to_pass`: of its 64 columns.
  __device__ __forceinline__ void begin_group(u32 chunk, int column, u32 to_pass) {
    if constexpr (kIntZeros && !kChannel) Decode::group(Lane::int_zeros(chunk, column), group[0]);
    if constexpr (Config::kScaleMode == ScaleMode::kWeight) {
      weight_scales = Lane::weight_scales(chunk, column, to_pass);
    }
    if constexpr (Decode::kScales) Decode::group(weight_scales, group[0]);
  }

  static __device__ __forceinline__ bool ends_group(int step) {
    return (step % kColumnSteps + 1) * kStepTiles % kGroupTiles == 0;
  }

  __device__ __forceinline__ void load_scales(u32 chunk, int tile) {
    const RowPair scale = Lane::scales(chunk, 16 * tile + 64 * first_half);
    scales = {power_of_two<Config::kResultExponent>(scale.low),
              power_of_two<Config::kResultExponent>(scale.high)};
  }

  template <int kTokens>
  __device__ __forceinline__ void issue(int set, int r, int tile,
                                        const typename Products::Columns& columns, int into) {
    Products::begin(a[set]);
#pragma unroll
    for (int i = 0; i < kStepTiles; ++i) {
      const int here = tile + i;
      if constexpr (kPartial) {
        Products::multiply(reinterpret_cast<float(&)[kTokens / 2]>(part[into]), a[set][i], columns,
                           here, here % kGroupTiles != 0);
      } else {
        Products::multiply(reinterpret_cast<float(&)[kTokens / 2]>(sum[r]), a[set][i], columns,
                           here, true);
      }
    }
    Products::end();
  }

  // The sums of the group that the step has ended, whose products are there.
  __device__ __forceinline__ void retire(int step, int from) {
    if constexpr (kPartial) {
      float(&sums)[S::kSums] = sum[step / kColumnSteps];
#pragma unroll
      for (float& v : part[from]) Products::hold(v);
#pragma unroll
      for (int i = 0; i < S::kSums; ++i)
        sums[i] += ((i & 2) != 0 ? scales.high : scales.low) * part[from][i];
    }
  }

  // The lane has read all that it reads of the stage. Each says so for itself: one lane for all
  // would have to wait for the others, and a barrier of the warp makes the compiler end every wgmma
  // before it (8192 x 8192, M = 16: 18.1 us, not 13.3).
  __device__ __forceinline__ void release(int stage) const {
    if (stage >= 0) mbarrier_arrive(memory.empty_barrier(stage));
    if constexpr (S::kBlocks > 1) {
      mbarrier_arrive_remote_if(stage >= 0 && this->g + this->t == 0, peer.empty_barrier(stage));
    }
  }
};

}  // namespace heddle

// Takes a warpgroup's sums to Y. Two warpgroups that have shared columns, and two blocks of a
// cluster that share a tile, exchange: each gives the sums of half of its tokens and adds the
// other's to those of the other half. Blocks give by st.async: loads from
// the other block would want memory in order, which takes a fence of the whole GPU. Any other
// blocks that share a tile meet in the workspace.
#pragma once

#include "primitives/cluster.cuh"
#include "primitives/sync.cuh"
#include "primitives/warpgroup.cuh"
#include "warpgroup/parts.cuh"
#include "warpgroup/store.cuh"

namespace heddle {

template <class Config>
struct WgmmaFinish {
  using S = WgmmaShape<Config>;
  using Schedule = typename Config::Schedule;
  using Piece = typename Schedule::PieceType;
  using Sum = typename Config::Sums::Sum;
  template <int kCount>
  using SumsOf = Sum[S::kRowTiles][kCount];
  using Sums = SumsOf<S::kOwnSums>;
  WgmmaMemory<Config> memory;
  WgmmaStore<Config> store;
  WgmmaParts<Config> parts;
  int warpgroup, thread;  // of the warpgroup

  // Every thread calls it, once the barriers have been made. The blocks of a pair need not have met
  // before they exchange sums.
  static __device__ __forceinline__ void start_pair() {
    if (is_pair()) cluster_arrive_unordered();
  }
  // Every thread calls it once, in whole warps; those that multiply before run(): a block of a pair
  // has a piece.
  static __device__ __forceinline__ void meet_pair() {
    if (is_pair()) cluster_wait();
  }

  // Called before a piece is multiplied.
  __device__ __forceinline__ void begin(const Piece& piece) { store.begin(piece); }

  __device__ __forceinline__ void run(const Schedule& schedule, const Piece& piece,
                                      SumsOf<S::kSums>& sum) const {
    store.end_fetch();
    if (S::kPairSumsInStages && is_pair()) {
      // The warp has read all stages of the only piece that a block of a pair has.
      warp_barrier();
      if (thread % 32 == 0) {
        mbarrier_arrive_remote(address_in_block(memory.read_barrier(), 1 - cluster_rank()));
      }
    }
    if constexpr (S::kSplitsColumns) {
      Sums own;
      exchange(piece, sum, own);
      finish(schedule, piece, own);
    } else {
      finish(schedule, piece, sum);
    }
  }

 private:
  __device__ __forceinline__ void finish(const Schedule& schedule, const Piece& piece,
                                         Sums& sum) const {
    TileShare<Config> share;
    const bool whole = piece.begin == 0 && piece.end == schedule.units;
    if (is_pair()) {
      if constexpr (S::kPairs) {
        add_in_pair(sum);
        share.tokens = S::kOwnTokens / 2;
        share.place = static_cast<int>(cluster_rank()) * share.tokens;
      }
    } else if constexpr (Config::value.shares_tiles() && !S::kAlwaysPairs) {
      if (!whole && !parts.add_to_tile(schedule, piece, sum)) return;
    }
    store.run(piece, sum, share);
  }

  // Whether the launch is one of pairs that share tiles.
  static __device__ __forceinline__ bool is_pair() {
    return S::kAlwaysPairs || (S::kPairs && cluster_size() > 1);
  }

  // Where one of a row tile's 2 * kCount sums is that a block of a pair may keep, and the one that
  // the other block then has.
  template <int kCount>
  static __device__ __forceinline__ constexpr int lower(int i) {
    return S::kPairsShareEights ? i / 2 * 4 + i % 2 : i;
  }
  template <int kCount>
  static __device__ __forceinline__ constexpr int upper_of(int i) {
    return S::kPairsShareEights ? lower<kCount>(i) + 2 : kCount + i;
  }
  // Splits a row tile's 2 * kCount sums: those of the upper half of the tokens, or of the lower
  // one, go to `kept`, which may be `sum`; the others, four at a time, go to give(i, four). Only
  // the first `count` of each half count.
  template <int kCount, class Give>
  static __device__ __forceinline__ void give_half(int upper, const Sum* sum, Sum* kept,
                                                   const Give& give, int count = kCount) {
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      if constexpr (Piece::kTellsTokens) {
        if (i >= count) break;
      }
      Sum given[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const Sum low = sum[lower<kCount>(i + j)];
        const Sum high = sum[upper_of<kCount>(i + j)];
        kept[lower<kCount>(i + j)] = upper != 0 ? high : low;
        given[j] = upper != 0 ? low : high;
      }
      give(i, Config::Sums::four(given));
    }
  }
  template <int kCount>
  static __device__ __forceinline__ void add_given(u32 place, Sum* kept, int count = kCount) {
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      if constexpr (Piece::kTellsTokens) {
        if (i >= count) break;
      }
      const f32x4 v = load_shared_floats(place + 512 * i);
      if constexpr (S::kPairsShareEights) {
        Sum four[4] = {kept[2 * i], kept[2 * i + 1], kept[2 * i + 4], kept[2 * i + 5]};
        Config::Sums::add(four, v);
#pragma unroll
        for (int j = 0; j < 4; ++j) kept[lower<kCount>(i + j)] = four[j];
      } else {
        Config::Sums::add(kept + i, v);
      }
    }
  }

  static __device__ __forceinline__ void meet_warpgroup() {
    warpgroups_barrier<S::kWarpgroups>(1 + S::kWarpgroups);
  }

  // Two warpgroups that have multiplied half of the columns each.
  __device__ __forceinline__ void exchange(const Piece& piece, const SumsOf<S::kSums>& sum,
                                           Sums& own) const {
    const int count = sums_of_half(piece);
    const u32 given = memory.pass(warpgroup) + 16 * thread;
    give_half<S::kOwnSums>(
        warpgroup, sum[0], own[0],
        [&](int i, f32x4 four) { store_shared_floats(given + 512 * i, four); }, count);
    meet_warpgroup();
    add_given<S::kOwnSums>(memory.pass(1 - warpgroup) + 16 * thread, own[0], count);
    meet_warpgroup();
  }
  // Those of its first half of the tokens that a tile has; of the second half it has no more.
  static __device__ __forceinline__ int sums_of_half(const Piece& piece) {
    if constexpr (Piece::kTellsTokens) return (piece.tokens(S::kOwnTokens) + 7) / 8 * 4;
    return S::kOwnSums;
  }

  // Each block of a pair adds the other's sums for half of the tokens to its own, which end up in
  // the first half of `sum`.
  __device__ __forceinline__ void add_in_pair(Sums& sum) const {
    constexpr int kCount = S::kOwnSums / 2;
    const int rank = static_cast<int>(cluster_rank());
    const u32 place = (S::kPairSumsInStages ? memory.shared + warpgroup * S::kPairSumBytes
                                            : memory.pass(warpgroup)) +
                      16 * thread;
    const u32 barrier = memory.pair_barrier(warpgroup);
    const u32 remote_place = address_in_block(place, 1 - rank);
    const u32 remote_barrier = address_in_block(barrier, 1 - rank);
    if (thread == 0) mbarrier_arrive_expect(barrier, S::kPairSumBytes);
    if constexpr (S::kPairSumsInStages) mbarrier_wait_cluster(memory.read_barrier(), 0);
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
      give_half<kCount>(rank, sum[r], sum[r], [&](int i, f32x4 four) {
        store_remote_floats(remote_place + 512 * (r * kCount + i), four, remote_barrier);
      });
    }
    mbarrier_wait_cluster(barrier, 0);
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) add_given<kCount>(place + 512 * r * kCount, sum[r]);
    // Sums on their way to Y take the same place.
    if constexpr (!S::kPairSumsInStages) warpgroup_barrier(1 + warpgroup);
  }
};

}  // namespace heddle

// From a warpgroup's sums to Y. Two warpgroups that have shared columns, and two blocks of a
// cluster that share a tile or have a row tile in common, exchange: each gives the sums of half of
// its tokens and adds the other's to those of the other half. Blocks give by st.async: loads from
// the other block would want memory in order, which takes a fence of the whole GPU. If any blocks
// share a tile, each puts its sums where the others find them, and the one that comes last adds
// them all in the order of K, and no one waits.
#pragma once

#include "gemm/wgmma_store.cuh"
#include "primitives/cluster.cuh"
#include "primitives/sync.cuh"
#include "primitives/warpgroup.cuh"
#include "primitives/wgmma.cuh"

namespace heddle {

template <class Config>
struct WgmmaFinish {
  using S = WgmmaShape<Config>;
  template <int kCount>
  using SumsOf = float[S::kRowTiles][kCount];
  using Sums = SumsOf<S::kOwnSums>;
  // Sums of a warpgroup as they lie in its registers, four of a thread at a time.
  static constexpr i64 kPartBytes = static_cast<i64>(S::kRowTiles) * S::kOwnSums * 4 * 128;

  // Registers for sums of other parts that are on their way, and how many parts that are.
  static constexpr int kSumsAhead = 64;
  static constexpr int kAllSums = S::kRowTiles * S::kOwnSums;
  static constexpr int kPartsAhead = kAllSums < kSumsAhead ? kSumsAhead / kAllSums : 1;

  WgmmaMemory<Config> memory;
  WgmmaStore<Config> store;
  u8* workspace;
  int shared_tiles;
  int warpgroup, thread;  // of the warpgroup

  // By every thread, once the barriers have been made. The blocks of a pair need not have met
  // before they exchange sums.
  static __device__ __forceinline__ void start_pair() {
    if (is_pair()) cluster_arrive_unordered();
  }
  // By every thread once, whole warps.
  static __device__ __forceinline__ void meet_pair() {
    if (is_pair()) cluster_wait();
  }

  __device__ __forceinline__ void run(const WgmmaWork<Config>& work, const Piece& piece,
                                      SumsOf<S::kSums>& sum) const {
    meet_pair();
    if (S::kPairSumsInStages && is_pair()) {
      // The warp has read all stages of the only piece that a block of a pair has.
      warp_barrier();
      if (thread % 32 == 0) {
        mbarrier_arrive_remote(address_in_block(memory.read_barrier(), 1 - cluster_rank()));
      }
    }
    if constexpr (S::kSplitsColumns) {
      Sums own;
      exchange(sum, own);
      finish(work, piece, own);
    } else {
      finish(work, piece, sum);
    }
  }

 private:
  __device__ __forceinline__ void finish(const WgmmaWork<Config>& work, const Piece& piece,
                                         Sums& sum) const {
    if constexpr (Config::kSharesRows) return add_shared_rows(work, piece, sum);
    if constexpr (S::kPairs) {
      if (is_pair()) return add_in_pair(piece, sum);
    }
    if constexpr (Config::kShares && !S::kAlwaysPairs) {
      const bool whole = piece.begin == 0 && piece.end == S::kTotalUnits;
      if (!whole && !add_to_tile(work, piece, sum)) return;
    }
    store.run(piece, sum, 0);
  }

  // Whether the launch is one of pairs that share tiles.
  static __device__ __forceinline__ bool is_pair() {
    return S::kAlwaysPairs || (S::kPairs && cluster_size() > 1);
  }

  static __device__ __forceinline__ void add_four(float* sums, u32x4 v) {
    sums[0] += __uint_as_float(v.x);
    sums[1] += __uint_as_float(v.y);
    sums[2] += __uint_as_float(v.z);
    sums[3] += __uint_as_float(v.w);
  }

  // Of a row tile's sums to `kept` those of the lower half of the tokens, or of the upper one; the
  // others, four at a time, go to give(i, four).
  template <int kCount, class Give>
  static __device__ __forceinline__ void give_half(int upper, const float (&sum)[2 * kCount],
                                                   float (&kept)[kCount], const Give& give) {
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      float given[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float low = sum[i + j];
        const float high = sum[kCount + i + j];
        kept[i + j] = upper != 0 ? high : low;
        given[j] = upper != 0 ? low : high;
      }
      give(i, pack_floats(given[0], given[1], given[2], given[3]));
    }
  }
  template <int kCount>
  static __device__ __forceinline__ void add_given(u32 place, float (&kept)[kCount]) {
#pragma unroll
    for (int i = 0; i < kCount; i += 4) add_four(kept + i, load_shared_16(place + 512 * i));
  }

  static __device__ __forceinline__ void meet_warpgroup() {
    warpgroups_barrier<S::kWarpgroups>(1 + S::kWarpgroups);
  }

  // Two warpgroups that have multiplied half of the columns each.
  __device__ __forceinline__ void exchange(const SumsOf<S::kSums>& sum, Sums& own) const {
    const u32 given = memory.pass(warpgroup) + 16 * thread;
    give_half(warpgroup, sum[0], own[0],
              [&](int i, u32x4 four) { store_shared_16(given + 512 * i, four); });
    meet_warpgroup();
    add_given(memory.pass(1 - warpgroup) + 16 * thread, own[0]);
    meet_warpgroup();
  }

  // Each block of a pair adds the other's sums for half of the tokens.
  __device__ __forceinline__ void add_in_pair(const Piece& piece, const Sums& sum) const {
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
    SumsOf<kCount> half;
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
      give_half(rank, sum[r], half[r], [&](int i, u32x4 four) {
        store_remote_16(remote_place + 512 * (r * kCount + i), four, remote_barrier);
      });
    }
    mbarrier_wait_cluster(barrier, 0);
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) add_given(place + 512 * r * kCount, half[r]);
    // Sums on their way to Y take the same place.
    if constexpr (!S::kPairSumsInStages) warpgroup_barrier(1 + warpgroup);
    store.run(piece, half, rank * S::kOwnTokens / 2);
  }

  // Of the last row tile each block of a pair has the sums of half of K. The second warpgroups give
  // each other those of half of the tokens.
  __device__ __forceinline__ void add_shared_rows(const WgmmaWork<Config>& work, const Piece& piece,
                                                  const Sums& sum) const {
    if (warpgroup == 0) return store.run(piece, sum, 0);
    constexpr int kOwnTiles = S::kRowTiles - 1;
    constexpr int kCount = S::kOwnSums / 2;
    const int rank = WgmmaWork<Config>::rank();
    const int before = work.pieces_before();
    const u32 place = memory.pass(1) + 16 * thread;
    const u32 remote_place = address_in_block(place, 1 - rank);
    const u32 remote_barrier = address_in_block(memory.given_barrier(), 1 - rank);
    if (before > 0) mbarrier_wait_cluster(memory.taken_barrier(), (before - 1) % 2);
    if (thread == 0) mbarrier_arrive_expect(memory.given_barrier(), 128 * 4 * kCount);
    float half[1][kCount];
    give_half(rank, sum[kOwnTiles], half[0], [&](int i, u32x4 four) {
      store_remote_16(remote_place + 512 * i, four, remote_barrier);
    });
    mbarrier_wait_cluster(memory.given_barrier(), before % 2);
    add_given(place, half[0]);
    warpgroup_barrier(1 + warpgroup);  // sums on their way to Y take the same place
    if constexpr (kOwnTiles > 0) {
      store.run(piece, reinterpret_cast<const float(&)[kOwnTiles][S::kOwnSums]>(sum), 0);
    }
    store.run(piece, half, rank * S::kOwnTokens / 2, kOwnTiles);
    if (work.has_whole_tiles()) {
      mbarrier_arrive_remote(address_in_block(memory.taken_barrier(), 1 - rank));
    }
  }

  // The workspace opens with a counter for each warpgroup of each shared tile, all zero between
  // launches. Two places for each block follow: for a tile that it does not begin, and for one
  // that it does not end.
  __device__ __forceinline__ u8* part(int worker, bool begins) const {
    const int block = worker * S::kBlocks + WgmmaWork<Config>::rank();
    const int place = 2 * block + (begins ? 1 : 0);
    return workspace + Config::kCounterBytes +
           (static_cast<i64>(place) * S::kWarpgroups + warpgroup) * kPartBytes + 16 * thread;
  }

  // Publishes this block's sums. True in the block that comes last, with the sums of all.
  __device__ __forceinline__ bool add_to_tile(const WgmmaWork<Config>& work, const Piece& piece,
                                              Sums& sum) const {
    const int first = work.first_worker(piece.shared_tile, shared_tiles);
    const int count = work.end_worker(piece.shared_tile, shared_tiles) - first;
    const int own = work.worker() - first;
    // Who begins a tile with the end of its share finds the others' sums there, as a rule, and need
    // not publish its own.
    if (!work.is_late(piece, shared_tiles) || !others_have_come(piece.shared_tile, count)) {
      publish(part(work.worker(), own == 0), sum);
      if (!comes_last(piece.shared_tile, count)) return false;
    }
    // Two summands may change places: the first two blocks have begun the sum already.
    const bool has_begun = own <= 1;
    if (!has_begun) {
#pragma unroll
      for (int r = 0; r < S::kRowTiles; ++r)
#pragma unroll
        for (float& v : sum[r]) v = -0.0f;  // adds nothing, not even a sign
    }
    const int others = has_begun ? count - 1 : count;
#pragma unroll kPartsAhead
    for (int i = 0; i < others; ++i) {
      const int at = has_begun && i >= own ? i + 1 : i;
      add(part(first + at, at == 0), sum);
    }
    return true;
  }

  __device__ __forceinline__ void publish(u8* to, const Sums& sum) const {
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
#pragma unroll
      for (int i = 0; i < S::kOwnSums; i += 4) {
        store_global_16(to + (r * S::kOwnSums + i) * 512,
                        pack_floats(sum[r][i], sum[r][i + 1], sum[r][i + 2], sum[r][i + 3]));
      }
    }
    device_fence();
    warpgroup_barrier(1 + warpgroup);
  }

  __device__ __forceinline__ u32* counter(int shared_tile) const {
    return reinterpret_cast<u32*>(workspace) +
           (shared_tile * S::kBlocks + WgmmaWork<Config>::rank()) * S::kWarpgroups + warpgroup;
  }

  __device__ __forceinline__ bool comes_last(int shared_tile, int count) const {
    u32 before = 0;
    if (thread == 0) before = atomic_add(counter(shared_tile), 1);
    return are_others(shared_tile, count, before, memory.word(warpgroup));
  }
  // The same before this block has published; asked once at most.
  __device__ __forceinline__ bool others_have_come(int shared_tile, int count) const {
    u32 before = 0;
    if (thread == 0) before = load_acquire(counter(shared_tile));
    return are_others(shared_tile, count, before, memory.word(S::kWarpgroups + warpgroup));
  }
  // Tells the warpgroup whether `before`, which its first thread has read, counts all other blocks.
  // If so, the counter is left as it was found.
  __device__ __forceinline__ bool are_others(int shared_tile, int count, u32 before,
                                             u32 word) const {
    if (thread == 0) {
      if (before + 1 == static_cast<u32>(count)) *counter(shared_tile) = 0;
      device_fence();
      store_shared_4(word, before);
    }
    warpgroup_barrier(1 + warpgroup);
    return load_shared_4(word) + 1 == static_cast<u32>(count);
  }

  __device__ __forceinline__ void add(const u8* from, Sums& sum) const {
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
#pragma unroll
      for (int i = 0; i < S::kOwnSums; i += 4) {
        const u32x4 v = load_global_16_l2(from + (r * S::kOwnSums + i) * 512);
        add_four(sum[r] + i, v);
        // What is loaded later waits until these have been added.
        if ((i + 4) % kSumsAhead == 0) {
#pragma unroll
          for (int j = i + 4 - kSumsAhead; j < i + 4; ++j) pin(sum[r][j]);
        }
      }
    }
  }
};

}  // namespace heddle

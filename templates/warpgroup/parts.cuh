// Sums of a tile that blocks share along K: each puts its part into the workspace, where the others
// find it, and the one that comes last adds them all in the order of K, and no one waits.
//
// The workspace opens with a counter for each warpgroup of each shared tile, all zero between
// launches. Two places for each block follow: for a tile that it does not begin, and for one
// that it does not end.
#pragma once

#include "primitives/bits.cuh"
#include "primitives/memory.cuh"
#include "primitives/sync.cuh"
#include "primitives/warpgroup.cuh"
#include "primitives/wgmma.cuh"
#include "schedule/piece.cuh"
#include "steps/result.cuh"
#include "warpgroup/shape.cuh"

namespace heddle {

template <class Config>
struct WgmmaParts {
  using S = WgmmaShape<Config>;
  using Schedule = typename Config::Schedule;
  using Piece = typename Schedule::PieceType;
  using Sums = typename Config::Sums::Sum[S::kRowTiles][S::kOwnSums];
  // Sums of a warpgroup as they lie in its registers, four of a thread at a time.
  static constexpr i64 kPartBytes = static_cast<i64>(S::kRowTiles) * S::kOwnSums * 4 * 128;

  // Registers for sums of other parts that are on their way, and how many parts that are.
  static constexpr int kSumsAhead = 64;
  static constexpr int kAllSums = S::kRowTiles * S::kOwnSums;
  static constexpr int kPartsAhead = kAllSums < kSumsAhead ? kSumsAhead / kAllSums : 1;

  WgmmaMemory<Config> memory;
  u8* workspace;
  int shared_tiles;
  int warpgroup, thread;  // of the warpgroup

  // Publishes this block's sums. True in the block that comes last, with the sums of all.
  __device__ __forceinline__ bool add_to_tile(const Schedule& schedule, const Piece& piece,
                                              Sums& sum) const {
    const int first = schedule.first_worker(piece.shared_tile, shared_tiles);
    const int count = schedule.end_worker(piece.shared_tile, shared_tiles) - first;
    const int own = schedule.worker() - first;
    // Who begins a tile with the end of its share finds the others' sums there, as a rule, and need
    // not publish its own.
    if (!schedule.is_late(piece, shared_tiles) || !others_have_come(piece.shared_tile, count)) {
      put(part(schedule.worker(), own == 0), sum);
      device_fence();
      warpgroup_barrier(1 + warpgroup);
      if (!comes_last(piece.shared_tile, count)) return false;
    }
    // Two summands may change places: the first two blocks have begun the sum already.
    const bool has_begun = own <= 1;
    if (!has_begun) {
#pragma unroll
      for (int r = 0; r < S::kRowTiles; ++r)
#pragma unroll
        for (auto& v : sum[r]) v = Config::Sums::kNothing;
    }
    const int others = has_begun ? count - 1 : count;
#pragma unroll kPartsAhead
    for (int i = 0; i < others; ++i) {
      const int at = has_begun && i >= own ? i + 1 : i;
      add(part(first + at, at == 0), sum);
    }
    return true;
  }

 private:
  // Where this thread's sums of a block are of the tile that it begins, or of the other one.
  __device__ __forceinline__ u8* part(int worker, bool begins) const {
    const int block = worker * S::kBlocks + Schedule::rank();
    const int place = 2 * block + (begins ? 1 : 0);
    return workspace + device::Workspace::kCounterBytes +
           (static_cast<i64>(place) * S::kWarpgroups + warpgroup) * kPartBytes + 16 * thread;
  }

  // Others may read them behind a fence.
  __device__ __forceinline__ void put(u8* to, const Sums& sum) const {
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
#pragma unroll
      for (int i = 0; i < S::kOwnSums; i += 4) {
        store_global_floats(to + (r * S::kOwnSums + i) * 512, Config::Sums::four(sum[r] + i));
      }
    }
  }

  __device__ __forceinline__ u32* counter(int shared_tile) const {
    return reinterpret_cast<u32*>(workspace) +
           (shared_tile * S::kBlocks + Schedule::rank()) * S::kWarpgroups + warpgroup;
  }
  __device__ __forceinline__ bool comes_last(int shared_tile, int count) const {
    u32 before = 0;
    if (thread == 0) before = atomic_add(counter(shared_tile), 1);
    return are_others(shared_tile, count, before, memory.word(warpgroup));
  }
  // Whether all others have come, before this block has published; asked once at most.
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
        const f32x4 v = load_global_floats_l2(from + (r * S::kOwnSums + i) * 512);
        Config::Sums::add(sum[r] + i, v);
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

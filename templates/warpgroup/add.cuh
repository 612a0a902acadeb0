// What a warpgroup of its own does where blocks share tiles before they turn to their whole ones:
// those that multiply put their parts into the workspace and go on, and this one counts the blocks
// of a tile. In the block that is counted last it adds their parts, in the order of K, and stores
// them, beside the whole tiles. No block waits for another.
#pragma once

#include "primitives/mbarrier.cuh"
#include "primitives/sync.cuh"
#include "warpgroup/parts.cuh"
#include "warpgroup/store.cuh"

namespace heddle {

template <class Config>
struct WgmmaAdd {
  using S = WgmmaShape<Config>;
  using Work = WgmmaWork<Config>;
  static constexpr int kSelf = S::kWarpgroups;  // its place among the warpgroups that store
  static constexpr int kTokens = S::tokens_of_pass(S::kOwnTokens);  // added at a time
  static constexpr int kSums = kTokens / 2;
  static constexpr int kPartsAhead = kSums < 48 ? 48 / kSums : 1;
  static constexpr int kMostPieces = 2;  // of a share, which is less than a tile

  WgmmaMemory<Config> memory;
  Output<Config> output;
  u8* workspace;
  int shared_tiles;
  int m;
  int thread;  // of the warpgroup

  __device__ __forceinline__ void run(const Work& work) const {
    if (!work.has_share()) return;
    mbarrier_wait(memory.parts_barrier(), 0);
    if (thread == 0) count(work);
    warpgroup_barrier(1 + kSelf);
    Work next = work;
    Piece piece;
#pragma unroll 1
    for (int i = 0; next.has_share(); ++i) {
      next.take_share(piece);
      if (load_shared_4(memory.word(i)) == 0) continue;
#pragma unroll 1
      for (int warpgroup = 0; warpgroup < S::kWarpgroups; ++warpgroup)
        add_parts(work, piece, warpgroup);
    }
  }

 private:
  __device__ __forceinline__ WgmmaParts<Config> parts_of(int warpgroup) const {
    return {memory, workspace, shared_tiles, warpgroup, thread};
  }

  // Counts this block for each of its tiles, and leaves in a word for each whether it was the last
  // one; the counter is then left as it was found. The fences stand between the parts of all
  // threads that have told parts_barrier() and the counters, and between these and the others'
  // parts. One piece after the other would wait for memory twice as often.
  __device__ __forceinline__ void count(Work work) const {
    u32* counters[kMostPieces];
    u32 others[kMostPieces];  // that have not been counted
    int pieces = 0;
    device_fence();
#pragma unroll
    for (int i = 0; i < kMostPieces; ++i) {
      if (!work.has_share()) break;
      Piece piece;
      work.take_share(piece);
      counters[i] = parts_of(0).counter(piece.shared_tile);
      others[i] = work.end_worker(piece.shared_tile, shared_tiles) -
                  work.first_worker(piece.shared_tile, shared_tiles) - 1;
      others[i] -= atomic_add(counters[i], 1);
      ++pieces;
    }
#pragma unroll
    for (int i = 0; i < kMostPieces; ++i) {
      if (i >= pieces) break;
      if (others[i] == 0) *counters[i] = 0;
      store_shared_4(memory.word(i), others[i] == 0 ? 1 : 0);
    }
    device_fence();
  }

  // Sums from number `from` on of so many blocks' parts, in the order of K.
  static __device__ __forceinline__ void add(const WgmmaParts<Config>& parts, int first, int count,
                                             int from, float (&sum)[kSums]) {
#pragma unroll
    for (float& v : sum) v = -0.0f;  // adds nothing, not even a sign
#pragma unroll 1
    for (int i = 0; i < count; i += kPartsAhead) {
      u32x4 loaded[kPartsAhead][kSums / 4];
#pragma unroll
      for (int j = 0; j < kPartsAhead; ++j) {
        if (i + j < count) parts.load(parts.part(first + i + j, i + j == 0), from, loaded[j]);
      }
#pragma unroll
      for (int j = 0; j < kPartsAhead; ++j) {
#pragma unroll
        for (int k = 0; k < kSums; k += 4) {
          if (i + j < count) parts.add_four(sum + k, loaded[j][k / 4]);
        }
      }
    }
  }

  // What one of the multiplying warpgroups has of the tile in each block, to Y.
  __device__ __forceinline__ void add_parts(const Work& work, const Piece& piece,
                                            int warpgroup) const {
    const int first = work.first_worker(piece.shared_tile, shared_tiles);
    const int count = work.end_worker(piece.shared_tile, shared_tiles) - first;
    const WgmmaParts<Config> parts = parts_of(warpgroup);
    const WgmmaStore<Config> store{memory, output, m, warpgroup, kSelf, thread};
#pragma unroll 1
    for (int r = 0; r < S::kRowTiles; ++r) {
#pragma unroll 1
      for (int token = 0; token < S::kOwnTokens; token += kTokens) {
        float sum[1][kSums];
        add(parts, first, count, r * S::kOwnSums + token / 2, sum[0]);
        store.run(piece, sum, token, r);
      }
    }
  }
};

}  // namespace heddle

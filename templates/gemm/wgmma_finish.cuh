// From a warpgroup's sums to Y. Blocks that share a tile are a cluster, each of which adds all sums
// for its part of the outputs, or they are any blocks: then each puts its sums where the others
// find them, and the one that comes last adds them all, and no one waits. Both add in the order of
// K.
#pragma once

#include "gemm/output.cuh"
#include "gemm/wgmma_work.cuh"
#include "primitives/cluster.cuh"
#include "primitives/sync.cuh"
#include "primitives/warpgroup.cuh"
#include "primitives/wgmma.cuh"

namespace heddle {

template <class Config>
struct WgmmaFinish {
  using S = WgmmaShape<Config>;
  using Sums = float[S::kRowTiles][S::kSums];
  // Sums of a warpgroup as they lie in its registers, four of a thread at a time.
  static constexpr i64 kPartBytes = static_cast<i64>(S::kRowTiles) * S::kSums * 4 * 128;

  // Registers for sums of other parts that are on their way, and how many parts that are.
  static constexpr int kSumsAhead = 64;
  static constexpr int kOwnSums = S::kRowTiles * S::kSums;
  static constexpr int kPartsAhead = kOwnSums < kSumsAhead ? kSumsAhead / kOwnSums : 1;

  WgmmaMemory<Config> memory;
  Output<Config> output;
  u8* workspace;
  int m;
  int shared_tiles;
  int warpgroup, thread;  // of the warpgroup

  __device__ __forceinline__ void run(const WgmmaWork<Config>& work, const Piece& piece,
                                      Sums& sum) const {
    if constexpr (S::kClusters) {
      if (cluster_size() > 1) return add_in_cluster(piece, sum);
    }
    if constexpr (Config::kShares) {
      const bool whole = piece.begin == 0 && piece.end == S::kTotalStages;
      if (!whole && !add_to_tile(work, piece, sum)) return;
    }
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
#pragma unroll
      for (int first = 0; first < Config::kTileM; first += S::kPassTokens) {
        const int token = piece.token_tile * Config::kTileM + first;
        const int row = piece.row_group * Config::kTileN + (S::kRowTiles * warpgroup + r) * 64;
        put<S::kPassTokens>(memory.pass(warpgroup), sum[r], first);
        warpgroup_barrier(1 + warpgroup);
        store(token, row);
        warpgroup_barrier(1 + warpgroup);
      }
    }
  }

 private:
  // Tokens of a row tile to shared memory.
  template <int kTokens>
  __device__ __forceinline__ void put(u32 shared, const float (&sums)[S::kSums], int first) const {
    const int g = thread % 32 / 4;
    const int t = thread % 4;
    const u32 to = shared + 4 * (2 * t * S::kPassRow + thread / 32 * 16 + g);
#pragma unroll
    for (int j = 0; j < kTokens / 8; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        store_shared_float(to + 4 * ((8 * j + (i & 1)) * S::kPassRow + 8 * (i >> 1)),
                           sums[(first / 8 + j) * 4 + i]);
      }
    }
  }

  // All sums of the block where its stages were, then of some outputs the sums of all blocks.
  __device__ __forceinline__ void add_in_cluster(const Piece& piece, const Sums& sum) const {
    const int blocks = static_cast<int>(cluster_size());
    const int rank = static_cast<int>(cluster_rank());
    const u32 own = memory.shared + warpgroup * S::kAllSumBytes;
    warpgroups_barrier<S::kWarpgroups>(1 + S::kWarpgroups);  // the stages have been read
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r)
      put<Config::kTileM>(own + r * S::kRowTileSumBytes, sum[r], 0);
    cluster_barrier();
    // Eight threads for 64 rows of a token.
    constexpr int kItems = S::kRowTiles * Config::kTileM * 8;
    for (int i = kItems * rank / blocks + thread; i < kItems * (rank + 1) / blocks; i += 128) {
      const int r = i / (8 * Config::kTileM);
      const int token = i / 8 % Config::kTileM;
      const int row = i % 8 * 8;
      const u32 at = own + r * S::kRowTileSumBytes + 4 * (token * S::kPassRow + row);
      Sums8 total = {};
#pragma unroll 4
      for (int block = 0; block < blocks; ++block) {
        const u32 part = address_in_block(at, block);
        add_floats(total, load_cluster_16(part), load_cluster_16(part + 16));
      }
      const int y_token = piece.token_tile * Config::kTileM + token;
      const int y_row =
          piece.row_group * Config::kTileN + (S::kRowTiles * warpgroup + r) * 64 + row;
      if (y_token < m && (Config::kN % Config::kTileN == 0 || y_row < Config::kN)) {
        output.store(y_token, y_row, total);
      }
    }
    warp_barrier();
    cluster_barrier();  // the others have read this block's sums
  }

  // Eight threads write 64 rows of a token, each eight of them.
  __device__ __forceinline__ void store(int first_token, int first_row) const {
#pragma unroll
    for (int i = thread; i < S::kPassTokens * 8; i += 128) {
      const int token = i / 8;
      const int row = i % 8 * 8;
      if (first_token + token >= m) continue;
      if (Config::kN % Config::kTileN != 0 && first_row + row >= Config::kN) continue;
      const u32 at = memory.pass(warpgroup) + 4 * (token * S::kPassRow + row);
      Sums8 sum = {};
      add_floats(sum, load_shared_16(at), load_shared_16(at + 16));
      output.store(first_token + token, first_row + row, sum);
    }
  }

  // The workspace opens with a counter for each warpgroup of each shared tile, all zero between
  // launches. Two places for each block follow: for a tile that it does not begin, and for one
  // that it does not end.
  __device__ __forceinline__ u8* part(int worker, bool begins) const {
    const int place = 2 * worker + (begins ? 1 : 0);
    return workspace + Config::kCounterBytes +
           (static_cast<i64>(place) * S::kWarpgroups + warpgroup) * kPartBytes + 16 * thread;
  }

  // Publishes this block's sums. True in the block that comes last, with the sums of all.
  __device__ __forceinline__ bool add_to_tile(const WgmmaWork<Config>& work, const Piece& piece,
                                              Sums& sum) const {
    const int first = work.first_worker(piece.shared_tile, shared_tiles);
    const int count = work.end_worker(piece.shared_tile, shared_tiles) - first;
    const int own = static_cast<int>(blockIdx.x) - first;
    // Who begins a tile with the end of its share finds the others' sums there, as a rule, and need
    // not publish its own.
    if (!work.is_late(piece, shared_tiles) || !others_have_come(piece.shared_tile, count)) {
      publish(part(static_cast<int>(blockIdx.x), own == 0), sum);
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
      for (int i = 0; i < S::kSums; i += 4) {
        store_global_16(to + (r * S::kSums + i) * 512,
                        pack_floats(sum[r][i], sum[r][i + 1], sum[r][i + 2], sum[r][i + 3]));
      }
    }
    device_fence();
    warpgroup_barrier(1 + warpgroup);
  }

  __device__ __forceinline__ u32* counter(int shared_tile) const {
    return reinterpret_cast<u32*>(workspace) + shared_tile * S::kWarpgroups + warpgroup;
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
      for (int i = 0; i < S::kSums; i += 4) {
        const u32x4 v = load_global_16_l2(from + (r * S::kSums + i) * 512);
        sum[r][i] += __uint_as_float(v.x);
        sum[r][i + 1] += __uint_as_float(v.y);
        sum[r][i + 2] += __uint_as_float(v.z);
        sum[r][i + 3] += __uint_as_float(v.w);
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

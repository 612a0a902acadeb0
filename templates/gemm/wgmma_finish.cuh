// From a warpgroup's sums to Y. Of a tile that several blocks share, each block puts its sums where
// the others find them, and the one that comes last adds them all in the order of K. No one waits.
#pragma once

#include "gemm/output.cuh"
#include "gemm/wgmma_work.cuh"
#include "primitives/sync.cuh"
#include "primitives/warpgroup.cuh"

namespace heddle {

template <class Config>
struct WgmmaFinish {
  using S = WgmmaShape<Config>;
  using Sums = float[S::kRowTiles][S::kSums];
  // Sums of a warpgroup as they lie in its registers, four of a thread at a time.
  static constexpr i64 kPartBytes = static_cast<i64>(S::kRowTiles) * S::kSums * 4 * 128;

  // Parts whose sums are on their way at a time: they need as many registers as the sums.
  static constexpr int kPartsAhead = S::kRowTiles * S::kSums <= 64 ? 2 : 1;

  WgmmaMemory<Config> memory;
  Output<Config> output;
  u8* workspace;
  int m;
  int shared_tiles;
  int warpgroup, thread;  // of the warpgroup

  __device__ __forceinline__ void run(const WgmmaWork<Config>& work, const Piece& piece,
                                      Sums& sum) const {
    if constexpr (Config::kShares) {
      const bool whole = piece.begin == 0 && piece.end == Config::kChunks;
      if (!whole && !add_to_tile(work, piece, sum)) return;
    }
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
#pragma unroll
      for (int first = 0; first < Config::kTileM; first += S::kPassTokens) {
        const int token = piece.token_tile * Config::kTileM + first;
        const int row = piece.row_group * Config::kTileN + (S::kRowTiles * warpgroup + r) * 64;
        put(sum[r], first);
        warpgroup_barrier(1 + warpgroup);
        store(token, row);
        warpgroup_barrier(1 + warpgroup);
      }
    }
  }

 private:
  // Some tokens of a row tile to shared memory.
  __device__ __forceinline__ void put(const float (&sums)[S::kSums], int first) const {
    const int g = thread % 32 / 4;
    const int t = thread % 4;
    const u32 to = memory.pass(warpgroup) + 4 * (2 * t * S::kPassRow + thread / 32 * 16 + g);
#pragma unroll
    for (int j = 0; j < S::kPassTokens / 8; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        store_shared_float(to + 4 * ((8 * j + (i & 1)) * S::kPassRow + 8 * (i >> 1)),
                           sums[(first / 8 + j) * 4 + i]);
      }
    }
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
    publish(part(static_cast<int>(blockIdx.x), own == 0), sum);
    if (!comes_last(piece.shared_tile, count)) return false;
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

  __device__ __forceinline__ bool comes_last(int shared_tile, int count) const {
    if (thread == 0) {
      u32* counter = reinterpret_cast<u32*>(workspace) + shared_tile * S::kWarpgroups + warpgroup;
      const u32 before = atomic_add(counter, 1);
      // It leaves the counter as it was found.
      if (before + 1 == static_cast<u32>(count)) *counter = 0;
      device_fence();
      store_shared_4(memory.word(warpgroup), before);
    }
    warpgroup_barrier(1 + warpgroup);
    return load_shared_4(memory.word(warpgroup)) + 1 == static_cast<u32>(count);
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
      }
    }
  }
};

}  // namespace heddle

// From FP32 sums in registers to Y: add the warps along K, then the blocks of a split, both in a
// fixed order.
#pragma once

#include "primitives/sync.cuh"
#include "steps/output.cuh"
#include "tiles/shape.cuh"

namespace heddle {

// All kThreads threads of the block finish; not all of them need have sums.
template <class Config, int kThreads = Shape<Config>::kThreads>
struct Epilogue {
  using S = Shape<Config>;
  using Schedule = typename Config::Schedule;
  static constexpr int kVectors = Config::value.vectors();
  // Rows whose sums a thread stores at a time, and such stores for a token of the tile.
  static constexpr int kRows = Config::value.epilogue.rows();
  static constexpr int kTokenOutputs = Config::value.tile_n / kRows;
  // The workspace opens with one counter per output tile, all zero between launches; the partial
  // sums of the blocks follow.
  static constexpr int kCounterBytes = device::Workspace::kCounterBytes;
  static constexpr i64 kTileFloats = static_cast<i64>(Config::value.tile_m) * Config::value.tile_n;

  u32 shared;
  int part;  // of the tile's K, where blocks share that
  Output<Config> output;
  u8* workspace;
  int m;

  // Writes one warp's tile. (row, token) is the warp's first in the block's tile.
  template <class WarpTile>
  __device__ __forceinline__ void put(const WarpTile& warp, int warp_k) const {
    const u32 plane = shared + 4 * warp_k * Config::value.tile_m * S::kSumStride;
#pragma unroll
    for (int r = 0; r < S::kRowTiles; ++r) {
#pragma unroll
      for (int j = 0; j < S::kTokenTiles; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int token = warp.token_row + 8 * j + 2 * warp.t + (i & 1);
          const int row = 16 * (warp.row_block + r) + warp.g + 8 * (i >> 1);
          store_shared_float(plane + 4 * (token * S::kSumStride + row), warp.sum[r][j][i]);
        }
      }
    }
  }

  // After a barrier behind put(): the sums of the warps at `warp_k` along K, from that row on.
  __device__ __forceinline__ u32 sums_at(int warp_k, int token, int row) const {
    return shared + 4 * ((warp_k * Config::value.tile_m + token) * S::kSumStride + row);
  }
  // Those of all warps, added in their order.
  __device__ __forceinline__ Sums8 sum_of_warps(int token, int row) const {
    Sums8 sum = {};
#pragma unroll
    for (int k = 0; k < Config::value.warps_k; ++k) {
      const u32 at = sums_at(k, token, row);
      add_floats(sum, load_shared_floats(at), load_shared_floats(at + 16));
    }
    return sum;
  }

  // The row of W that is row `row` of the tile.
  __device__ __forceinline__ int global_row(int row) const {
    return Schedule::row_tile() * Config::value.tile_n + row;
  }

  // After a barrier behind put(): all threads finish the tile.
  __device__ __forceinline__ void finish() const {
    if constexpr (Config::value.split_k > 1) {
      if (!add_to_split()) return;
    }
    for (int i = threadIdx.x; i < Config::value.outputs(); i += kThreads) {
      const int token = i / kTokenOutputs;
      const int row = i % kTokenOutputs * kRows;
      if (!inside(token, row)) continue;
      output.store(global_token(token), global_row(row), [&](int half) {
        return Config::value.split_k > 1 ? sum_of_split(i * kRows / 8 + half)
                                         : sum_of_warps(token, row + 8 * half);
      });
    }
  }

 private:
  __device__ __forceinline__ int global_token(int token) const {
    return Schedule::first_token() + token;
  }
  __device__ __forceinline__ bool inside(int token, int row) const {
    return global_token(token) < m && (Config::value.shape.n % Config::value.tile_n == 0 ||
                                       global_row(row) < Config::value.shape.n);
  }

  __device__ __forceinline__ u8* partial_tile(int split) const {
    const i64 place = static_cast<i64>(Schedule::shared_tile()) * Config::value.split_k + split;
    return workspace + kCounterBytes + 4 * kTileFloats * place;
  }

  // Publishes this block's sums. True in the block that comes last, which sees all of them.
  __device__ __forceinline__ bool add_to_split() const {
    u8* mine = partial_tile(part);
    for (int i = threadIdx.x; i < kVectors; i += kThreads) {
      const int token = i / (Config::value.tile_n / 8);
      const int row = i % (Config::value.tile_n / 8) * 8;
      if (!inside(token, row)) continue;
      const Sums8 sum = sum_of_warps(token, row);
      store_global_floats(mine + 32 * i, {sum.v[0], sum.v[1], sum.v[2], sum.v[3]});
      store_global_floats(mine + 32 * i + 16, {sum.v[4], sum.v[5], sum.v[6], sum.v[7]});
    }
    device_fence();
    block_barrier();
    // The sums in shared memory have been read: its first word is free.
    if (threadIdx.x == 0) {
      u32* counter = reinterpret_cast<u32*>(workspace) + Schedule::shared_tile();
      const u32 before = atomic_add(counter, 1);
      // The last block leaves the counter as it was found.
      if (before == Config::value.split_k - 1) *counter = 0;
      device_fence();
      store_shared_4(shared, before);
    }
    block_barrier();
    return load_shared_4(shared) == Config::value.split_k - 1;
  }

  // The blocks' partial sums in the order of K, whichever block came last.
  __device__ __forceinline__ Sums8 sum_of_split(int vector) const {
    Sums8 sum = {};
#pragma unroll 4
    for (int split = 0; split < Config::value.split_k; ++split) {
      const u8* at = partial_tile(split) + 32 * vector;
      add_floats(sum, load_global_floats_l2(at), load_global_floats_l2(at + 16));
    }
    return sum;
  }
};

}  // namespace heddle

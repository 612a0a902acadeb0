// Takes the sums of the warps to Y: those of a block's warps are added in their order, then those
// of the blocks that share K in theirs.
#pragma once

#include "gemv/config.h"
#include "primitives/sync.cuh"
#include "steps/output.cuh"

namespace heddle {

template <class Config>
struct GemvSums {
  static constexpr int kVectorBytes = 32;  // eight sums in FP32

  u32 shared;  // of the block's sums
  Output<Config> output;
  u8* workspace;  // a counter for each row block, then [row block][part of K][16] sums
  int row_block;
  int part;  // of K

  // Lane 4g + t of each warp has the sums of rows g and g + 8.
  __device__ __forceinline__ void put(int warp, int lane, RowPair sum) const {
    if (lane % 4 != 0) return;
    const u32 at = shared + warp * GemvConfig::kSumBytes + lane;
    store_shared_float(at, sum.low);
    store_shared_float(at + 32, sum.high);
  }

  // Called after put() and a barrier, by the lanes of one warp: a lane to each output, of eight
  // rows or of all.
  __device__ __forceinline__ void finish(int lane) const {
    constexpr int kRows = Config::value.epilogue.rows();
    const int row = Chunk::kRows * row_block + kRows * lane;
    const bool has_rows = lane < Chunk::kRows / kRows && row < Config::value.shape.n;
    const int first = kRows / 8 * lane;  // vector
    if constexpr (Config::value.split_k > 1) {
      if (has_rows) {
#pragma unroll
        for (int half = 0; half < kRows / 8; ++half)
          publish(first + half, sum_of_warps(first + half));
      }
      if (!is_last(lane)) return;
    }
    if (!has_rows) return;
    output.store(0, row, [&](int half) {
      return Config::value.split_k > 1 ? sum_of_parts(first + half) : sum_of_warps(first + half);
    });
  }

 private:
  __device__ __forceinline__ Sums8 sum_of_warps(int vector) const {
    Sums8 sum = {};
#pragma unroll
    for (int warp = 0; warp < Config::value.warps_k; ++warp) {
      const u32 at = shared + warp * GemvConfig::kSumBytes + vector * kVectorBytes;
      add_floats(sum, load_shared_floats(at), load_shared_floats(at + 16));
    }
    return sum;
  }

  __device__ __forceinline__ u8* published(int part_of_k, int vector) const {
    const i64 sums = static_cast<i64>(row_block) * Config::value.split_k + part_of_k;
    return workspace + Workspace::kCounterBytes + sums * GemvConfig::kSumBytes +
           vector * kVectorBytes;
  }
  __device__ __forceinline__ void publish(int vector, const Sums8& sum) const {
    u8* const to = published(part, vector);
    store_global_floats(to, {sum.v[0], sum.v[1], sum.v[2], sum.v[3]});
    store_global_floats(to + 16, {sum.v[4], sum.v[5], sum.v[6], sum.v[7]});
  }
  // Whether this block comes last, and sees the sums of all. It leaves the counter as it was found.
  __device__ __forceinline__ bool is_last(int lane) const {
    warp_barrier();
    u32 before = 0;
    if (lane == 0) {
      device_fence();
      u32* const counter = reinterpret_cast<u32*>(workspace) + row_block;
      before = atomic_add(counter, 1);
      if (before == Config::value.split_k - 1) store_global_4(counter, 0);
      device_fence();
    }
    before = broadcast(before, 0);
    warp_barrier();
    return before == Config::value.split_k - 1;
  }
  // Adds the parts in the order of K, whichever block came last.
  __device__ __forceinline__ Sums8 sum_of_parts(int vector) const {
    Sums8 sum = {};
#pragma unroll
    for (int i = 0; i < Config::value.split_k; ++i) {
      const u8* const at = published(i, vector);
      add_floats(sum, load_global_floats_l2(at), load_global_floats_l2(at + 16));
    }
    return sum;
  }
};

}  // namespace heddle

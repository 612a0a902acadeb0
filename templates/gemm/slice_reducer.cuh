// The warp that adds the slices of each row block in the order of K, and the blocks of a split,
// too, and writes the outputs.
#pragma once

#include "gemm/output.cuh"
#include "gemm/slice_shape.cuh"
#include "primitives/dependent_launch.cuh"
#include "primitives/sync.cuh"

namespace heddle {

template <class Config>
struct SliceReducer {
  using S = SliceShape<Config>;
  // Eight outputs of one token; a row block has two of them for each token.
  static constexpr int kVectors = 2 * Config::kTileM;
  static constexpr i64 kSplitBytes = static_cast<i64>(Config::kRowBlocks) * kVectors * 32;

  SliceMemory<Config> memory;
  Output<Config> output;
  u8* workspace;
  int m;
  int lane;

  __device__ __forceinline__ void run() const {
    const int runs = slice_runs<Config>();
    wait_for_predecessor();
#pragma unroll 1
    for (int i = 0; i < runs; ++i) {
      const int buffer = i & 1;
      mbarrier_wait(memory.full_barrier(buffer), i >> 1 & 1);
#pragma unroll
      for (int warp_n = 0; warp_n < Config::kWarpsN; ++warp_n) {
        const int row_block = slice_row_block<Config>(i, warp_n);
        if (row_block < Config::kRowBlocks) finish_slices(buffer, warp_n, row_block);
      }
      mbarrier_arrive(memory.free_barrier(buffer));
    }
    if constexpr (Config::kSplitK > 1) {
      if (comes_last()) finish_splits(runs);
    }
  }

 private:
  __device__ __forceinline__ bool inside(int vector, int row_block) const {
    return vector / 2 < m &&
           (Config::kN % 16 == 0 || 16 * row_block + 8 * (vector % 2) < Config::kN);
  }

  // Written, or put where the other blocks of a split find it.
  __device__ __forceinline__ void finish_slices(int buffer, int warp_n, int row_block) const {
#pragma unroll
    for (int vector = lane; vector < kVectors; vector += 32) {
      if (!inside(vector, row_block)) continue;
      const Sums8 sum = sum_of_slices(buffer, warp_n, vector);
      if constexpr (Config::kSplitK > 1) {
        u8* at = partial(blockIdx.y, row_block, vector);
        store_global_16(at, pack_floats(sum.v[0], sum.v[1], sum.v[2], sum.v[3]));
        store_global_16(at + 16, pack_floats(sum.v[4], sum.v[5], sum.v[6], sum.v[7]));
      } else {
        output.store(vector / 2, 16 * row_block + 8 * (vector % 2), sum);
      }
    }
  }

  __device__ __forceinline__ Sums8 sum_of_slices(int buffer, int warp_n, int vector) const {
    Sums8 sum = {};
#pragma unroll
    for (int k = 0; k < Config::kWarpsK; ++k) {
      const u32 at = memory.sums(buffer, warp_n * Config::kWarpsK + k) +
                     4 * (vector / 2 * S::kSumRow + 8 * (vector % 2));
      add_floats(sum, load_shared_16(at), load_shared_16(at + 16));
    }
    return sum;
  }

  // The workspace opens with one counter for each of the blocks that share the rows, all zero
  // between launches; the sums of each split follow.
  __device__ __forceinline__ u8* partial(int split, int row_block, int vector) const {
    return workspace + Config::kCounterBytes + split * kSplitBytes +
           (static_cast<i64>(row_block) * kVectors + vector) * 32;
  }

  // True in the block of a split that comes last, which sees the sums of all.
  __device__ __forceinline__ bool comes_last() const {
    device_fence();
    warp_barrier();
    u32 before = 0;
    if (lane == 0) {
      u32* counter = reinterpret_cast<u32*>(workspace) + blockIdx.x;
      before = atomic_add(counter, 1);
      // It leaves the counter as it was found.
      if (before == Config::kSplitK - 1) *counter = 0;
      device_fence();
    }
    return broadcast(before, 0) == Config::kSplitK - 1;
  }

  // The row blocks of this block, all their vectors spread over the lanes.
  __device__ __forceinline__ void finish_splits(int runs) const {
    const int vectors = 2 * m;  // of a row block, tokens that exist
    const int all = runs * Config::kWarpsN * vectors;
#pragma unroll 2
    for (int i = lane; i < all; i += 32) {
      const int block = i / vectors;
      const int vector = i % vectors;
      const int row_block =
          slice_row_block<Config>(block / Config::kWarpsN, block % Config::kWarpsN);
      if (row_block >= Config::kRowBlocks || !inside(vector, row_block)) continue;
      output.store(vector / 2, 16 * row_block + 8 * (vector % 2), sum_of_split(row_block, vector));
    }
  }

  __device__ __forceinline__ Sums8 sum_of_split(int row_block, int vector) const {
    Sums8 sum = {};
#pragma unroll
    for (int split = 0; split < Config::kSplitK; ++split) {
      const u8* at = partial(split, row_block, vector);
      add_floats(sum, load_global_16_l2(at), load_global_16_l2(at + 16));
    }
    return sum;
  }
};

}  // namespace heddle

// Adds the warps' sums in the order of K, and those of the blocks of a split, and writes the
// outputs.
#pragma once

#include "gemm/output.cuh"
#include "gemm/stream_shape.cuh"
#include "primitives/sync.cuh"

namespace heddle {

template <class Config>
struct StreamSums {
  using S = StreamShape<Config>;
  // Eight outputs of one token; a row block has two of them for each token.
  static constexpr int kVectors = 2 * Config::kTokens;
  static constexpr i64 kSplitBytes = static_cast<i64>(Config::kRowBlocks) * kVectors * 32;

  StreamMemory<Config> memory;
  Output<Config> output;
  u8* workspace;
  int m;
  int warp;
  int lane;

  __device__ __forceinline__ void init_barriers() const {
    if (!elect_one()) return;
#pragma unroll
    for (int slot = 0; slot < S::kSlots; ++slot) {
      mbarrier_init(memory.full_barrier(slot), Config::kWarpsK);
      mbarrier_init(memory.free_barrier(slot), 1);
    }
    mbarrier_init_fence();
  }

  // A warp's sums of a piece of a row block, in fragment order; `count` counts those of all pieces
  // and row blocks through. The warp that comes last adds: no one waits for another's sums.
  __device__ __forceinline__ void put(int count, int row_block, int block, bool first, bool last,
                                      const float (&sum)[S::kTokenTiles][4]) const {
    const int slot = count % S::kSlots;
    const u32 parity = count / S::kSlots & 1;
    // A fresh barrier counts as one whose phase of parity 1 has ended.
    mbarrier_wait(memory.free_barrier(slot), parity ^ 1);
    const int t = lane % 4;
    if (t < S::kPairs) {
#pragma unroll
      for (int j = 0; j < S::kTokenTiles; ++j) {
        store_shared_16(memory.sums(slot, warp) + 16 * ((8 * j + lane / 4) * S::kPairs + t),
                        pack_floats(sum[j][0], sum[j][1], sum[j][2], sum[j][3]));
      }
    }
    warp_barrier();
    u32 comes_last = 0;
    if (lane == 0) comes_last = mbarrier_arrive_last(memory.full_barrier(slot));
    if (broadcast(comes_last, 0) == 0) return;
    mbarrier_wait(memory.full_barrier(slot), parity);
    add(slot, block, first, last);
    if (last) finish(slot, row_block);
    warp_barrier();
    if (lane == 0) mbarrier_arrive(memory.free_barrier(slot));
  }

 private:
  // The sums of all warps, into the place of warp 0 or where they are kept.
  __device__ __forceinline__ void add(int slot, int block, bool first, bool last) const {
#pragma unroll
    for (int i = lane; i < S::kSumVectors; i += 32) {
      float sum[4] = {};
      const u32 kept = memory.kept_sums(block) + 16 * i;
      if (S::kKeepsSums && !first) add_to(sum, load_shared_16(kept));
#pragma unroll
      for (int warp = 0; warp < Config::kWarpsK; ++warp) {
        add_to(sum, load_shared_16(memory.sums(slot, warp) + 16 * i));
      }
      const u32x4 all = pack_floats(sum[0], sum[1], sum[2], sum[3]);
      store_shared_16(last ? memory.sums(slot, 0) + 16 * i : kept, all);
    }
    warp_barrier();
  }
  static __device__ __forceinline__ void add_to(float (&sum)[4], u32x4 v) {
    sum[0] += float_from_bits(v.x);
    sum[1] += float_from_bits(v.y);
    sum[2] += float_from_bits(v.z);
    sum[3] += float_from_bits(v.w);
  }

  // Written, or put where the other blocks of a split find it.
  __device__ __forceinline__ void finish(int slot, int row_block) const {
    for_each_vector(row_block, [&](int vector) {
      const Sums8 sum = vector_of(slot, vector);
      if constexpr (Config::kSplitK == 1) {
        store(row_block, vector, sum);
      } else {
        put_partial(row_block, vector, sum);
      }
    });
    if constexpr (Config::kSplitK > 1) {
      if (!comes_last(row_block)) return;
      for_each_vector(row_block, [&](int vector) {
        store(row_block, vector, sum_of_splits(row_block, vector));
      });
    }
  }

  // Calls f(vector) for what exists: vector 2 * token + (0: rows 0..7, 1: rows 8..15).
  template <class F>
  __device__ __forceinline__ void for_each_vector(int row_block, F f) const {
#pragma unroll
    for (int first = 0; first < kVectors; first += 32) {
      const int vector = first + lane;
      const bool inside = Config::kN % 16 == 0 || 16 * row_block + 8 * (vector % 2) < Config::kN;
      if (vector < 2 * m && inside) f(vector);
    }
  }

  // Out of the fragments of all warps' sums.
  __device__ __forceinline__ Sums8 vector_of(int slot, int vector) const {
    const int token = vector / 2;
    const u32 at = memory.sums(slot, 0) + 16 * (token / 8 * 8 * S::kPairs + token % 8 / 2) +
                   4 * (2 * (vector % 2) + token % 2);
    Sums8 sum;
#pragma unroll
    for (int g = 0; g < 8; ++g) sum.v[g] = float_from_bits(load_shared_4(at + 16 * S::kPairs * g));
    return sum;
  }

  __device__ __forceinline__ void store(int row_block, int vector, const Sums8& sum) const {
    output.store(vector / 2, 16 * row_block + 8 * (vector % 2), sum);
  }

  // The workspace opens with one counter for each row block, all zero between launches; the sums of
  // each split follow.
  __device__ __forceinline__ u8* partial(int split, int row_block, int vector) const {
    return workspace + Config::kCounterBytes + split * kSplitBytes +
           (static_cast<i64>(row_block) * kVectors + vector) * 32;
  }
  __device__ __forceinline__ void put_partial(int row_block, int vector, const Sums8& sum) const {
    u8* at = partial(blockIdx.y, row_block, vector);
    store_global_16(at, pack_floats(sum.v[0], sum.v[1], sum.v[2], sum.v[3]));
    store_global_16(at + 16, pack_floats(sum.v[4], sum.v[5], sum.v[6], sum.v[7]));
  }
  __device__ __forceinline__ Sums8 sum_of_splits(int row_block, int vector) const {
    Sums8 sum = {};
#pragma unroll
    for (int split = 0; split < Config::kSplitK; ++split) {
      const u8* at = partial(split, row_block, vector);
      add_floats(sum, load_global_16_l2(at), load_global_16_l2(at + 16));
    }
    return sum;
  }

  // True in the block of a split that comes last, which sees the sums of all.
  __device__ __forceinline__ bool comes_last(int row_block) const {
    device_fence();
    warp_barrier();
    u32 before = 0;
    if (lane == 0) {
      u32* counter = reinterpret_cast<u32*>(workspace) + row_block;
      before = atomic_add(counter, 1);
      // It leaves the counter as it was found.
      if (before == Config::kSplitK - 1) *counter = 0;
      device_fence();
    }
    return broadcast(before, 0) == Config::kSplitK - 1;
  }
};

}  // namespace heddle

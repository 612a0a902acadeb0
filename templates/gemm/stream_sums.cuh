// The sums of a row block: the warps that multiply put theirs into a slot of shared memory; one
// warp more adds them in the order of K, and those of the other blocks of a cluster, and writes the
// outputs.
#pragma once

#include "gemm/output.cuh"
#include "gemm/stream_rows.cuh"
#include "gemm/stream_shape.cuh"
#include "primitives/cluster.cuh"
#include "primitives/sync.cuh"

namespace heddle {

// A warp's, in fragment order; `i` counts the block's row blocks.
template <class Config>
__device__ __forceinline__ void put_sums(const StreamMemory<Config>& memory, int i, int warp,
                                         int lane, const float (&sum)[4]) {
  using S = StreamShape<Config>;
  const int slot = i % S::kSlots;
  // A fresh barrier counts as one whose phase of parity 1 has ended.
  mbarrier_wait(memory.free_barrier(slot), (i / S::kSlots & 1) ^ 1);
  const int t = lane % 4;
  if (t < S::kPairs) {
    store_shared_16(memory.sums(slot, warp) + 16 * (lane / 4 * S::kPairs + t),
                    pack_floats(sum[0], sum[1], sum[2], sum[3]));
  }
  mbarrier_arrive(memory.full_barrier(slot));
}

// The warp that adds.
template <class Config>
struct StreamSums {
  using S = StreamShape<Config>;
  static constexpr bool kAlone = Config::kSplitK == 1;

  StreamMemory<Config> memory;
  StreamRows<Config> rows;
  Output<Config> output;
  int m;
  int lane;

  // Other warps may use them after a barrier of the block, other blocks after one of the cluster.
  __device__ __forceinline__ void init_barriers() const {
    if (!elect_one()) return;
#pragma unroll
    for (int slot = 0; slot < S::kSlots; ++slot) {
      mbarrier_init(memory.full_barrier(slot), 32 * Config::kWarpsK);
      mbarrier_init(memory.free_barrier(slot), 32);
      if constexpr (!kAlone) {
        mbarrier_init(memory.cluster_full_barrier(slot), 1);
        mbarrier_init(memory.cluster_free_barrier(slot), 1);
      }
    }
    mbarrier_init_fence();
    if constexpr (!kAlone) {
#pragma unroll
      for (int slot = 0; slot < S::kSlots; ++slot) expect_others(slot);
    }
  }

  __device__ __forceinline__ void run() const {
    const int count = rows.count();
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      const int slot = i % S::kSlots;
      const u32 parity = i / S::kSlots & 1;
      mbarrier_wait(memory.full_barrier(slot), parity);
      float sum[4] = {};
      add_places(slot, 0, Config::kWarpsK, sum);
      if (kAlone || cluster_rank() == 0) {
        if constexpr (!kAlone) add_others(slot, parity, sum);
        put(memory.sums(slot, 0), sum);
        warp_barrier();
        write(slot, rows.row_block(i));
      } else {
        send(slot, parity, sum);
      }
      mbarrier_arrive(memory.free_barrier(slot));
    }
  }

 private:
  // What a lane holds of the sums of some places of a slot.
  __device__ __forceinline__ void add_places(int slot, int begin, int end, float (&sum)[4]) const {
    if (lane >= S::kSumVectors) return;
#pragma unroll
    for (int place = begin; place < end; ++place) {
      const u32x4 v = load_shared_16(memory.sums(slot, place) + 16 * lane);
      sum[0] += float_from_bits(v.x);
      sum[1] += float_from_bits(v.y);
      sum[2] += float_from_bits(v.z);
      sum[3] += float_from_bits(v.w);
    }
  }
  __device__ __forceinline__ void put(u32 sums, const float (&sum)[4]) const {
    if (lane >= S::kSumVectors) return;
    store_shared_16(sums + 16 * lane, pack_floats(sum[0], sum[1], sum[2], sum[3]));
  }

  // Between the blocks of a cluster: the first one adds and writes.
  __device__ __forceinline__ void expect_others(int slot) const {
    if (cluster_rank() != 0) return;
    mbarrier_arrive_expect(memory.cluster_full_barrier(slot), (Config::kSplitK - 1) * S::kSumBytes);
  }
  __device__ __forceinline__ void add_others(int slot, u32 parity, float (&sum)[4]) const {
    mbarrier_wait_cluster(memory.cluster_full_barrier(slot), parity);
    add_places(slot, Config::kWarpsK, S::kPlaces, sum);
    warp_barrier();
    if (lane == 0) expect_others(slot);
    warp_barrier();
    if (lane > 0 && lane < Config::kSplitK) {
      mbarrier_arrive_remote(address_in_block(memory.cluster_free_barrier(slot), lane));
    }
  }
  __device__ __forceinline__ void send(int slot, u32 parity, const float (&sum)[4]) const {
    // Who sends nothing does not wait: the phase after may end before it has looked, as the first
    // block waits for what is sent only, and then it would wait for ever.
    if (lane >= S::kSumVectors) return;
    mbarrier_wait_cluster(memory.cluster_free_barrier(slot), parity ^ 1);
    const u32 place = memory.sums(slot, Config::kWarpsK + cluster_rank() - 1) + 16 * lane;
    store_remote_16(address_in_block(place, 0), pack_floats(sum[0], sum[1], sum[2], sum[3]),
                    address_in_block(memory.cluster_full_barrier(slot), 0));
  }

  __device__ __forceinline__ void write(int slot, int row_block) const {
    const int row = 16 * row_block + 8 * (lane % 2);
    const bool inside = Config::kN % 16 == 0 || row < Config::kN;
    if (lane < 2 * m && inside) output.store(lane / 2, row, vector_of(slot));
  }
  // Of token lane / 2, rows 0..7 or 8..15, out of fragments.
  __device__ __forceinline__ Sums8 vector_of(int slot) const {
    const int token = lane / 2;
    const u32 at = memory.sums(slot, 0) + 16 * (token % 8 / 2) + 4 * (2 * (lane % 2) + token % 2);
    Sums8 sum;
#pragma unroll
    for (int g = 0; g < 8; ++g) sum.v[g] = float_from_bits(load_shared_4(at + 16 * S::kPairs * g));
    return sum;
  }
};

}  // namespace heddle

// The end of a split: the results of the block's warps are added, then those of the cluster's
// blocks, then the clusters that have splits of the same problem meet. Each in a fixed order.
#pragma once

#include "attention/output.cuh"
#include "primitives/mbarrier.cuh"

namespace heddle {

// Reads every group of S.
template <class S>
struct AttentionFinish {
  using Softmax = AttentionSoftmax<S>;
  using Cluster = AttentionCluster<S::kMostCluster>;
  using Output = AttentionOutput<S>;
  static constexpr int kQuads = Output::kQuads;
  // Whether the warps' results are brought to one reference as they are added, which saves a
  // barrier. Two row tiles leave no registers for it.
  static constexpr bool kScaledLast = S::kRowTiles == 1;

  Output output;
  const AttentionScheduler<S>& scheduler;
  u32 memory;
  int warp;
  int lane;

  // Every thread of the block calls it before anything else.
  static __device__ __forceinline__ void start(u32 memory) {
    if constexpr (S::kMostCluster > 1) {
      if (Cluster::blocks() == 1) return;
      if (threadIdx.x == 0) {
        mbarrier_init(memory + S::kExchangeOffset, 1);
        mbarrier_init_fence();
        store_shared_4(memory + S::kExchangeOffset + 8, 0);
      }
      cluster_barrier();
    }
  }

  // Every thread of the block calls it. `room`: a row tile of the warp's own. True if this block is
  // the one to merge the problem.
  __device__ __forceinline__ bool finish(const KvSplit& split, Softmax& softmax, u32 room) const {
    const int g = lane / 4;
    const int t = lane % 4;
    if (lane == 0) store_shared_4(output_tile(warp), room);
    add_lanes(softmax, g, t);
    if constexpr (kScaledLast) {
      warp_barrier();  // every lane has read what was in the room
    } else {
      block_barrier();
    }
    const bool whole = scheduler.is_whole(split);
    const bool exchanges_rows = scheduler.cluster_adds(split);
    u8* slot = output.slot_of(Output::block(Cluster::index()), split.begin == split.problem_begin);
#pragma unroll
    for (int n = 0; n < S::kRowTiles; ++n) {
      if (n > 0) block_barrier();
#pragma unroll
      for (int c = 0; c < 2; ++c)
        store_row(softmax, n, c, g, t, room + 4 * (2 * t + c) * S::kSumStride);
      u32 exchanges = 0;  // that have been
      if (exchanges_rows) exchanges = load_shared_4(memory + S::kExchangeOffset + 8);
      block_barrier();
      if (exchanges_rows) {
        if constexpr (S::kMostCluster > 1) exchange(split, n, exchanges, whole, slot);
      } else if (Cluster::rank() == 0) {
        add_warps(split, n, whole, slot);
      }
    }
    // All have read what the rings and the next split will overwrite.
    block_barrier();
    return !whole && arrive(split);
  }

 private:
  // Where the address of a warp's output tile is.
  __device__ __forceinline__ u32 output_tile(int of_warp) const {
    return memory + S::kOutputTilesOffset + 4 * of_warp;
  }
  __device__ __forceinline__ u32 stats(int row, int of_warp) const {
    return memory + S::kStatsOffset + 8 * (row * S::kWarps + of_warp);
  }

  __device__ __forceinline__ void add_lanes(Softmax& softmax, int g, int t) const {
#pragma unroll
    for (int n = 0; n < S::kRowTiles; ++n) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        float& sum = softmax.sum[n][c];
        sum += shuffle_xor(sum, 4);
        sum += shuffle_xor(sum, 8);
        sum += shuffle_xor(sum, 16);
        if (g == 0) {
          store_shared_float(stats(kQueryTile * n + 2 * t + c, warp), softmax.reference[n][c]);
          store_shared_float(stats(kQueryTile * n + 2 * t + c, warp) + 4, sum);
        }
      }
    }
  }

  // A row's reference and sum of all warps, and the factor that brings each warp's result to it.
  struct RowSum {
    float reference = Softmax::kNothing;
    float total = 0.0f;
    float factors[S::kWarps];
  };
  __device__ __forceinline__ RowSum row_of_warps(int row) const {
    RowSum all;
    u64 both[S::kWarps];
#pragma unroll
    for (int w = 0; w < S::kWarps; ++w) both[w] = load_shared_8(stats(row, w));
#pragma unroll
    for (int w = 0; w < S::kWarps; ++w)
      all.reference = larger(all.reference, float_from_bits(static_cast<u32>(both[w])));
#pragma unroll
    for (int w = 0; w < S::kWarps; ++w) {
      all.factors[w] = exp2_fast(float_from_bits(static_cast<u32>(both[w])) - all.reference);
      all.total += all.factors[w] * float_from_bits(static_cast<u32>(both[w] >> 32));
    }
    return all;
  }

  // Stores the lane's elements of row c of two, as many neighbours at once as it has.
  __device__ __forceinline__ void store_row(const Softmax& softmax, int n, int c, int g, int t,
                                            u32 to) const {
    float factor = 1.0f;
    if constexpr (!kScaledLast)
      factor =
          exp2_fast(softmax.reference[n][c] - row_of_warps(kQueryTile * n + 2 * t + c).reference);
    constexpr int kRun = AttentionValues<S>::kNeighbours;
#pragma unroll
    for (int i = 0; i < 2 * S::kDimTiles; i += kRun) {
      float x[kRun];
#pragma unroll
      for (int j = 0; j < kRun; ++j)
        x[j] = softmax.value(n, (i + j) / 2, (i + j) % 2 * 2 + c) * factor;
      const u32 at = to + 4 * AttentionValues<S>::dim(i / 2, i % 2, g);
      if constexpr (kRun == 4) {
        store_shared_16(at, pack_floats(x[0], x[1], x[2], x[3]));
      } else if constexpr (kRun == 2) {
        store_shared_8(at, bits_of_float(x[0]), bits_of_float(x[1]));
      } else {
        store_shared_float(at, x[0]);
      }
    }
  }

  // Four elements of a row, of all warps.
  __device__ __forceinline__ Quad quad_of_warps(int i, const RowSum& all) const {
    Quad sum = {};
#pragma unroll
    for (int w = 0; w < S::kWarps; ++w) {
      const Quad partial = quad_of(load_shared_16(
          load_shared_4(output_tile(w)) + 4 * (i / kQuads * S::kSumStride) + 16 * (i % kQuads)));
#pragma unroll
      for (int j = 0; j < 4; ++j) sum.v[j] += (kScaledLast ? all.factors[w] : 1.0f) * partial.v[j];
    }
    return sum;
  }

  // A row tile of all warps, to the output or the slot.
  __device__ __forceinline__ void add_warps(const KvSplit& split, int n, bool whole,
                                            u8* slot) const {
#pragma unroll 1
    for (int i = threadIdx.x; i < kQueryTile * kQuads; i += S::kThreads) {
      const int row = kQueryTile * n + i / kQuads;
      if (!Output::is_query(split, row)) break;
      const RowSum all = row_of_warps(row);
      output.put_or_keep(split, row, i % kQuads, quad_of_warps(i, all), all.reference, all.total,
                         whole, slot);
    }
  }

  // A row tile of all blocks of the cluster, by a reduce-scatter in distributed shared memory: each
  // block sends the others their slices, and adds its own in the order of the blocks.
  __device__ __forceinline__ void exchange(const KvSplit& split, int n, u32 exchanges, bool whole,
                                           u8* slot) const {
    const int blocks = Cluster::blocks();
    const int rank = Cluster::rank();
    const int log = Cluster::log_blocks();
    const int rows = Output::rows_of(split, n);
    const int runs = rows * (kQuads / 4);
    const int count = Output::slice_quads(split, n);
    const int step = 4 * ((runs + blocks - 1) >> log);
    const u32 barrier = memory + S::kExchangeOffset;
    // All have read what these will overwrite.
    if (exchanges > 0) cluster_barrier_unordered();
    if (threadIdx.x == 0) {
      mbarrier_arrive_expect(barrier, 16 * blocks * (count + rows));
      store_shared_4(barrier + 8, exchanges + 1);
    }
#pragma unroll 1
    for (int i = threadIdx.x; i < rows * blocks; i += S::kThreads) {
      const int row = kQueryTile * n + (i >> log);
      const int to = i & (blocks - 1);
      const RowSum all = row_of_warps(row);
      const u32 at = memory + S::kExchangeStatsOffset + 16 * ((i >> log) * S::kMostCluster + rank);
      store_remote_floats(address_in_block(at, to), {all.reference, all.total, 0.0f, 0.0f},
                          address_in_block(barrier, to));
    }
#pragma unroll 1
    for (int i = threadIdx.x; i < 4 * runs; i += S::kThreads) {
      const int to = i / 4 & (blocks - 1);
      const u32 at =
          memory + S::kExchangeQuadsOffset + 16 * (rank * step + (i >> (log + 2)) * 4 + i % 4);
      const Quad sum = quad_of_warps(i, row_of_warps(kQueryTile * n + i / kQuads));
      store_remote_floats(address_in_block(at, to), {sum.v[0], sum.v[1], sum.v[2], sum.v[3]},
                          address_in_block(barrier, to));
    }
    mbarrier_wait_cluster(barrier, exchanges % 2);
#pragma unroll 1
    for (int i = threadIdx.x; i < count; i += S::kThreads)
      add_blocks(split, n, Output::quad_of_slice(i), memory + S::kExchangeQuadsOffset + 16 * i,
                 16 * step, whole, slot);
  }

  // Quad i of a row tile, that of block b at `at` + b * step.
  __device__ __forceinline__ void add_blocks(const KvSplit& split, int n, int i, u32 at, u32 step,
                                             bool whole, u8* slot) const {
    const u32 stats = memory + S::kExchangeStatsOffset + 16 * (i / kQuads * S::kMostCluster);
    const int blocks = Cluster::blocks();
    // All loads at once; where the cluster has fewer blocks, the first one's again.
    u64 both[S::kMostCluster];
    Quad partials[S::kMostCluster];
    float reference = Softmax::kNothing;
#pragma unroll
    for (int b = 0; b < S::kMostCluster; ++b) {
      const int of = b < blocks ? b : 0;
      both[b] = load_shared_8(stats + 16 * of);
      partials[b] = quad_of(load_shared_16(at + step * of));
    }
#pragma unroll
    for (int b = 0; b < S::kMostCluster; ++b)
      reference = larger(reference, float_from_bits(static_cast<u32>(both[b])));
    float total = 0.0f;
    Quad sum = {};
#pragma unroll
    for (int b = 0; b < S::kMostCluster; ++b) {
      if (b >= blocks) break;
      const float factor = exp2_fast(float_from_bits(static_cast<u32>(both[b])) - reference);
      total += factor * float_from_bits(static_cast<u32>(both[b] >> 32));
#pragma unroll
      for (int j = 0; j < 4; ++j) sum.v[j] += factor * partials[b].v[j];
    }
    output.put_or_keep(split, kQueryTile * n + i / kQuads, i % kQuads, sum, reference, total, whole,
                       slot);
  }

  // Whether all other clusters with splits of the problem have stored their partial results of this
  // block's slice. Behind a barrier of the block, so that the first thread's fence is one for all.
  __device__ __forceinline__ bool arrive(const KvSplit& split) const {
    const int first = split.problem_begin / scheduler.cluster_tiles();
    const int last = (split.problem_end - 1) / scheduler.cluster_tiles();
    const u32 flag = memory + S::kFlagOffset;
    if (threadIdx.x == 0) {
      u32* counter = reinterpret_cast<u32*>(output.arguments.workspace) + Output::block(first);
      device_fence();
      const u32 before = atomic_add(counter, 1);
      const bool is_last = before == static_cast<u32>(last - first);
      if (is_last) store_global_4(counter, 0);
      device_fence();
      store_shared_4(flag, is_last);
    }
    block_barrier();
    return load_shared_4(flag) != 0;
  }
};

}  // namespace heddle

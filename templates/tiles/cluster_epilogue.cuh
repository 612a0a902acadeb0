// Takes the sums of a cluster's blocks, which share K of one tile, to Y.
//
// The tile is a list of vectors, eight rows of a token each, and every block finishes an equal part
// of its outputs, of one vector or of the two of a row block of gates and ups: the others send it
// their sums of that part by st.async, into a place that is used once, and its mbarrier counts
// their bytes in. So the exchange is one hop, all blocks do it at the same time, and each sends and
// receives (split_k - 1) / split_k of a tile at most. Sums are added in the order of the blocks'
// ranks, which is the order of K, whoever comes first.
#pragma once

#include "primitives/cluster.cuh"
#include "primitives/float.cuh"
#include "primitives/mbarrier.cuh"
#include "steps/tile_epilogue.cuh"

namespace heddle {

// kThreads: of the block, all of which finish.
template <class Config, int kThreads>
struct ClusterEpilogue {
  static constexpr int kSplit = Config::value.split_k;
  static constexpr int kVectors = Config::value.vectors();
  static constexpr int kOutputs = Config::value.outputs();
  static constexpr int kOutputVectors = kVectors / kOutputs;
  static constexpr int kRowVectors = Config::value.tile_n / 8;  // of a token
  static constexpr int kVectorBytes = Config::value.kVectorBytes;
  static_assert(!Config::value.epilogue.finds_scales, "a block has a part of a group's outputs");

  Epilogue<Config, kThreads> block;  // this block's warps

  // Called by the thread that has made the block's barriers.
  static __device__ __forceinline__ void expect_sums(u32 shared, int rank) {
    const int own = first_of(rank + 1) - first_of(rank);
    mbarrier_arrive_expect(shared + Config::value.given_barrier_offset(),
                           (kSplit - 1) * own * kVectorBytes);
  }

  // Called after block.put() and a barrier, once the other blocks have made their barriers. A block
  // may end as soon as it returns: what it has sent is in registers, what it waits for has come.
  __device__ __forceinline__ void finish() const {
    give();
    const int first = first_of(block.part);
    const int own = first_of(block.part + 1) - first;
    for (int i = kOutputVectors * threadIdx.x; i < own; i += kOutputVectors * kThreads) {
      const int token = (first + i) / kRowVectors;
      const int row = (first + i) % kRowVectors * 8;
      Sums8 mine[kOutputVectors];
#pragma unroll
      for (int half = 0; half < kOutputVectors; ++half) {
        mine[half] = block.sum_of_warps(token, row + 8 * half);
      }
      mbarrier_wait_cluster(barrier(), 0);
      const int global_row = block.global_row(row);
      const bool inside =
          Config::value.shape.n % Config::value.tile_n == 0 || global_row < Config::value.shape.n;
      if (token < block.m && inside) {
        block.output.store(token, global_row,
                           [&](int half) { return add_all(i + half, mine[half]); });
      }
    }
  }

 private:
  __device__ __forceinline__ u32 barrier() const {
    return block.shared + Config::value.given_barrier_offset();
  }
  // Block r has the vectors from first_of(r) to first_of(r + 1).
  static __device__ __forceinline__ int first_of(int r) {
    return kOutputVectors * (kOutputs * r / kSplit);
  }
  static __device__ __forceinline__ int owner_of(int vector) {
    return (kSplit * (vector / kOutputVectors + 1) - 1) / kOutputs;
  }
  // Where the owner has its i-th vector from block `from` in shared memory.
  __device__ __forceinline__ u32 given(int from, int i) const {
    return block.shared + Config::value.given_offset() +
           (from * Config::value.most_own_vectors() + i) * kVectorBytes;
  }

  // Half a vector at a time, which keeps more threads busy.
  __device__ __forceinline__ void give() const {
    for (int i = threadIdx.x; i < 2 * kVectors; i += kThreads) {
      const int vector = i / 2;
      const int owner = owner_of(vector);
      if (owner == block.part) continue;
      const u32 place = given(block.part, vector - first_of(owner)) + i % 2 * 16;
      store_remote_floats(address_in_block(place, owner),
                          four_sums(vector / kRowVectors, vector % kRowVectors * 8 + i % 2 * 4),
                          address_in_block(barrier(), owner));
    }
  }
  __device__ __forceinline__ f32x4 four_sums(int token, int row) const {
    float sum[4] = {};
#pragma unroll
    for (int k = 0; k < Config::value.warps_k; ++k) {
      add_four(sum, load_shared_floats(block.sums_at(k, token, row)));
    }
    return {sum[0], sum[1], sum[2], sum[3]};
  }

  // `mine`: this block's part of its i-th vector.
  __device__ __forceinline__ Sums8 add_all(int i, const Sums8& mine) const {
    Sums8 sum = {};
#pragma unroll
    for (int from = 0; from < kSplit; ++from) {
      if (from == block.part) {
#pragma unroll
        for (int v = 0; v < 8; ++v) sum.v[v] += mine.v[v];
      } else {
        add_floats(sum, load_shared_floats(given(from, i)),
                   load_shared_floats(given(from, i) + 16));
      }
    }
    return sum;
  }
};

}  // namespace heddle

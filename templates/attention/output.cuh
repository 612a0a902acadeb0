// The sums of a row become outputs: at once where a cluster had the whole problem, else by partial
// results in the workspace.
//
// Workspace: a counter per block, 0 between launches; then two slots per block, for the split that
// ends a problem which another cluster began, and for the one that begins a problem for others to
// end: FP32 [block rows][elements of V], then (reference, sum) of each row, once for every 16
// elements. Each block of a cluster has a slice of every row: the last block to finish that slice
// of a problem merges it.
#pragma once

#include "attention/softmax.cuh"

namespace heddle {

// Four neighbouring elements of a row.
struct Quad {
  float v[4];
};
__device__ __forceinline__ Quad quad_of(u32x4 bits) {
  return {{float_from_bits(bits.x), float_from_bits(bits.y), float_from_bits(bits.z),
           float_from_bits(bits.w)}};
}

// Reads every group of S.
template <class S>
struct AttentionOutput {
  using Softmax = AttentionSoftmax<S>;
  using Cluster = AttentionCluster<S::kMostCluster>;
  using Element = typename S::Element;
  static constexpr float kLn2 = 0.6931471805599453f;
  static constexpr int kQuads = S::kValueDim / 4;
  static constexpr int kSlotBytes = S::kSlotBytes;

  const AttentionParameters& arguments;
  const AttentionScheduler<S>& scheduler;
  float value_scale;  // of the tensor

  // Rows of this block that are queries.
  static __device__ __forceinline__ bool is_query(const KvSplit& split, int row) {
    return S::first_row(split.work_head) + row < S::kRows;
  }

  // How many rows of row tile n are queries.
  static __device__ __forceinline__ int rows_of(const KvSplit& split, int n) {
    const int left = S::kRows - split.work_head % S::kRowBlocks * S::kBlockRows - kQueryTile * n;
    return left < 0 ? 0 : left < kQueryTile ? left : kQueryTile;
  }
  // A block's slice of the quads of these rows is every blocks()-th run of four, which is a sector
  // of the output: how many quads that are, and which is the i-th.
  static __device__ __forceinline__ int slice_quads(const KvSplit& split, int n) {
    const int runs = rows_of(split, n) * (kQuads / 4);
    return 4 * ((runs - Cluster::rank() + Cluster::blocks() - 1) >> Cluster::log_blocks());
  }
  static __device__ __forceinline__ int quad_of_slice(int i) {
    return ((i / 4) << Cluster::log_blocks() | Cluster::rank()) * 4 + i % 4;
  }

  // The block of another cluster that has the same slice as this one.
  static __device__ __forceinline__ int block(int cluster) {
    return cluster << Cluster::log_blocks() | Cluster::rank();
  }

  __device__ __forceinline__ u8* slot_of(int block, bool begins) const {
    constexpr int kFirst = S::kCounterBytes;
    return arguments.workspace + kFirst +
           (2 * static_cast<i64>(block) + (begins ? 1 : 0)) * kSlotBytes;
  }

  // A quad of a row: to the output, or, where other clusters have splits of the problem, to the
  // slot.
  __device__ __forceinline__ void put_or_keep(const KvSplit& split, int row, int quad,
                                              const Quad& sum, float reference, float total,
                                              bool whole, u8* slot) const {
    if (whole) {
      put(split, row, quad, sum, reference, total);
      return;
    }
    store_global_16(slot + 16 * (row * kQuads + quad),
                    pack_floats(sum.v[0], sum.v[1], sum.v[2], sum.v[3]));
    if (quad % 4 == 0)
      store_global_8(slot + stats_offset(row, quad), bits_of_float(reference),
                     bits_of_float(total));
  }

  // The last block to come merges its slice of a problem. `ring`: of the warp, with no copies in
  // flight.
  __device__ __forceinline__ void merge(const KvSplit& split, u32 ring) const {
    const int lane = threadIdx.x % 32;
    const int own = scheduler.cluster_tiles();
    const int first = split.problem_begin / own;
    const int last = (split.problem_end - 1) / own;
    const u8* slots = slot_of(block(first), false);
    const int step = 2 * kSlotBytes << Cluster::log_blocks();
#pragma unroll 1
    for (int n = 0; n < S::kRowTiles; ++n) {
      const int count = slice_quads(split, n);
#pragma unroll 1
      for (int i = threadIdx.x - lane; i < count; i += S::kThreads) {
        const bool inside = i + lane < count;
        const int quad = quad_of_slice(inside ? i + lane : 0);
        merge_quad(split, ring + 16 * lane, kQueryTile * n + quad / kQuads, quad % kQuads, inside,
                   slots, step, last - first + 1);
      }
    }
  }

  // Sequences without a token: zeros.
  __device__ __forceinline__ void clear_empty() const {
    for (int i = blockIdx.x; i < arguments.sequences; i += gridDim.x) {
      if (scheduler.length(i) > 0) continue;
      for (int j = threadIdx.x; j < S::kQueries * kQuads; j += S::kThreads)
        store_global_8(arguments.out + 8 * (static_cast<i64>(i) * S::kQueries * kQuads + j), 0, 0);
      if constexpr (S::kLogSums) {
        for (int j = threadIdx.x; j < S::kQueries; j += S::kThreads)
          arguments.log_sums[static_cast<i64>(i) * S::kQueries + j] =
              S::kSinkLogits ? arguments.sinks[j % S::kQueryHeads] : float_from_bits(0xff800000u);
      }
    }
  }

 private:
  static __device__ __forceinline__ int stats_offset(int row, int quad) {
    return 4 * S::kBlockRows * S::kValueDim + 8 * ((row * kQuads + quad) / 4);
  }

  // Four elements of a row.
  __device__ __forceinline__ void put(const KvSplit& split, int row, int quad, Quad sum,
                                      float reference, float total) const {
    const int r = S::first_row(split.work_head) + row;
    const int head = S::kv_head(split.work_head) * S::kGroup + r % S::kGroup;
    float scale = 1.0f;
    if constexpr (S::kSinkLogits) {
      const float sink = kLog2E * arguments.sinks[head];
      const float top = larger(reference, sink);
      scale = exp2_fast(reference - top);
      total = total * scale + exp2_fast(sink - top);
      reference = top;
    }
    // A row that sees no token at all is zero.
    scale = total == 0.0f ? 0.0f : scale * value_scale * reciprocal_fast(total);
    const int query = S::kv_head(split.work_head) * S::kGroup + S::query_of_row(r);
    const i64 query_index = static_cast<i64>(split.sequence) * S::kQueries + query;
    store_global_8(arguments.out + 2 * (query_index * S::kValueDim + 4 * quad),
                   Element::from_floats(sum.v[0] * scale, sum.v[1] * scale),
                   Element::from_floats(sum.v[2] * scale, sum.v[3] * scale));
    if (S::kLogSums && quad == 0)
      arguments.log_sums[query_index] = kLn2 * (reference + log2_fast(total));
  }

  // Adds a quad of `partials` partial results in their order, `step` bytes from slot to slot.
  // `room`: of the lane, every 512 bytes of the ring.
  __device__ __forceinline__ void merge_quad(const KvSplit& split, u32 room, int row, int quad,
                                             bool inside, const u8* slots, int step,
                                             int partials) const {
    constexpr int kFits = S::kRingBytes / 512;
    constexpr int kAtOnce = kFits < 16 ? kFits : 16;
    const int offset = 16 * (row * kQuads + quad);
    const int stats_place = stats_offset(row, quad);
    // The first partial result begins the problem.
    const u8* from = slots + kSlotBytes;
    float reference = Softmax::kNothing;
    float total = 0.0f;
    Quad sum = {};
#pragma unroll 1
    for (int begin = 0; begin < partials; begin += kAtOnce) {
      u64 stats[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        stats[i] = static_cast<u64>(bits_of_float(Softmax::kNothing));
        if (begin + i >= partials) continue;
        stats[i] = load_global_8_l2(from + stats_place);
        copy_async_16(room + 512 * i, from + offset, true);
        if (i == 0) from = slots + static_cast<i64>(begin) * step;
        from += step;
      }
      copy_async_commit();
      float next = reference;
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
        next = larger(next, float_from_bits(static_cast<u32>(stats[i])));
      const float old = exp2_fast(reference - next);
      reference = next;
      total *= old;
#pragma unroll
      for (int j = 0; j < 4; ++j) sum.v[j] *= old;
      copy_async_wait<0>();
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (begin + i >= partials) break;
        const float factor = exp2_fast(float_from_bits(static_cast<u32>(stats[i])) - reference);
        const Quad partial = quad_of(load_shared_16(room + 512 * i));
        total += factor * float_from_bits(static_cast<u32>(stats[i] >> 32));
#pragma unroll
        for (int j = 0; j < 4; ++j) sum.v[j] += factor * partial.v[j];
      }
    }
    if (inside) put(split, row, quad, sum, reference, total);
  }
};

}  // namespace heddle

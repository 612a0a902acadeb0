// From the sums of a row to the output: at once, or by way of the workspace.
//
// Workspace: kMostBlocks counters, 0 between launches; then two slots per team, of the segment
// that ends an item which another team began, and of the one that begins an item for others to
// end: FP32 [block rows][head_dim], then [block rows] of (reference, sum). The last block to finish
// its part of an item merges all of them.
#pragma once

#include "attention/attention_softmax.cuh"
#include "attention/warp_reductions.cuh"

namespace heddle {

// Four neighbouring elements of a row.
struct Quad {
  float v[4];
};
__device__ __forceinline__ Quad quad_of(u32x4 bits) {
  return {{float_from_bits(bits.x), float_from_bits(bits.y), float_from_bits(bits.z),
           float_from_bits(bits.w)}};
}

template <class Config>
struct AttentionOutput {
  using S = AttentionShape<Config>;
  using Softmax = AttentionSoftmax<Config>;
  using Value = typename Config::Value;
  static constexpr float kLn2 = 0.6931471805599453f;
  static constexpr int kQuads = Config::kHeadDim / 4;
  static constexpr int kSlotBytes = S::kBlockRows * (4 * Config::kHeadDim + 8);

  const AttentionArguments& arguments;
  const AttentionWork<Config>& work;
  float value_scale;  // of the tensor

  // Rows of this block that are queries.
  static __device__ __forceinline__ bool is_query(const Segment& segment, int row) {
    return segment.head % S::kRowParts * S::kBlockRows + row < S::kRows;
  }

  __device__ __forceinline__ u8* slot_of(int block, bool begins) const {
    constexpr int kFirst = (4 * Config::kMostBlocks + 15) / 16 * 16;
    return arguments.workspace + kFirst +
           (2 * static_cast<i64>(block) + (begins ? 1 : 0)) * kSlotBytes;
  }

  // A quad of a row: to its place in the output, or, where others have parts of the item, to the
  // slot.
  __device__ __forceinline__ void put_or_keep(const Segment& segment, int row, int quad,
                                              const Quad& sum, float reference, float total,
                                              bool whole, u8* slot) const {
    if (whole) {
      put(segment, row, quad, sum, reference, total);
      return;
    }
    store_global_16(slot + 16 * (row * kQuads + quad),
                    pack_floats(sum.v[0], sum.v[1], sum.v[2], sum.v[3]));
    if (quad == 0)
      store_global_8(slot + stats_offset(row), bits_of_float(reference), bits_of_float(total));
  }

  // By the last block to come, when its work is done. `ring`: of the warp, where nothing is on its
  // way any more.
  __device__ __forceinline__ void merge(const Segment& segment, u32 ring, int warp,
                                        int lane) const {
    const int first = segment.item / work.share();
    const int last = (segment.item_end - 1) / work.share();
#pragma unroll 1
    for (int row = warp; row < S::kBlockRows && is_query(segment, row); row += Config::kWarps) {
#pragma unroll 1
      for (int i = 0; i < kQuads; i += 32)
        merge_row(segment, ring, lane, row, i + lane, first, last);
    }
  }

  // Sequences without a token: zeros.
  __device__ __forceinline__ void clear_empty() const {
    for (int i = blockIdx.x; i < arguments.sequences; i += gridDim.x) {
      if (work.length(i) > 0) continue;
      for (int j = threadIdx.x; j < S::kQueries * kQuads; j += S::kThreads)
        store_global_8(arguments.out + 8 * (static_cast<i64>(i) * S::kQueries * kQuads + j), 0, 0);
      if constexpr (Config::kLogSums) {
        for (int j = threadIdx.x; j < S::kQueries; j += S::kThreads)
          arguments.log_sums[static_cast<i64>(i) * S::kQueries + j] =
              Config::kSinkLogits ? arguments.sinks[j % Config::kHeads]
                                  : float_from_bits(0xff800000u);
      }
    }
  }

 private:
  static __device__ __forceinline__ int stats_offset(int row) {
    return 4 * S::kBlockRows * Config::kHeadDim + 8 * row;
  }

  // Four elements of a row.
  __device__ __forceinline__ void put(const Segment& segment, int row, int quad, Quad sum,
                                      float reference, float total) const {
    const int r = segment.head % S::kRowParts * S::kBlockRows + row;
    const int head = segment.head / S::kRowParts * S::kGroup + r % S::kGroup;
    float scale = 1.0f;
    if constexpr (Config::kSinkLogits) {
      const float sink = 1.4426950408889634f * arguments.sinks[head];
      const float top = larger(reference, sink);
      scale = exp2_fast(reference - top);
      total = total * scale + exp2_fast(sink - top);
      reference = top;
    }
    // A row that sees no token at all is zero.
    scale = total == 0.0f ? 0.0f : scale * value_scale * reciprocal_fast(total);
    const int query = segment.head / S::kRowParts * S::kGroup + S::query_of_row(r);
    const i64 place = static_cast<i64>(segment.sequence) * S::kQueries + query;
    store_global_8(arguments.out + 2 * (place * Config::kHeadDim + 4 * quad),
                   Value::from_floats(sum.v[0] * scale, sum.v[1] * scale),
                   Value::from_floats(sum.v[2] * scale, sum.v[3] * scale));
    if (Config::kLogSums && quad == 0)
      arguments.log_sums[place] = kLn2 * (reference + log2_fast(total));
  }

  // A lane has four elements of the row, of all blocks, in its own part of the ring; and one
  // block's reference and sum.
  __device__ __forceinline__ void merge_row(const Segment& segment, u32 ring, int lane, int row,
                                            int quad_index, int first, int last) const {
    constexpr int kFits = S::kRingBytes / 512;
    constexpr int kAtOnce = kFits < 32 ? kFits : 32;
    const bool inside = kQuads % 32 == 0 || quad_index < kQuads;
    const int place = 16 * (row * kQuads + (inside ? quad_index : 0));
    const u32 mine = ring + 16 * lane;
    float reference = Softmax::kNothing;
    float total = 0.0f;
    Quad sum = {};
#pragma unroll 1
    for (int begin = first; begin <= last; begin += kAtOnce) {
      const int count = last - begin < kAtOnce ? last - begin + 1 : kAtOnce;
#pragma unroll 8
      for (int i = 0; i < count; ++i)
        copy_async_16(mine + 512 * i, slot_of(begin + i, begin + i == first) + place, true);
      copy_async_commit();
      u64 stats = static_cast<u64>(bits_of_float(Softmax::kNothing));
      if (lane < count)
        stats = load_global_8_l2(slot_of(begin + lane, begin + lane == first) + stats_offset(row));
      const float block_reference = float_from_bits(static_cast<u32>(stats));
      const float next = larger(reference, warp_max(block_reference));
      const float old = exp2_fast(reference - next);
      const float factor = exp2_fast(block_reference - next);
      reference = next;
      total = total * old + warp_sum(factor * float_from_bits(static_cast<u32>(stats >> 32)));
#pragma unroll
      for (int j = 0; j < 4; ++j) sum.v[j] *= old;
      copy_async_wait<0>();
#pragma unroll 8
      for (int i = 0; i < count; ++i) {
        const float of = float_from_bits(broadcast(bits_of_float(factor), i));
        const Quad part = quad_of(load_shared_16(mine + 512 * i));
#pragma unroll
        for (int j = 0; j < 4; ++j) sum.v[j] += of * part.v[j];
      }
    }
    if (inside) put(segment, row, quad_index, sum, reference, total);
  }
};

}  // namespace heddle

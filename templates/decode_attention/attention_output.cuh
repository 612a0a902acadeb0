// From the sums of a row to the output: at once, or by way of the workspace.
//
// Workspace: a counter per block, 0 between launches; then two slots per block, of the segment
// that ends an item which another team began, and of the one that begins an item for others to
// end: FP32 [block rows][head_dim], then (reference, sum) of each row, once for every 16 elements.
// Blocks of a team have each a share of every row: the last block to finish that share of an item
// merges it.
#pragma once

#include "decode_attention/attention_parts.cuh"
#include "decode_attention/attention_softmax.cuh"

namespace heddle {

template <class Config>
struct AttentionOutput {
  using S = AttentionShape<Config>;
  using Softmax = AttentionSoftmax<Config>;
  using Team = AttentionTeam<Config>;
  using Value = typename Config::Value;
  static constexpr float kLn2 = 0.6931471805599453f;
  static constexpr int kQuads = Config::value.head_dim / 4;
  static constexpr int kSlotBytes = Config::value.slot_bytes();
  // Of a warp's lanes: a quad of each, and the 16 bytes that hold its reference and sum.
  static constexpr int kPartBytes = 2 * 16 * 32;
  static_assert(S::kStageBytes >= kPartBytes, "a stage has room for a part");

  const DecodeAttentionParameters& arguments;
  const AttentionWork<Config>& work;
  float value_scale;  // of the tensor

  // Rows of this block that are queries.
  static __device__ __forceinline__ bool is_query(const Segment& segment, int row) {
    return segment.head % S::kRowParts * S::kBlockRows + row < S::kRows;
  }

  // How many of the n-th eight rows are queries.
  static __device__ __forceinline__ int rows_of(const Segment& segment, int n) {
    const int left = S::kRows - segment.head % S::kRowParts * S::kBlockRows - 8 * n;
    return left < 0 ? 0 : left < 8 ? left : 8;
  }
  // A block's share of the quads of these rows is every blocks()-th run of four, which is a sector
  // of the output. share_of() is how many quads that are, the next function which the i-th is.
  static __device__ __forceinline__ int share_of(const Segment& segment, int n) {
    const int runs = rows_of(segment, n) * (kQuads / 4);
    return 4 * ((runs - Team::rank() + Team::blocks() - 1) >> Team::log_blocks());
  }
  static __device__ __forceinline__ int quad_of_share(int i) {
    return ((i / 4) << Team::log_blocks() | Team::rank()) * 4 + i % 4;
  }

  // The block of another team that has the same share as this one.
  static __device__ __forceinline__ int block(int team) {
    return team << Team::log_blocks() | Team::rank();
  }

  __device__ __forceinline__ u8* slot_of(int block, bool begins) const {
    constexpr int kFirst = Config::value.counter_bytes();
    return arguments.workspace + kFirst +
           (2 * static_cast<i64>(block) + (begins ? 1 : 0)) * kSlotBytes;
  }

  // A quad of a row: to its place in the output, or, where others have parts of the item, to the
  // slot.
  __device__ __forceinline__ void put_or_keep(const Segment& segment, int row, int quad,
                                              const RowQuad& sum, bool whole, u8* slot) const {
    if (whole) {
      put(segment, row, quad, sum);
      return;
    }
    store_global_floats(slot + 16 * (row * kQuads + quad), sum.floats());
    if (quad % 4 == 0)
      store_global_8(slot + stats_offset(row * kQuads + quad), bits_of_float(sum.reference),
                     bits_of_float(sum.total));
  }

  // Copies a quad of `count` parts of an item from their slots, from the `begin`-th on, to shared
  // memory from `to` on. `first`: the slot of the first part, but that this one begins the item.
  __device__ __forceinline__ AttentionParts copy_parts(int quad, const u8* first, int begin,
                                                       int count, u32 to) const {
    const int stats = stats_offset(quad);
    const int step = 2 * kSlotBytes << Team::log_blocks();
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      const i64 slot = begin + i == 0 ? kSlotBytes : static_cast<i64>(begin + i) * step;
      copy_async_16(to + kPartBytes * i, first + slot + 16 * quad, true);
      copy_async_16(to + kPartBytes * i + kPartBytes / 2, first + slot + stats / 16 * 16, true);
    }
    copy_async_commit();
    copy_async_wait<0>();
    return {to + kPartBytes / 2 + stats % 16, kPartBytes, to, kPartBytes, 0};
  }

  // Sequences without a token: zeros.
  __device__ __forceinline__ void clear_empty() const {
#pragma unroll 1
    for (int i = blockIdx.x; i < arguments.sequences; i += gridDim.x) {
      if (work.length(i) > 0) continue;
#pragma unroll 1
      for (int j = threadIdx.x; j < S::kQueries * kQuads; j += S::kThreads)
        store_global_8(arguments.out + 8 * (static_cast<i64>(i) * S::kQueries * kQuads + j), 0, 0);
      if constexpr (Config::value.log_sums) {
#pragma unroll 1
        for (int j = threadIdx.x; j < S::kQueries; j += S::kThreads)
          arguments.log_sums[static_cast<i64>(i) * S::kQueries + j] =
              Config::value.sink_logits ? arguments.sinks[j % Config::value.heads]
                                        : float_from_bits(0xff800000u);
      }
    }
  }

 private:
  static __device__ __forceinline__ int stats_offset(int quad) {
    return 4 * S::kBlockRows * Config::value.head_dim + 8 * (quad / 4);
  }

  // Four elements of a row.
  __device__ __forceinline__ void put(const Segment& segment, int row, int quad,
                                      const RowQuad& sum) const {
    float reference = sum.reference;
    float total = sum.total;
    const int r = segment.head % S::kRowParts * S::kBlockRows + row;
    const int head = segment.head / S::kRowParts * S::kGroup + r % S::kGroup;
    float scale = 1.0f;
    if constexpr (Config::value.sink_logits) {
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
    store_global_8(arguments.out + 2 * (place * Config::value.head_dim + 4 * quad),
                   Value::from_floats(sum.v[0] * scale, sum.v[1] * scale),
                   Value::from_floats(sum.v[2] * scale, sum.v[3] * scale));
    if (Config::value.log_sums && quad == 0)
      arguments.log_sums[place] = kLn2 * (reference + log2_fast(total));
  }
};

}  // namespace heddle

// Takes the sums of a row to the output: at once, or by way of the workspace.
//
// Workspace: a counter per block, 0 between launches; then two slots per block, of the segment
// that ends an item which another team began, and of the one that begins an item for others to
// end: FP32 [block rows][elements of V], then (reference, sum) of each row, once for every 16
// elements. Blocks of a team have each a share of every row: the last block to finish that share of
// an item merges it.
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

template <class Config>
struct AttentionOutput {
  using S = AttentionShape<Config>;
  using Softmax = AttentionSoftmax<Config>;
  using Team = AttentionTeam<Config::value.most_team>;
  using Value = typename Config::Value;
  static constexpr float kLn2 = 0.6931471805599453f;
  static constexpr int kQuads = S::kValueDim / 4;
  static constexpr int kSlotBytes = Config::value.slot_bytes();

  const AttentionParameters& arguments;
  const AttentionWork<Config>& work;
  float value_scale;  // of the tensor

  // Rows of this block that are queries.
  static __device__ __forceinline__ bool is_query(const Segment& segment, int row) {
    return segment.head % S::kRowParts * S::kBlockRows + row < S::kRows;
  }

  // How many rows of row tile n are queries.
  static __device__ __forceinline__ int rows_of(const Segment& segment, int n) {
    const int left = S::kRows - segment.head % S::kRowParts * S::kBlockRows - kQueryTile * n;
    return left < 0 ? 0 : left < kQueryTile ? left : kQueryTile;
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
                                              const Quad& sum, float reference, float total,
                                              bool whole, u8* slot) const {
    if (whole) {
      put(segment, row, quad, sum, reference, total);
      return;
    }
    store_global_16(slot + 16 * (row * kQuads + quad),
                    pack_floats(sum.v[0], sum.v[1], sum.v[2], sum.v[3]));
    if (quad % 4 == 0)
      store_global_8(slot + stats_offset(row, quad), bits_of_float(reference),
                     bits_of_float(total));
  }

  // The last block to come merges its share, when its work is done. `ring`: of the warp,
  // where nothing is on its way any more.
  __device__ __forceinline__ void merge(const Segment& segment, u32 ring) const {
    const int lane = threadIdx.x % 32;
    const int share = work.share();
    const int first = segment.item / share;
    const int last = (segment.item_end - 1) / share;
    const u8* slots = slot_of(block(first), false);
    const int step = 2 * kSlotBytes << Team::log_blocks();
#pragma unroll 1
    for (int n = 0; n < S::kRowTiles; ++n) {
      const int count = share_of(segment, n);
#pragma unroll 1
      for (int i = threadIdx.x - lane; i < count; i += S::kThreads) {
        const bool inside = i + lane < count;
        const int quad = quad_of_share(inside ? i + lane : 0);
        merge_quad(segment, ring + 16 * lane, kQueryTile * n + quad / kQuads, quad % kQuads, inside,
                   slots, step, last - first + 1);
      }
    }
  }

  // Sequences without a token: zeros.
  __device__ __forceinline__ void clear_empty() const {
    for (int i = blockIdx.x; i < arguments.sequences; i += gridDim.x) {
      if (work.length(i) > 0) continue;
      for (int j = threadIdx.x; j < S::kQueries * kQuads; j += S::kThreads)
        store_global_8(arguments.out + 8 * (static_cast<i64>(i) * S::kQueries * kQuads + j), 0, 0);
      if constexpr (Config::value.log_sums) {
        for (int j = threadIdx.x; j < S::kQueries; j += S::kThreads)
          arguments.log_sums[static_cast<i64>(i) * S::kQueries + j] =
              Config::value.logits.sink_logits ? arguments.sinks[j % Config::value.heads.query]
                                               : float_from_bits(0xff800000u);
      }
    }
  }

 private:
  static __device__ __forceinline__ int stats_offset(int row, int quad) {
    return 4 * S::kBlockRows * S::kValueDim + 8 * ((row * kQuads + quad) / 4);
  }

  // Four elements of a row.
  __device__ __forceinline__ void put(const Segment& segment, int row, int quad, Quad sum,
                                      float reference, float total) const {
    const int r = segment.head % S::kRowParts * S::kBlockRows + row;
    const int head = segment.head / S::kRowParts * S::kGroup + r % S::kGroup;
    float scale = 1.0f;
    if constexpr (Config::value.logits.sink_logits) {
      const float sink = kLog2E * arguments.sinks[head];
      const float top = larger(reference, sink);
      scale = exp2_fast(reference - top);
      total = total * scale + exp2_fast(sink - top);
      reference = top;
    }
    // A row that sees no token at all is zero.
    scale = total == 0.0f ? 0.0f : scale * value_scale * reciprocal_fast(total);
    const int query = segment.head / S::kRowParts * S::kGroup + S::query_of_row(r);
    const i64 place = static_cast<i64>(segment.sequence) * S::kQueries + query;
    store_global_8(arguments.out + 2 * (place * S::kValueDim + 4 * quad),
                   Value::from_floats(sum.v[0] * scale, sum.v[1] * scale),
                   Value::from_floats(sum.v[2] * scale, sum.v[3] * scale));
    if (Config::value.log_sums && quad == 0)
      arguments.log_sums[place] = kLn2 * (reference + log2_fast(total));
  }

  // A quad of `parts` parts in their order, `step` bytes from slot to slot. `room`: of the lane,
  // every 512 bytes of the ring.
  __device__ __forceinline__ void merge_quad(const Segment& segment, u32 room, int row, int quad,
                                             bool inside, const u8* slots, int step,
                                             int parts) const {
    constexpr int kFits = S::kRingBytes / 512;
    constexpr int kAtOnce = kFits < 16 ? kFits : 16;
    const int place = 16 * (row * kQuads + quad);
    const int stats_place = stats_offset(row, quad);
    // The first part begins the item.
    const u8* from = slots + kSlotBytes;
    float reference = Softmax::kNothing;
    float total = 0.0f;
    Quad sum = {};
#pragma unroll 1
    for (int begin = 0; begin < parts; begin += kAtOnce) {
      u64 stats[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        stats[i] = static_cast<u64>(bits_of_float(Softmax::kNothing));
        if (begin + i >= parts) continue;
        stats[i] = load_global_8_l2(from + stats_place);
        copy_async_16(room + 512 * i, from + place, true);
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
        if (begin + i >= parts) break;
        const float factor = exp2_fast(float_from_bits(static_cast<u32>(stats[i])) - reference);
        const Quad part = quad_of(load_shared_16(room + 512 * i));
        total += factor * float_from_bits(static_cast<u32>(stats[i] >> 32));
#pragma unroll
        for (int j = 0; j < 4; ++j) sum.v[j] += factor * part.v[j];
      }
    }
    if (inside) put(segment, row, quad, sum, reference, total);
  }
};

}  // namespace heddle

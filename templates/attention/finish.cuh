// The results of a segment: of all warps of the block, of all blocks of its team, then of all teams
// that share the item, each in a fixed order.
#pragma once

#include "attention/output.cuh"
#include "primitives/mbarrier.cuh"

namespace heddle {

template <class Config>
struct AttentionFinish {
  using S = AttentionShape<Config>;
  using Softmax = AttentionSoftmax<Config>;
  using Team = AttentionTeam<Config::value.most_team>;
  using Output = AttentionOutput<Config>;
  static constexpr int kQuads = Output::kQuads;
  // Whether parts of warps are brought to one reference as they are added, which saves a barrier.
  // Two row tiles leave no registers for it.
  static constexpr bool kScaledLast = S::kRowTiles == 1;

  Output output;
  const AttentionWork<Config>& work;
  u32 memory;
  int warp;
  int lane;

  // Every thread of the block calls it before anything else.
  static __device__ __forceinline__ void start(u32 memory) {
    if constexpr (Config::value.most_team > 1) {
      if (Team::blocks() == 1) return;
      if (threadIdx.x == 0) {
        mbarrier_init(memory + S::kTeamOffset, 1);
        mbarrier_init_fence();
        store_shared_4(memory + S::kTeamOffset + 8, 0);
      }
      cluster_barrier();
    }
  }

  // Every thread of the block calls it. `room`: a row tile of the warp's own. True if this block is
  // the one to merge the item.
  __device__ __forceinline__ bool finish(const Segment& segment, Softmax& softmax, u32 room) const {
    const int g = lane / 4;
    const int t = lane % 4;
    if (lane == 0) store_shared_4(place(warp), room);
    add_lanes(softmax, g, t);
    if constexpr (kScaledLast) {
      warp_barrier();  // every lane has read what was in the room
    } else {
      block_barrier();
    }
    const bool whole = work.is_whole(segment);
    const bool shared = work.is_shared(segment);
    u8* slot = output.slot_of(Output::block(Team::index()), segment.begin == segment.item);
#pragma unroll
    for (int n = 0; n < S::kRowTiles; ++n) {
      if (n > 0) block_barrier();
#pragma unroll
      for (int c = 0; c < 2; ++c)
        store_row(softmax, n, c, g, t, room + 4 * (2 * t + c) * S::kSumStride);
      u32 exchanges = 0;  // that have been
      if (shared) exchanges = load_shared_4(memory + S::kTeamOffset + 8);
      block_barrier();
      if (shared) {
        if constexpr (Config::value.most_team > 1) exchange(segment, n, exchanges, whole, slot);
      } else if (Team::rank() == 0) {
        add_warps(segment, n, whole, slot);
      }
    }
    // All have read what the rings and the next segment will overwrite.
    block_barrier();
    return !whole && arrive(segment);
  }

 private:
  __device__ __forceinline__ u32 place(int of_warp) const {
    return memory + S::kPlacesOffset + 4 * of_warp;
  }
  __device__ __forceinline__ u32 stats(int row, int of_warp) const {
    return memory + S::kStatsOffset + 8 * (row * Config::value.warps + of_warp);
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

  // A row's reference and sum of all warps, and what each warp's part of it is multiplied with.
  struct RowSum {
    float reference = Softmax::kNothing;
    float total = 0.0f;
    float factors[Config::value.warps];
  };
  __device__ __forceinline__ RowSum row_of_warps(int row) const {
    RowSum all;
    u64 both[Config::value.warps];
#pragma unroll
    for (int w = 0; w < Config::value.warps; ++w) both[w] = load_shared_8(stats(row, w));
#pragma unroll
    for (int w = 0; w < Config::value.warps; ++w)
      all.reference = larger(all.reference, float_from_bits(static_cast<u32>(both[w])));
#pragma unroll
    for (int w = 0; w < Config::value.warps; ++w) {
      all.factors[w] = exp2_fast(float_from_bits(static_cast<u32>(both[w])) - all.reference);
      all.total += all.factors[w] * float_from_bits(static_cast<u32>(both[w] >> 32));
    }
    return all;
  }

  // What the lane has of row c of two, as many neighbouring elements at once as it has.
  __device__ __forceinline__ void store_row(const Softmax& softmax, int n, int c, int g, int t,
                                            u32 to) const {
    float factor = 1.0f;
    if constexpr (!kScaledLast)
      factor =
          exp2_fast(softmax.reference[n][c] - row_of_warps(kQueryTile * n + 2 * t + c).reference);
    constexpr int kRun = AttentionValues<Config>::kNeighbours;
#pragma unroll
    for (int i = 0; i < 2 * S::kDimTiles; i += kRun) {
      float x[kRun];
#pragma unroll
      for (int j = 0; j < kRun; ++j)
        x[j] = softmax.value(n, (i + j) / 2, (i + j) % 2 * 2 + c) * factor;
      const u32 at = to + 4 * AttentionValues<Config>::dim(i / 2, i % 2, g);
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
    for (int w = 0; w < Config::value.warps; ++w) {
      const Quad part = quad_of(load_shared_16(
          load_shared_4(place(w)) + 4 * (i / kQuads * S::kSumStride) + 16 * (i % kQuads)));
#pragma unroll
      for (int j = 0; j < 4; ++j) sum.v[j] += (kScaledLast ? all.factors[w] : 1.0f) * part.v[j];
    }
    return sum;
  }

  // A row tile, to their places in the output or the slot.
  __device__ __forceinline__ void add_warps(const Segment& segment, int n, bool whole,
                                            u8* slot) const {
#pragma unroll 1
    for (int i = threadIdx.x; i < kQueryTile * kQuads; i += S::kThreads) {
      const int row = kQueryTile * n + i / kQuads;
      if (!Output::is_query(segment, row)) break;
      const RowSum all = row_of_warps(row);
      output.put_or_keep(segment, row, i % kQuads, quad_of_warps(i, all), all.reference, all.total,
                         whole, slot);
    }
  }

  // A row tile of all blocks of the team: each block sends the others what they add, and adds its
  // own share, in the order of the blocks.
  __device__ __forceinline__ void exchange(const Segment& segment, int n, u32 exchanges, bool whole,
                                           u8* slot) const {
    const int blocks = Team::blocks();
    const int rank = Team::rank();
    const int log = Team::log_blocks();
    const int rows = Output::rows_of(segment, n);
    const int runs = rows * (kQuads / 4);
    const int count = Output::share_of(segment, n);
    const int step = 4 * ((runs + blocks - 1) >> log);
    const u32 barrier = memory + S::kTeamOffset;
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
      const u32 at =
          memory + S::kTeamStatsOffset + 16 * ((i >> log) * Config::value.most_team + rank);
      store_remote_floats(address_in_block(at, to), {all.reference, all.total, 0.0f, 0.0f},
                          address_in_block(barrier, to));
    }
#pragma unroll 1
    for (int i = threadIdx.x; i < 4 * runs; i += S::kThreads) {
      const int to = i / 4 & (blocks - 1);
      const u32 at =
          memory + S::kTeamQuadsOffset + 16 * (rank * step + (i >> (log + 2)) * 4 + i % 4);
      const Quad sum = quad_of_warps(i, row_of_warps(kQueryTile * n + i / kQuads));
      store_remote_floats(address_in_block(at, to), {sum.v[0], sum.v[1], sum.v[2], sum.v[3]},
                          address_in_block(barrier, to));
    }
    mbarrier_wait_cluster(barrier, exchanges % 2);
#pragma unroll 1
    for (int i = threadIdx.x; i < count; i += S::kThreads)
      add_blocks(segment, n, Output::quad_of_share(i), memory + S::kTeamQuadsOffset + 16 * i,
                 16 * step, whole, slot);
  }

  // Quad i of a row tile, that of block b at `at` + b * step.
  __device__ __forceinline__ void add_blocks(const Segment& segment, int n, int i, u32 at, u32 step,
                                             bool whole, u8* slot) const {
    const u32 stats = memory + S::kTeamStatsOffset + 16 * (i / kQuads * Config::value.most_team);
    const int blocks = Team::blocks();
    // All loads at once, of blocks that the team does not have from the first one's places.
    u64 both[Config::value.most_team];
    Quad parts[Config::value.most_team];
    float reference = Softmax::kNothing;
#pragma unroll
    for (int b = 0; b < Config::value.most_team; ++b) {
      const int of = b < blocks ? b : 0;
      both[b] = load_shared_8(stats + 16 * of);
      parts[b] = quad_of(load_shared_16(at + step * of));
    }
#pragma unroll
    for (int b = 0; b < Config::value.most_team; ++b)
      reference = larger(reference, float_from_bits(static_cast<u32>(both[b])));
    float total = 0.0f;
    Quad sum = {};
#pragma unroll
    for (int b = 0; b < Config::value.most_team; ++b) {
      if (b >= blocks) break;
      const float factor = exp2_fast(float_from_bits(static_cast<u32>(both[b])) - reference);
      total += factor * float_from_bits(static_cast<u32>(both[b] >> 32));
#pragma unroll
      for (int j = 0; j < 4; ++j) sum.v[j] += factor * parts[b].v[j];
    }
    output.put_or_keep(segment, kQueryTile * n + i / kQuads, i % kQuads, sum, reference, total,
                       whole, slot);
  }

  // Whether all other teams that share the item have stored their parts of this block's share.
  // Behind a barrier of the block, so that the first thread's fence is one for all.
  __device__ __forceinline__ bool arrive(const Segment& segment) const {
    const int first = segment.item / work.share();
    const int last = (segment.item_end - 1) / work.share();
    const u32 flag = place(Config::value.warps);
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

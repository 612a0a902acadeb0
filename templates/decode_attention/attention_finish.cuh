// The results of a segment: of all warps of the block, of all blocks of its team, then of all teams
// that share the item, each in a fixed order.
#pragma once

#include "decode_attention/attention_output.cuh"
#include "primitives/mbarrier.cuh"

namespace heddle {

template <class Config>
struct AttentionFinish {
  using S = AttentionShape<Config>;
  using Softmax = AttentionSoftmax<Config>;
  using Team = AttentionTeam<Config>;
  using Output = AttentionOutput<Config>;
  static constexpr int kQuads = Output::kQuads;
  static constexpr int kWarps = Config::value.warps;

  Output output;
  const AttentionWork<Config>& work;
  u32 memory;
  int warp;
  int lane;

  // Before anything else, by every thread of the block.
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

  // Every thread of the block calls it. `room`: eight rows of the warp's own. True if this block is
  // the one to merge the item.
  __device__ __forceinline__ bool finish(const Segment& segment, Softmax& softmax, u32 room) const {
    const int g = lane / 4;
    const int t = lane % 4;
    if (lane == 0) store_shared_4(place(warp), room);
    add_lanes(softmax, g, t);
    warp_barrier();  // every lane has read what was in the room
    const bool whole = work.is_whole(segment);
    const bool shared = work.is_shared(segment);
    u8* slot = output.slot_of(Output::block(Team::index()), segment.begin == segment.item);
#pragma unroll
    for (int n = 0; n < S::kRowTiles; ++n) {
      if (n > 0) block_barrier();
#pragma unroll
      for (int c = 0; c < 2; ++c)
        store_row(softmax, n, c, g, room + 4 * (2 * t + c) * S::kSumStride);
      u32 exchanges = 0;  // that have been
      if (shared) exchanges = load_shared_4(memory + S::kTeamOffset + 8);
      block_barrier();
      if (shared) {
        if constexpr (Config::value.most_team > 1) expect_parts(segment, n, exchanges);
      }
      // Of a team each block sends the others what they add, and then adds its own share.
#pragma unroll 1
      for (int pass = shared ? 0 : 1; pass < 2; ++pass) {
        const bool sends = pass == 0;
        const bool of_blocks = shared && !sends;
        if constexpr (Config::value.most_team > 1) {
          if (of_blocks) mbarrier_wait_cluster(memory + S::kTeamOffset, exchanges % 2);
        }
        if (shared || Team::rank() == 0) add(segment, n, of_blocks, sends, whole, slot);
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
          store_shared_float(stats(8 * n + 2 * t + c, warp), softmax.reference[n][c]);
          store_shared_float(stats(8 * n + 2 * t + c, warp) + 4, sum);
        }
      }
    }
  }

  // What the lane has of row c of two, as many neighbouring elements at once as it has.
  __device__ __forceinline__ void store_row(const Softmax& softmax, int n, int c, int g,
                                            u32 to) const {
    constexpr int kRun = AttentionValues<Config>::kNeighbours;
#pragma unroll
    for (int i = 0; i < 2 * S::kDimTiles; i += kRun) {
      float x[kRun];
#pragma unroll
      for (int j = 0; j < kRun; ++j) x[j] = softmax.value(n, (i + j) / 2, (i + j) % 2 * 2 + c);
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

  // Before the blocks of a team send each other parts of eight rows, by every thread.
  __device__ __forceinline__ void expect_parts(const Segment& segment, int n, u32 exchanges) const {
    // All have read what these will overwrite.
    if (exchanges > 0) cluster_barrier_unordered();
    if (threadIdx.x == 0) {
      const int quads = Output::share_of(segment, n) + Output::rows_of(segment, n);
      mbarrier_arrive_expect(memory + S::kTeamOffset, 16 * Team::blocks() * quads);
      store_shared_4(memory + S::kTeamOffset + 8, exchanges + 1);
    }
  }

  // Eight rows. `of_blocks`: the block's share of the sums that the team's blocks have sent. Else
  // sums of the block's warps, of all quads. `sends`: to the blocks whose share they are, else to
  // their places in the output or the slot.
  __device__ __forceinline__ void add(const Segment& segment, int n, bool of_blocks, bool sends,
                                      bool whole, u8* slot) const {
    const int runs = Output::rows_of(segment, n) * (kQuads / 4);
    const int step = 4 * ((runs + Team::blocks() - 1) >> Team::log_blocks());
    const int count = of_blocks ? Output::share_of(segment, n) : 4 * runs;
#pragma unroll 1
    for (int i = threadIdx.x; i < count; i += S::kThreads) {
      const int quad = of_blocks ? Output::quad_of_share(i) : i;
      const int row = quad / kQuads;
      const u32 in_room = 4 * row * S::kSumStride + 16 * (quad % kQuads);
      AttentionParts parts{stats(8 * n + row, 0), 8, in_room, 0, place(0)};
      if (of_blocks) {
        const u32 of_row = memory + S::kTeamStatsOffset + 16 * (row * Config::value.most_team);
        parts = {of_row, 16, memory + S::kTeamQuadsOffset + 16 * i, 16u * step, 0};
      }
      RowQuad sum;
      sum.add(parts, of_blocks ? Team::blocks() : Config::value.warps);
      if (sends) {
        if constexpr (Config::value.most_team > 1) send(quad, step, sum);
      } else {
        output.put_or_keep(segment, 8 * n + row, quad % kQuads, sum, whole, slot);
      }
    }
  }

  // Of eight rows, of which a block's share is up to `step` quads.
  __device__ __forceinline__ void send(int quad, int step, const RowQuad& sum) const {
    const int blocks = Team::blocks();
    const int rank = Team::rank();
    const int place = rank * step + (quad >> (Team::log_blocks() + 2)) * 4 + quad % 4;
    send_to(quad / 4 & (blocks - 1), memory + S::kTeamQuadsOffset + 16 * place, sum.bits());
    // The first lanes of a row send its reference and sum, one to each block.
    const int row = quad / kQuads;
    const u32 at = memory + S::kTeamStatsOffset + 16 * (row * Config::value.most_team + rank);
#pragma unroll 1
    for (int to = quad % kQuads; to < blocks; to += kQuads)
      send_to(to, at, pack_floats(sum.reference, sum.total, 0.0f, 0.0f));
  }
  __device__ __forceinline__ void send_to(int block, u32 at, u32x4 bits) const {
    store_remote_16(address_in_block(at, block), bits,
                    address_in_block(memory + S::kTeamOffset, block));
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

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

  // Every thread of the block calls it. `room`: eight rows of the warp's own. `free`: as many parts
  // of other teams as the warp has room for, from there on.
  __device__ __forceinline__ void finish(const Segment& segment, Softmax& softmax, u32 room,
                                         u32 free, int free_parts) const {
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
      if constexpr (Config::value.most_team > 1) {
        if (shared) expect_parts(segment, n, exchanges);
      }
      const int last_step = n == S::kRowTiles - 1 ? kMerge : kStore;
      int teams = 0;
#pragma unroll 1
      for (int step = shared ? kSend : kStore; step <= last_step; ++step) {
        if (Config::value.most_team > 1 && step == kStore && shared)
          mbarrier_wait_cluster(memory + S::kTeamOffset, exchanges % 2);
        if (step == kMerge) {
          // All have read what the rings and the next segment will overwrite.
          block_barrier();
          const int share = work.share();
          const int first = segment.item / share;
          teams = (segment.item_end - 1) / share - first + 1;
          slot = output.slot_of(Output::block(first), false);
          if (!arrive(Output::block(first), teams, whole)) break;
        }
        add(segment, n, step, shared, whole, slot, free + 16 * lane, free_parts, teams);
      }
    }
  }

 private:
  // What is done with eight rows one after the other: each block of a team sends the others what
  // they add; sums go to the output or to the slot; the last team to come adds those of all teams.
  static constexpr int kSend = 0;
  static constexpr int kStore = 1;
  static constexpr int kMerge = 2;

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

  // A step of eight rows, or, of kMerge, of all rows up to these. Parts are those of the block's
  // warps, or what the team's blocks have sent, or those of `teams` teams, whose slots begin with
  // `slot`; they come to `free`.
  __device__ __forceinline__ void add(const Segment& segment, int n, int step, bool shared,
                                      bool whole, u8* slot, u32 free, int free_parts,
                                      int teams) const {
    const bool merges = step == kMerge;
    const bool of_blocks = shared && step == kStore;
    const int blocks = Team::blocks();
    const int count = merges ? teams : of_blocks ? blocks : Config::value.warps;
    const int at_once = merges ? free_parts : count;
    if (!shared && !merges && Team::rank() > 0) return;
#pragma unroll 1
    for (int m = merges ? 0 : n; m <= n; ++m) {
      const int runs = Output::rows_of(segment, m) * (kQuads / 4);
      const int most = 4 * ((runs + blocks - 1) >> Team::log_blocks());  // quads of a share
      const int quads = merges || of_blocks ? Output::share_of(segment, m) : 4 * runs;
#pragma unroll 1
      for (int i = threadIdx.x; i < quads; i += S::kThreads) {
        const int quad = merges || of_blocks ? Output::quad_of_share(i) : i;
        const int row = quad / kQuads;
        const u32 in_room = 4 * row * S::kSumStride + 16 * (quad % kQuads);
        AttentionParts parts{stats(8 * m + row, 0), 8, in_room, 0, place(0)};
        if (of_blocks) {
          const u32 of_row = memory + S::kTeamStatsOffset + 16 * (row * Config::value.most_team);
          parts = {of_row, 16, memory + S::kTeamQuadsOffset + 16 * i, 16u * most, 0};
        }
        RowQuad sum;
#pragma unroll 1
        for (int begin = 0; begin < count; begin += at_once) {
          const int left = count - begin < at_once ? count - begin : at_once;
          if (merges) parts = output.copy_parts(8 * m * kQuads + quad, slot, begin, left, free);
          sum.add(parts, left);
        }
        if (step == kSend) {
          if constexpr (Config::value.most_team > 1) send(quad, most, sum);
        } else {
          output.put_or_keep(segment, 8 * m + row, quad % kQuads, sum, whole || merges, slot);
        }
      }
    }
  }

  // Of eight rows, of which a block's share is up to `step` quads.
  __device__ __forceinline__ void send(int quad, int step, const RowQuad& sum) const {
    const int blocks = Team::blocks();
    const int rank = Team::rank();
    const int place = rank * step + (quad >> (Team::log_blocks() + 2)) * 4 + quad % 4;
    send_to(quad / 4 & (blocks - 1), memory + S::kTeamQuadsOffset + 16 * place, sum.floats());
    // The first lanes of a row send its reference and sum, one to each block.
    const int row = quad / kQuads;
    const u32 at = memory + S::kTeamStatsOffset + 16 * (row * Config::value.most_team + rank);
#pragma unroll 1
    for (int to = quad % kQuads; to < blocks; to += kQuads)
      send_to(to, at, {sum.reference, sum.total, 0.0f, 0.0f});
  }
  __device__ __forceinline__ void send_to(int block, u32 at, f32x4 floats) const {
    store_remote_floats(address_in_block(at, block), floats,
                        address_in_block(memory + S::kTeamOffset, block));
  }

  // Whether the other ones of `teams` teams have all stored their parts of this block's share;
  // false of a whole item. Behind a barrier of the block, so that the first thread's fence is one
  // for all. Its own barrier is no branch's: the compiler takes warps behind one of a branch for
  // diverged, and then the loop over tiles has instructions that bring them together.
  __device__ __forceinline__ bool arrive(int first_block, int teams, bool whole) const {
    const u32 flag = place(Config::value.warps);
    if (threadIdx.x == 0) {
      bool is_last = false;
      if (!whole) {
        u32* counter = reinterpret_cast<u32*>(output.arguments.workspace) + first_block;
        device_fence();
        is_last = atomic_add(counter, 1) == static_cast<u32>(teams - 1);
        if (is_last) store_global_4(counter, 0);
        device_fence();
      }
      store_shared_4(flag, is_last);
    }
    block_barrier();
    return load_shared_4(flag) != 0;
  }
};

}  // namespace heddle

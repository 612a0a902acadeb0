// The sums of a row block: the warps that multiply put theirs into a slot of shared memory; one
// warp more adds them in the order of K and writes the outputs. Where blocks share K, their sums
// meet in one of them, in each of them in turn.
#pragma once

#include "primitives/cluster.cuh"
#include "primitives/sync.cuh"
#include "schedule/piece.cuh"
#include "steps/output.cuh"
#include "steps/sums.cuh"
#include "stream/multiply.cuh"
#include "stream/shape.cuh"

namespace heddle {

// Puts a lane's part of a warp's sums where they lie in fragment order.
template <class Config>
__device__ __forceinline__ void put_fragments(u32 sums, int lane, const StreamSum<Config>& sum) {
  using S = StreamShape<Config>;
  const int t = lane % 4;
  if (t < S::kPairs) {
    const u32 to = sums + 16 * (lane / 4 * S::kPairs + t);
#pragma unroll
    for (int tile = 0; tile < S::kTokenTiles; ++tile) {
      store_shared_floats(to + tile * S::kTileSumBytes, Config::Sums::four(sum[tile]));
    }
  }
}

// Sums that lie in fragment order, for the lanes of one warp.
template <class Config>
struct StreamSumVectors {
  using S = StreamShape<Config>;
  using Sums = typename Config::Sums;
  using Sum = StreamSum<Config>;

  // Adds a lane's part of `count` sums that lie one behind the other.
  static __device__ __forceinline__ void add(u32 sums, int count, int lane, Sum& sum) {
    if (lane >= S::kSumVectors) return;
#pragma unroll
    for (int i = 0; i < count; ++i) {
#pragma unroll
      for (int tile = 0; tile < S::kTokenTiles; ++tile) {
        Sums::add(sum[tile], load_shared_floats(sums + i * S::kSumBytes + tile * S::kTileSumBytes +
                                                16 * lane));
      }
    }
  }
  // Puts what add() gives a lane.
  static __device__ __forceinline__ void put(u32 sums, int lane, const Sum& sum) {
    if (lane >= S::kSumVectors) return;
#pragma unroll
    for (int tile = 0; tile < S::kTokenTiles; ++tile) {
      store_shared_floats(sums + tile * S::kTileSumBytes + 16 * lane, Sums::four(sum[tile]));
    }
  }
  // The sums of a token and rows 0..7 or 8..15.
  static __device__ __forceinline__ EightSums<typename Sums::Sum> vector_of(u32 sums, int token,
                                                                            int half) {
    const u32 at =
        sums + token / 8 * S::kTileSumBytes + 16 * (token % 8 / 2) + 4 * (2 * half + token % 2);
    EightSums<typename Sums::Sum> sum;
#pragma unroll
    for (int g = 0; g < 8; ++g) sum.v[g] = Sums::of_bits(load_shared_4(at + 16 * S::kPairs * g));
    return sum;
  }
};

// A warp's, in fragment order; `i` counts the block's row blocks.
template <class Config>
__device__ __forceinline__ void put_sums(const StreamMemory<Config>& memory, int i, int warp,
                                         int lane, const StreamSum<Config>& sum) {
  using S = StreamShape<Config>;
  const int slot = i % S::kSlots;
  // A fresh barrier counts as one whose phase of parity 1 has ended.
  mbarrier_wait(memory.free_barrier(slot), (i / S::kSlots & 1) ^ 1);
  put_fragments<Config>(memory.sums(slot, warp), lane, sum);
  mbarrier_arrive(memory.full_barrier(slot));
}

// The warp that adds. Values: see StreamPlainValues.
template <class Config, class Values>
struct StreamSums {
  using S = StreamShape<Config>;
  using Sums = typename Config::Sums;
  using Sum = StreamSum<Config>;
  using Vectors = StreamSumVectors<Config>;
  static constexpr int kRows = Config::value.epilogue.rows();
  // A token has two lanes, of rows 0..7 and 8..15, or one where an output takes both.
  static constexpr int kLanes = 16 / kRows;
  static_assert(Config::value.tokens <= 32 / kLanes, "a lane has outputs of one token");

  StreamMemory<Config> memory;
  typename Config::Schedule schedule;
  Output<Config> output;
  Values values;
  int m;
  int lane;
  int rank = S::kMeets ? static_cast<int>(cluster_rank()) : 0;

  // Other warps may use them after a barrier of the block, other blocks after one of the cluster.
  __device__ __forceinline__ void init_barriers() const {
    if (!elect_one()) return;
#pragma unroll
    for (int slot = 0; slot < S::kSlots; ++slot) {
      mbarrier_init(memory.full_barrier(slot), 32 * Config::value.warps_k);
      mbarrier_init(memory.free_barrier(slot), 32);
    }
    if constexpr (S::kMeets) {
#pragma unroll
      for (int i = 0; i < S::kMeetingBarriers; ++i) {
        mbarrier_init(memory.meeting_full_barrier(0) + 8 * i, 1);
      }
    }
    mbarrier_init_fence();
    if constexpr (S::kMeets) {
#pragma unroll
      for (int i = 0; i < S::kMeetings; ++i) expect_others(i);
    }
  }

  // Sums of other blocks take their time: a row block is finished after the next one's warps.
  __device__ __forceinline__ void run() const {
    const int count = schedule.count();
    const auto of_token = values.of_token(lane / kLanes, m);
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      // What the weights have of these rows comes while other warps multiply.
      typename Values::OfRows of_rows;
      if constexpr (!S::kMeets) of_rows = values.of_rows(row_of(schedule.piece(i)));
      const int slot = i % S::kSlots;
      mbarrier_wait(memory.full_barrier(slot), i / S::kSlots & 1);
      Sum sum = {};
      Vectors::add(memory.sums(slot, 0), Config::value.warps_k, lane, sum);
      mbarrier_arrive(memory.free_barrier(slot));
      if constexpr (S::kMeets) {
        hand_over(Meeting(i), sum);
        if (i > 0) finish(i - 1, of_token);
      } else {
        write(memory.meeting(0, 0), schedule.piece(i), sum, of_rows, of_token);
      }
    }
    if (S::kMeets && count > 0) finish(count - 1, of_token);
  }

 private:
  // Where the sums of the i-th row block meet.
  struct Meeting {
    int rank;   // in which block
    int index;  // in which of its meetings
    u32 parity;

    __device__ __forceinline__ explicit Meeting(int i)
        : rank(i % Config::value.split_k),
          index(i / Config::value.split_k % S::kMeetings),
          parity(i / Config::value.split_k / S::kMeetings & 1) {}
  };

  __device__ __forceinline__ void expect_others(int meeting) const {
    mbarrier_arrive_expect(memory.meeting_full_barrier(meeting),
                           (Config::value.split_k - 1) * S::kSumBytes);
  }

  // Brings this block's sums to where they meet the others'.
  __device__ __forceinline__ void hand_over(const Meeting& at, const Sum& sum) const {
    const u32 place = memory.meeting(at.index, rank);
    if (at.rank == rank) return Vectors::put(place, lane, sum);
    // Who sends nothing does not wait: the phase after may end before it has looked, as the other
    // block waits for what is sent only, and then it would wait for ever.
    if (lane >= S::kSumVectors) return;
    mbarrier_wait_cluster(memory.meeting_free_barrier(at.index, at.rank), at.parity ^ 1);
    const u32 barrier = address_in_block(memory.meeting_full_barrier(at.index), at.rank);
    const u32 to = address_in_block(place, at.rank) + 16 * lane;
#pragma unroll
    for (int tile = 0; tile < S::kTokenTiles; ++tile) {
      store_remote_floats(to + tile * S::kTileSumBytes, Sums::four(sum[tile]), barrier);
    }
  }

  // The block where they meet adds all sums, and makes outputs of them.
  __device__ __forceinline__ void finish(int i, const typename Values::OfToken& of_token) const {
    const Meeting at(i);
    if (at.rank != rank) return;
    const auto of_rows = values.of_rows(row_of(schedule.piece(i)));
    mbarrier_wait_cluster(memory.meeting_full_barrier(at.index), at.parity);
    Sum sum = {};
    Vectors::add(memory.meeting(at.index, 0), Config::value.split_k, lane, sum);
    warp_barrier();
    if (lane == 0) expect_others(at.index);
    warp_barrier();
    if (lane != rank && lane < Config::value.split_k) {
      mbarrier_arrive_remote(address_in_block(memory.meeting_free_barrier(at.index, rank), lane));
    }
    write(memory.meeting(at.index, rank), schedule.piece(i), sum, of_rows, of_token);
  }

  // The first of the rows whose sums the lane makes outputs of.
  __device__ __forceinline__ int row_of(const Piece& piece) const {
    return 16 * piece.row_tile + kRows * (lane % kLanes);
  }

  // Writes by way of shared memory, since a lane has fragments.
  __device__ __forceinline__ void write(u32 shared, const Piece& piece, const Sum& sum,
                                        const typename Values::OfRows& of_rows,
                                        const typename Values::OfToken& of_token) const {
    Vectors::put(shared, lane, sum);
    warp_barrier();
    const int row = row_of(piece);
    const bool inside = Config::value.shape.n % 16 == 0 || row < Config::value.shape.n;
#pragma unroll
    for (int first = 0; first < Config::value.tokens; first += 32 / kLanes) {
      const int token = first + lane / kLanes;
      if (token < m && inside) {
        output.store(token, row, [&](int half) {
          return values.outputs(Vectors::vector_of(shared, token, kLanes == 2 ? lane % 2 : half),
                                of_rows, of_token, half);
        });
      }
    }
    warp_barrier();
  }
};

}  // namespace heddle

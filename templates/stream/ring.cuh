// A warp's weights: bulk copies of its columns of one row block after the other, a ring of stages
// ahead of what is multiplied.
#pragma once

#include "primitives/bulk_copy.cuh"
#include "primitives/sync.cuh"
#include "stream/shape.cuh"

namespace heddle {

template <class Config>
struct StreamRing {
  using S = StreamShape<Config>;

  StreamMemory<Config> memory;
  typename Config::Schedule schedule;
  const u8* weights;
  int warp;
  Range chunks;
  u64 policy = policy_read_once();
  // Where the next stage comes from: the chunks of a row block first, then row blocks.
  int blocks;  // left, the one of `next` among them
  int next_chunk;
  const u8* next;
  // The stage that is multiplied next.
  int stage = 0;
  u32 parity = 0;

  __device__ __forceinline__ void init() {
    if (elect_one()) {
#pragma unroll
      for (int i = 0; i < Config::value.stages; ++i)
        mbarrier_init(memory.stage_barrier(warp, i), 1);
#pragma unroll
      for (int i = 0; i < S::kPieces; ++i) mbarrier_init(memory.token_barrier(warp, i), 1);
      mbarrier_init_fence();
    }
    warp_barrier();
    blocks = schedule.count();
    next_chunk = chunks.begin;
    next = weights + (static_cast<i64>(schedule.first) * Config::value.shape.chunks + next_chunk) *
                         Config::value.weights.chunk_bytes;
  }

  // Starts the copy of the next stage, if there is one.
  __device__ __forceinline__ void fill(int into) {
    if (blocks == 0) return;
    const int left = chunks.end - next_chunk;
    const int count =
        S::kEven || left > Config::value.stage_chunks ? Config::value.stage_chunks : left;
    const u32 bytes = count * Config::value.weights.chunk_bytes;
    if (elect_one()) {
      const u32 barrier = memory.stage_barrier(warp, into);
      mbarrier_arrive_expect(barrier, bytes);
      bulk_copy_once(memory.ring(warp) + into * S::kStageBytes, next, bytes, barrier, policy);
    }
    next += bytes;
    next_chunk += count;
    if (next_chunk < chunks.end) return;
    --blocks;
    next_chunk = chunks.begin;
    next += (static_cast<i64>(schedule.stride) * Config::value.shape.chunks -
             (chunks.end - chunks.begin)) *
            Config::value.weights.chunk_bytes;
  }

  // Waits for the stage, and returns its place in shared memory.
  __device__ __forceinline__ u32 take() const {
    mbarrier_wait(memory.stage_barrier(warp, stage), parity);
    return memory.ring(warp) + stage * S::kStageBytes;
  }
  // The warp has read it.
  __device__ __forceinline__ void give_back() {
    warp_barrier();
    fill(stage);
    if (++stage == Config::value.stages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

}  // namespace heddle

// A warp's weights: bulk copies of its columns, unit after unit, a ring of stages ahead of what is
// multiplied. Stages go on across row blocks and experts.
#pragma once

#include "few_experts/product.cuh"
#include "primitives/bulk_copy.cuh"
#include "primitives/sync.cuh"

namespace heddle {

template <class Product>
struct FewRing {
  using S = typename Product::S;
  static constexpr StreamConfig kStream = Product::kStream;
  static constexpr i64 kRowBytes =
      static_cast<i64>(kStream.shape.chunks) * kStream.weights.chunk_bytes;

  typename Product::Memory memory;
  const u8* weights;
  int warp;
  Range chunks;
  typename Product::Units units;  // the first is that of the next stage
  int experts = 0;
  u64 policy = policy_read_once();
  int next_chunk = 0;
  const u8* next = nullptr;
  // The stage that is multiplied next.
  int stage = 0;
  u32 parity = 0;

  __device__ __forceinline__ void init() const {
    if (elect_one()) {
#pragma unroll
      for (int i = 0; i < kStream.stages; ++i) mbarrier_init(memory.stage_barrier(warp, i), 1);
      mbarrier_init_fence();
    }
    warp_barrier();
  }

  // Fills all stages. `count`: of experts.
  __device__ __forceinline__ void start(int count) {
    experts = count;
    begin_unit();
#pragma unroll
    for (int i = 0; i < kStream.stages; ++i) fill(i);
  }

  // Waits for the stage, and returns its place in shared memory.
  __device__ __forceinline__ u32 take() const {
    mbarrier_wait(memory.stage_barrier(warp, stage), parity);
    return memory.stage(warp, stage);
  }
  // The warp has read it.
  __device__ __forceinline__ void give_back() {
    warp_barrier();
    fill(stage);
    if (++stage == kStream.stages) {
      stage = 0;
      parity ^= 1;
    }
  }

 private:
  __device__ __forceinline__ void begin_unit() {
    if (units.expert >= experts) return;
    next_chunk = chunks.begin;
    const i64 expert = load_shared_4(memory.expert(units.expert));
    next = weights + expert * Product::kExpertBytes + units.row_block() * kRowBytes +
           static_cast<i64>(next_chunk) * kStream.weights.chunk_bytes;
  }

  // Starts the copy of the next stage, if there is one.
  __device__ __forceinline__ void fill(int into) {
    if (units.expert >= experts) return;
    const int left = chunks.end - next_chunk;
    const int count = S::kEven || left > kStream.stage_chunks ? kStream.stage_chunks : left;
    const u32 bytes = count * kStream.weights.chunk_bytes;
    const int rows = units.rows();
    if (elect_one()) {
      const u32 barrier = memory.stage_barrier(warp, into);
      mbarrier_arrive_expect(barrier, rows * bytes);
#pragma unroll
      for (int row = 0; row < Product::kRows; ++row) {
        if (row >= rows) break;
        bulk_copy_once(memory.stage(warp, into) + row * S::kStageBytes,
                       next + row * (Product::kRowStride * kRowBytes), bytes, barrier, policy);
      }
    }
    next += bytes;
    next_chunk += count;
    if (next_chunk < chunks.end) return;
    units.next();
    begin_unit();
  }
};

}  // namespace heddle

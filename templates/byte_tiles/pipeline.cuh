// The ring of stages in shared memory, with and without asynchronous copies.
//
// start() waits for the kernel before this one. Weights may be read before that: no kernel that
// lets its successor start early writes them.
//
// Use: start(); then stage by stage: multiply from acquire(), then release(); finish().
// What else the thread has begun to copy behind start() has arrived behind finish().
#pragma once

#include "byte_tiles/stage_copy.cuh"
#include "primitives/dependent_launch.cuh"
#include "primitives/memory.cuh"
#include "primitives/sync.cuh"
#include "schedule/piece.cuh"

namespace heddle {

// cp.async: all stages but one are on their way while that is read.
template <class Config>
struct AsyncByteStages {
  using S = ByteTilesShape<Config>;
  ByteStageCopy<Config> copy;
  u32 shared;
  int stage, end;  // the next one that is copied, and of this block's the last
  int slot = 0;    // of the stage that is read next

  __device__ __forceinline__ AsyncByteStages(const ByteOperands& operands, const Piece& piece,
                                             u32 shared)
      : copy(operands), shared(shared), stage(piece.begin), end(piece.end) {}

  __device__ __forceinline__ void start() {
    const auto put = copy_to(0);
    if (stage < end) copy.for_each_weight_piece(stage, put);
    wait_for_predecessor();
    if (stage < end) copy.for_each_token_piece(stage, put);
    copy_async_commit();
    ++stage;
#pragma unroll 1
    for (int i = 1; i < S::kStages - 1; ++i) fill(i);
  }

  // Waits for the stage and returns its shared address.
  __device__ __forceinline__ u32 acquire() {
    copy_async_wait<S::kStages - 2>();
    // Every thread's copies of this stage have arrived, and every warp has left the slot that is
    // filled next, which held the stage before.
    block_barrier();
    fill(slot == 0 ? S::kStages - 1 : slot - 1);
    return shared + slot * S::kStageBytes;
  }

  __device__ __forceinline__ void release() { slot = slot == S::kStages - 1 ? 0 : slot + 1; }

  __device__ __forceinline__ void finish() {
    copy_async_wait<0>();
    block_barrier();
  }

 private:
  // Commits a group even past the end: acquire() counts groups.
  __device__ __forceinline__ void fill(int to) {
    if (stage < end) {
      copy.for_each_weight_piece(stage, copy_to(to));
      copy.for_each_token_piece(stage, copy_to(to));
    }
    copy_async_commit();
    ++stage;
  }
  __device__ __forceinline__ auto copy_to(int to) const {
    const u32 base = shared + to * S::kStageBytes;
    return [base](int, u32 offset, const u8* from, bool valid) {
      copy_async_16(base + offset, from, valid);
    };
  }
};

// Through registers: the next stage is loaded before this one is multiplied, and stored after.
template <class Config>
struct RegisterByteStages {
  using S = ByteTilesShape<Config>;
  ByteStageCopy<Config> copy;
  u32 shared;
  int stage, end;  // the stage that is read next, and of this block's the last
  int slot = 0;    // of that stage
  u32x4 held[ByteStageCopy<Config>::kSteps];

  static_assert(S::kStages == 2, "one stage in registers, one in use");

  __device__ __forceinline__ RegisterByteStages(const ByteOperands& operands, const Piece& piece,
                                                u32 shared)
      : copy(operands), shared(shared), stage(piece.begin), end(piece.end) {}

  __device__ __forceinline__ void start() {
    wait_for_predecessor();
    if (stage < end) {
      load(stage);
      store(slot);
    }
    block_barrier();
  }

  __device__ __forceinline__ u32 acquire() {
    if (stage + 1 < end) load(stage + 1);
    return shared + slot * S::kStageBytes;
  }

  __device__ __forceinline__ void release() {
    slot ^= 1;
    if (++stage < end) store(slot);
    block_barrier();
  }

  __device__ __forceinline__ void finish() {
    copy_async_commit();
    copy_async_wait<0>();
    block_barrier();
  }

 private:
  __device__ __forceinline__ void load(int from_stage) {
    const auto get = [this](int index, u32, const u8* from, bool valid) {
      held[index] = valid ? load_global_16_coherent(from) : u32x4{0, 0, 0, 0};
    };
    copy.for_each_weight_piece(from_stage, get);
    copy.for_each_token_piece(from_stage, get);
  }
  __device__ __forceinline__ void store(int to) {
    const u32 base = shared + to * S::kStageBytes;
    const auto put = [this, base](int index, u32 offset, const u8*, bool) {
      store_shared_16(base + offset, held[index]);
    };
    copy.for_each_weight_piece(stage, put);
    copy.for_each_token_piece(stage, put);
  }
};

}  // namespace heddle

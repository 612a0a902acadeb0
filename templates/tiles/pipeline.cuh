// The ring of stages in shared memory, with and without asynchronous copies.
//
// start() waits for the kernel before this one. Weights may be read before that: no kernel that
// lets its successor start early writes them.
//
// Use: start(); then for each stage: slot = acquire(i); multiply from the slot; release(i).
#pragma once

#include "primitives/dependent_launch.cuh"
#include "primitives/sync.cuh"
#include "schedule/piece.cuh"
#include "tiles/stage_copy.cuh"

namespace heddle {

// cp.async: kStages - 1 stages are on their way while one is read. Tokens: a policy of
// operands.cuh.
template <class Config, class Tokens = DenseTokens>
struct AsyncPipeline {
  using S = Shape<Config>;
  using Operands = typename Tokens::Operands;
  StageCopy<Config, Tokens> copy;
  u32 shared;
  int begin, end;  // stages of this block

  __device__ __forceinline__ AsyncPipeline(const Operands& operands, const Piece& piece, u32 shared)
      : copy(operands), shared(shared), begin(piece.begin), end(piece.end) {}

  __device__ __forceinline__ void start() {
    const auto put = copy_to(0);
    if (begin < end) copy.for_each_weight_piece(begin, put);
    wait_for_predecessor();
    if (begin < end) copy.for_each_token_piece(begin, put);
    copy_async_commit();
#pragma unroll 1
    for (int i = 1; i < Config::value.stages - 1; ++i) fill(begin + i, i);
  }

  // Waits for the stage and returns its shared address.
  __device__ __forceinline__ u32 acquire(int stage) {
    copy_async_wait<Config::value.stages - 2>();
    // Every thread's copies of this stage have arrived, and every warp has left the slot that is
    // filled next, which held the stage before.
    block_barrier();
    const int ahead = stage + Config::value.stages - 1;
    fill(ahead, (ahead - begin) % Config::value.stages);
    return shared + (stage - begin) % Config::value.stages * S::kStageBytes;
  }

  __device__ __forceinline__ void release(int) {}

  __device__ __forceinline__ void finish() {
    copy_async_wait<0>();
    block_barrier();
  }

 private:
  // Commits a group even past the end: acquire() counts groups.
  __device__ __forceinline__ void fill(int stage, int slot) {
    if (stage < end) copy.for_each_piece(stage, copy_to(slot));
    copy_async_commit();
  }
  __device__ __forceinline__ auto copy_to(int slot) const {
    const u32 base = shared + slot * S::kStageBytes;
    return [base](int, u32 offset, const u8* from, bool valid) {
      copy_async_16(base + offset, from, valid);
    };
  }
};

// Through registers: the next stage is loaded before this one is multiplied, and stored after.
template <class Config>
struct RegisterPipeline {
  using S = Shape<Config>;
  StageCopy<Config> copy;
  u32 shared;
  int begin, end;
  u32x4 held[StageCopy<Config>::kSteps];

  static_assert(Config::value.stages == 2, "one stage in registers, one in use");

  __device__ __forceinline__ RegisterPipeline(const TileOperands& operands, const Piece& piece,
                                              u32 shared)
      : copy(operands), shared(shared), begin(piece.begin), end(piece.end) {}

  __device__ __forceinline__ void start() {
    wait_for_predecessor();
    if (begin < end) {
      load(begin);
      store(begin);
    }
    block_barrier();
  }

  __device__ __forceinline__ u32 acquire(int stage) {
    if (stage + 1 < end) load(stage + 1);
    return slot(stage);
  }

  __device__ __forceinline__ void release(int stage) {
    if (stage + 1 < end) store(stage + 1);
    block_barrier();
  }

  __device__ __forceinline__ void finish() {}

 private:
  __device__ __forceinline__ u32 slot(int stage) const {
    return shared + ((stage - begin) & 1) * S::kStageBytes;
  }
  __device__ __forceinline__ void load(int stage) {
    copy.for_each_piece(stage, [this](int index, u32, const u8* from, bool valid) {
      held[index] = valid ? load_global_16_coherent(from) : u32x4{0, 0, 0, 0};
    });
  }
  __device__ __forceinline__ void store(int stage) {
    const u32 base = slot(stage);
    copy.for_each_piece(stage, [this, base](int index, u32 offset, const u8*, bool) {
      store_shared_16(base + offset, held[index]);
    });
  }
};

}  // namespace heddle

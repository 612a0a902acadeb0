// The ring of stages of a wide tile, filled by cp.async. A stage is read ahead of its products.
//
// Use: start(); then for each slice: read; start all copies, in any order, then end_copies(); once
// nothing more is read from a stage, advance().
#pragma once

#include "primitives/dependent_launch.cuh"
#include "primitives/sync.cuh"
#include "schedule/piece.cuh"
#include "tiles/wide_copy.cuh"

namespace heddle {

// Tokens: a policy of operands.cuh.
template <class Config, class Tokens = DenseTokens>
struct WidePipeline {
  using S = Shape<Config>;
  using Copy = WideCopy<Config, Tokens>;
  using Operands = typename Tokens::Operands;
  Copy copy;
  u32 shared;
  int end;   // of this block's stages
  int left;  // stages that are still to be copied; below zero: copies that are left out
  u32 here;  // shared address of the stage that is read
  u32 free;  // of the one behind the last that has been copied

  static_assert(Config::value.split_k <= S::kTotalStages, "a warp begins to read before it looks");

  __device__ __forceinline__ WidePipeline(const Operands& operands, const Piece& piece, u32 shared)
      : copy(piece.begin, operands),
        shared(shared),
        end(piece.end),
        left(piece.end - piece.begin) {}

  // Waits for the kernel before this one.
  __device__ __forceinline__ void start() {
    wait_for_predecessor();
    here = shared;
    free = shared;
#pragma unroll 1
    for (int i = 0; i < (Config::value.stages - 1) * Copy::kSlices; ++i) {
#pragma unroll
      for (int j = 0; j < Copy::kCopies; ++j) start_copy(j);
      end_copies();
    }
    wait();
  }

  // Copy i of a slice.
  __device__ __forceinline__ void start_copy(int i) const {
    copy.start(i, end - left, free, left > 0);
  }
  __device__ __forceinline__ void end_copies() {
    copy_async_commit();
    if (copy.end_slice()) {
      --left;
      free = behind(free);
    }
  }

  // Whether there is a slice behind the one whose copies have ended: of a stage that has been
  // copied.
  __device__ __forceinline__ bool has_more() const { return left > 1 - Config::value.stages; }

  // Waits for the next stage, if there is one. The place of this one is free then.
  __device__ __forceinline__ void advance() {
    here = behind(here);
    wait();
  }

  __device__ __forceinline__ void finish() const {
    copy_async_wait<0>();
    block_barrier();
  }

 private:
  __device__ __forceinline__ void wait() const {
    copy_async_wait<(Config::value.stages - 2) * Copy::kSlices>();
    block_barrier();
  }
  __device__ __forceinline__ u32 behind(u32 stage) const {
    const u32 next = stage + S::kStageBytes;
    return next == shared + Config::value.stages * S::kStageBytes ? shared : next;
  }
};

}  // namespace heddle

// The tokens of a warp's columns: copied to shared memory once, read as B fragments for every row
// block.
#pragma once

#include "gemm/stream_shape.cuh"
#include "primitives/bulk_copy.cuh"
#include "primitives/cluster.cuh"
#include "primitives/mma.cuh"
#include "primitives/sync.cuh"

namespace heddle {

template <class Config>
struct StreamTokens {
  using S = StreamShape<Config>;
  using Value = typename Config::Value;
  // Blocks of a cluster that have the same columns, each of which fetches a part for all.
  static constexpr int kSharers = Config::kCluster / Config::kSplitK;

  StreamMemory<Config> memory;
  const u8* x;
  const u8* pre_scale;
  int m;
  int warp;
  int lane;

  // Starts it. Columns that do not exist are zero.
  __device__ __forceinline__ void copy(const Range& chunks) const {
    const int columns = S::kChunkK * (chunks.end - chunks.begin);
    const int first = S::kChunkK * chunks.begin;
    const int valid = first + columns <= Config::kK ? columns : Config::kK - first;
    const int rows = m + (Config::kPreScale ? 1 : 0);
    const u32 barrier = memory.token_barrier(warp);
    if (lane == 0) mbarrier_arrive_expect(barrier, 2 * rows * valid);
    if (valid < columns) clear_columns(valid, columns);
    warp_barrier();
    // A row is cut into parts where there are fewer rows than blocks.
    constexpr int kParts = S::kTokenRows >= kSharers ? 1 : kSharers;
    for (int i = lane; i < rows * kParts; i += 32) {
      if (kSharers > 1 && i % kSharers != static_cast<int>(cluster_rank())) continue;
      const int row = i / kParts;
      const Range part = part_of({0, valid / 8}, i % kParts, kParts);
      const u32 bytes = 16 * (part.end - part.begin);
      if (bytes == 0) continue;
      const bool factors = Config::kPreScale && row == m;
      const u8* source = factors ? pre_scale : x + 2 * static_cast<i64>(row) * Config::kK;
      const u32 to = memory.tokens(warp) + (factors ? Config::kTokens : row) * S::kTokenRowBytes +
                     16 * part.begin;
      source += 2 * first + 16 * part.begin;
      if constexpr (kSharers > 1) {
        bulk_copy_to_all(to, source, bytes, barrier, (1u << Config::kCluster) - 1);
      } else {
        bulk_copy(to, source, bytes, barrier);
      }
    }
  }

  // For other lanes than those of which copy() cleared columns after a warp_barrier().
  __device__ __forceinline__ void wait() const { mbarrier_wait(memory.token_barrier(warp), 0); }

  // B fragments of 32 columns, each column times its factor, if there are any. `tokens`: of their
  // first column.
  __device__ __forceinline__ void load(u32 tokens, u32 (&b)[4]) const {
    // Rows beyond the last token only make outputs that no one writes.
    const int row = lane & 7;
    ldmatrix_x4(b,
                tokens + (row < Config::kTokens ? row : 0) * S::kTokenRowBytes + 16 * (lane >> 3));
    if constexpr (Config::kPreScale) {
      const u32 factors = tokens + Config::kTokens * S::kTokenRowBytes + 4 * (lane & 3);
#pragma unroll
      for (int i = 0; i < 4; ++i) b[i] = Value::mul2(b[i], load_shared_4(factors + 16 * i));
    }
  }

 private:
  __device__ __forceinline__ void clear_columns(int begin, int end) const {
    const int units = (end - begin) / 8;
    for (int i = lane; i < S::kTokenRows * units; i += 32) {
      store_shared_16(
          memory.tokens(warp) + i / units * S::kTokenRowBytes + 2 * (begin + 8 * (i % units)),
          {0, 0, 0, 0});
    }
  }
};

}  // namespace heddle

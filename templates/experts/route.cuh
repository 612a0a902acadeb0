// Sorts assignments by expert, lists the tiles of their rows, and copies the rows' tokens where a
// product cannot gather them. Every thread block counts the assignments of all experts, each
// of its warps those of a share. Then it takes one expert after the other: the sum of the counts
// before the expert's own is where its rows begin; its assignments get their rows in their order.
// Tiles of experts with more rows come first in the list, so that the last ones of the launches
// that walk it are short. Where there are several blocks for an expert, each has every so many of
// its rows. No block waits for another, and nothing depends on who comes first.
//
// Cost: a block reads all ids once, and for an expert with rows twice more where a warp's share is
// more than kBatch ids of a lane, which stay in registers. Copied tokens are read and written once
// for each of their rows.
#pragma once

#include "experts/assignments.cuh"
#include "experts/workspace.cuh"
#include "primitives/sync.cuh"

namespace heddle {

template <class Config>
struct MoeRouter {
  static constexpr ExpertLayer kLayer = Config::value.layer;
  static constexpr int kThreads = Config::value.threads();
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kExperts = kLayer.experts();
  static constexpr int kBatch = 8;

  const MoeParameters& layer;
  MoeWorkspace<Config> workspace;
  u32 shared;  // [experts] counts; [warps] rows of the expert at hand

  __device__ __forceinline__ void run() const {
    int experts[kBatch];
    count(experts);
    const int blocks = static_cast<int>(gridDim.x);
    const int parts = blocks > kExperts ? blocks / kExperts : 1;
    for (int unit = static_cast<int>(blockIdx.x); unit < kExperts * parts; unit += blocks) {
      place(unit % kExperts, {unit / kExperts, parts}, experts);
    }
  }

 private:
  // Of an expert's rows those that a block sees to.
  struct Part {
    int index;
    int count;
    __device__ __forceinline__ bool has(int row) const { return row % count == index; }
  };

  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % 32; }
  static __device__ __forceinline__ int warp() { return static_cast<int>(threadIdx.x) / 32; }
  __device__ __forceinline__ u32 count_of(int expert) const { return shared + 4 * expert; }
  __device__ __forceinline__ u32 rows_of_warp(int warp) const {
    return shared + 4 * (kExperts + warp);
  }

  // A warp's share of the assignments: begin() up to end().
  __device__ __forceinline__ Assignments<Config> all() const { return {layer}; }
  __device__ __forceinline__ int assignments() const { return all().count(); }
  __device__ __forceinline__ int share() const {
    return (assignments() + 32 * kWarps - 1) / (32 * kWarps) * 32;
  }
  __device__ __forceinline__ int begin() const { return warp() * share(); }
  __device__ __forceinline__ int end() const {
    const int end = begin() + share();
    return end < assignments() ? end : assignments();
  }
  // Whether experts that have been loaded are the whole share's.
  __device__ __forceinline__ bool is_one_batch() const { return share() <= 32 * kBatch; }

  // Experts of the share from one on; -1: those of other devices, and beyond its end.
  __device__ __forceinline__ void load(int from, int (&experts)[kBatch]) const {
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int at = from + 32 * i + lane();
      experts[i] = at < end() ? all().expert_of(at) : -1;
    }
  }

  __device__ __forceinline__ void count(int (&experts)[kBatch]) const {
    for (int i = static_cast<int>(threadIdx.x); i < kExperts; i += kThreads) {
      store_shared_4(count_of(i), 0);
    }
#pragma unroll
    for (int& expert : experts) expert = -1;
    block_barrier();
    for (int from = begin(); from < end(); from += 32 * kBatch) {
      load(from, experts);
#pragma unroll
      for (const int expert : experts) {
        if (expert >= 0) shared_add(count_of(expert), 1);
      }
      if (blockIdx.x == 0) leave_others_out(from, experts);
    }
    block_barrier();
  }

  // Assignments to experts of other devices have no row.
  __device__ __forceinline__ void leave_others_out(int from, const int (&experts)[kBatch]) const {
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int assignment = from + 32 * i + lane();
      if (assignment < end() && experts[i] < 0) {
        store_global_4(workspace.rows() + assignment, static_cast<u32>(-1));
      }
    }
  }

  __device__ __forceinline__ void place(int expert, const Part& part,
                                        int (&experts)[kBatch]) const {
    int first = 0;
    int first_tile = 0;
    int all_tiles = 0;
    const int rows = static_cast<int>(load_shared_4(count_of(expert)));
    for (int other = lane(); other < kExperts; other += 32) {
      const int its = static_cast<int>(load_shared_4(count_of(other)));
      if (other < expert) first += its;
      if (its > rows || (its == rows && other < expert)) first_tile += tiles_of(its);
      all_tiles += tiles_of(its);
    }
    first = sum_of_lanes(first);
    first_tile = sum_of_lanes(first_tile);
    all_tiles = sum_of_lanes(all_tiles);
    for (int i = static_cast<int>(threadIdx.x); part.index == 0 && i < tiles_of(rows);
         i += kThreads) {
      store_global_16(workspace.tiles() + first_tile + i,
                      {static_cast<u32>(expert), static_cast<u32>(first),
                       static_cast<u32>(first + rows), static_cast<u32>(i)});
    }
    if (expert == kExperts - 1 && part.index == 0 && threadIdx.x == 0) {
      store_global_4(workspace.tile_count(), all_tiles);
    }
    if (rows == 0) return;
    place_rows(expert, first, part, experts);
    if constexpr (kLayer.gathers) copy_tokens(expert, first, rows, part);
  }

  // All warps: `first` is the expert's first row.
  __device__ __forceinline__ void place_rows(int expert, int first, const Part& part,
                                             int (&experts)[kBatch]) const {
    int own = 0;
    for (int from = begin(); from < end(); from += 32 * kBatch) {
      if (!is_one_batch()) load(from, experts);
#pragma unroll
      for (int i = 0; i < kBatch; ++i) own += __popc(ballot(experts[i] == expert));
    }
    if (lane() == 0) store_shared_4(rows_of_warp(warp()), own);
    block_barrier();
    const bool is_before = lane() < warp();
    int row =
        first + sum_of_lanes(is_before ? static_cast<int>(load_shared_4(rows_of_warp(lane()))) : 0);
    for (int from = begin(); from < end(); from += 32 * kBatch) {
      if (!is_one_batch()) load(from, experts);
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const u32 owners = ballot(experts[i] == expert);
        if (experts[i] == expert) {
          const int at = row + __popc(owners & ((1u << lane()) - 1));
          const int assignment = from + 32 * i + lane();
          if (part.has(at - first)) {
            store_global_4(workspace.assignments() + at, assignment);
            store_global_4(workspace.rows() + assignment, at);
          }
        }
        row += __popc(owners);
      }
    }
    // The next expert's rows take the same places, and these are there for all warps.
    block_barrier();
  }

  // Each warp copies some rows' tokens, of `rows` rows of the expert from `first` on.
  __device__ __forceinline__ void copy_tokens(int expert, int first, int rows,
                                              const Part& part) const {
    const int step = part.count * kWarps;
    for (int begin = part.index + part.count * warp(); begin < rows; begin += 32 * step) {
      const int own = begin + step * lane();
      const u32 token = own < rows ? all().token_of(workspace.assignment_of(first + own)) : 0;
      for (int i = 0; i < 32 && begin + step * i < rows; ++i) {
        const i64 row = first + begin + step * i;
        if constexpr (kLayer.act_order) {
          permute_token(row, broadcast(token, i), expert);
        } else {
          copy_token(row, broadcast(token, i));
        }
      }
    }
  }
  // Eight columns of a lane at a time. Their numbers are read as vectors, the columns one by one:
  // from the second on out of the L1 cache.
  __device__ __forceinline__ void permute_token(i64 row, i64 token, int expert) const {
    constexpr int kVectors = kLayer.hidden / 8;
    const u8* const from = layer.x + 2 * token * kLayer.hidden;
    const int* const order = layer.permutation + static_cast<i64>(expert) * kLayer.hidden;
    u8* const to = workspace.gathered() + 2 * row * kLayer.hidden;
#pragma unroll 1
    for (int at = lane(); at < kVectors; at += 32) {
      const u32x4 low = load_global_16_coherent(order + 8 * at);
      const u32x4 high = load_global_16_coherent(order + 8 * at + 4);
      const auto pair = [&](u32 first, u32 second) {
        return load_global_2_coherent(from + 2 * first) | load_global_2_coherent(from + 2 * second)
                                                              << 16;
      };
      store_global_16(to + 16 * at, {pair(low.x, low.y), pair(low.z, low.w), pair(high.x, high.y),
                                     pair(high.z, high.w)});
    }
  }
  __device__ __forceinline__ void copy_token(i64 row, i64 token) const {
    constexpr int kVectors = kLayer.hidden / 8;
    constexpr int kAtOnce = 8;  // of a lane, on their way together
    const u8* const from = layer.x + 2 * token * kLayer.hidden;
    u8* const to = workspace.gathered() + 2 * row * kLayer.hidden;
#pragma unroll 1
    for (int begin = 0; begin < kVectors; begin += 32 * kAtOnce) {
      u32x4 values[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int at = begin + 32 * i + lane();
        if (at < kVectors) values[i] = load_global_16_coherent(from + 16 * at);
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int at = begin + 32 * i + lane();
        if (at < kVectors) store_global_16(to + 16 * at, values[i]);
      }
    }
  }

  static __device__ __forceinline__ int tiles_of(int rows) {
    return (rows + kLayer.tile_rows - 1) / kLayer.tile_rows;
  }
};

}  // namespace heddle

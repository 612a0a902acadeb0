// Sorts assignments by expert, and lists the tiles of their rows. Every thread block counts the
// assignments of all local experts. Then each warp has one expert: the sums of the counts before
// its own are where its rows and its tiles begin; it gives its assignments their rows in their
// order. No block waits for another, and nothing depends on who comes first.
//
// Cost: every block reads all ids once, and every warp with rows once more, kBatch ids of a lane at
// a time.
#pragma once

#include "experts/workspace.cuh"
#include "primitives/sync.cuh"

namespace heddle {

template <class Config>
struct MoeRouter {
  static constexpr ExpertLayer kLayer = Config::value.layer;
  static constexpr int kThreads = Config::value.threads();
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kBatch = 8;

  const MoeParameters& layer;
  MoeWorkspace<Config> workspace;
  u32 shared;  // [local_experts] counts

  __device__ __forceinline__ void run() const {
    count();
    const int local = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / 32;
    if (local < kLayer.local_experts) place(local);
  }

 private:
  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % 32; }
  __device__ __forceinline__ int assignments() const { return layer.tokens * kLayer.top_k; }
  __device__ __forceinline__ u32 count_of(int local) const { return shared + 4 * local; }

  // kBatch ids of a thread, `stride` apart. Those beyond the last one are of no expert.
  __device__ __forceinline__ void load(int begin, int stride, int (&ids)[kBatch]) const {
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int at = begin + stride * i;
      ids[i] = at < assignments() ? static_cast<int>(load_global_4_l2(layer.ids + at)) : -1;
    }
  }

  __device__ __forceinline__ void count() const {
    const int thread = static_cast<int>(threadIdx.x);
    for (int local = thread; local < kLayer.local_experts; local += kThreads) {
      store_shared_4(count_of(local), 0);
    }
    block_barrier();
    for (int begin = 0; begin < assignments(); begin += kThreads * kBatch) {
      int ids[kBatch];
      load(begin + thread, kThreads, ids);
#pragma unroll
      for (const int id : ids) {
        if (is_local<Config>(id)) shared_add(count_of(id - kLayer.first_expert), 1);
      }
    }
    block_barrier();
  }

  __device__ __forceinline__ void place(int local) const {
    int first = 0;
    int first_tile = 0;
    for (int before = lane(); before < local; before += 32) {
      const int rows = static_cast<int>(load_shared_4(count_of(before)));
      first += rows;
      first_tile += tiles_of(rows);
    }
    first = sum_of_lanes(first);
    first_tile = sum_of_lanes(first_tile);
    const int rows = static_cast<int>(load_shared_4(count_of(local)));
    for (int i = lane(); i < tiles_of(rows); i += 32) {
      store_global_16(workspace.tiles() + first_tile + i,
                      {static_cast<u32>(local), static_cast<u32>(first),
                       static_cast<u32>(first + rows), static_cast<u32>(i)});
    }
    if (local == kLayer.local_experts - 1 && lane() == 0) {
      store_global_4(workspace.tile_count(), first_tile + tiles_of(rows));
    }
    if (rows > 0) place_rows(kLayer.first_expert + local, first);
  }

  __device__ __forceinline__ void place_rows(int id, int row) const {
    int* const assignment_of_row = workspace.assignments();
    int* const row_of_assignment = workspace.rows();
    for (int begin = 0; begin < assignments(); begin += 32 * kBatch) {
      int ids[kBatch];
      load(begin + lane(), 32, ids);
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const u32 owners = ballot(ids[i] == id);
        if (ids[i] == id) {
          const int at = row + __popc(owners & ((1u << lane()) - 1));
          const int assignment = begin + 32 * i + lane();
          store_global_4(assignment_of_row + at, assignment);
          store_global_4(row_of_assignment + assignment, at);
        }
        row += __popc(owners);
      }
    }
  }

  static __device__ __forceinline__ int tiles_of(int rows) {
    return (rows + kLayer.tile_rows - 1) / kLayer.tile_rows;
  }
};

// Copies the tokens of all rows to the rows' places.
template <class Config>
__device__ __forceinline__ void gather_tokens(const MoeParameters& layer) {
  constexpr int kVectors = Config::value.layer.hidden / 8;  // of a row
  const MoeWorkspace<Config> workspace(layer);
  const i64 vectors = static_cast<i64>(layer.tokens) * Config::value.layer.top_k * kVectors;
  const i64 stride = static_cast<i64>(gridDim.x) * Config::value.threads();
  for (i64 i = static_cast<i64>(blockIdx.x) * Config::value.threads() + threadIdx.x; i < vectors;
       i += stride) {
    const int assignment = static_cast<int>(i / kVectors);
    if (!is_local<Config>(static_cast<int>(load_global_4_l2(layer.ids + assignment)))) continue;
    const int vector = static_cast<int>(i % kVectors);
    const int row = static_cast<int>(load_global_4_l2(workspace.rows() + assignment));
    const i64 token = assignment / Config::value.layer.top_k;
    store_global_16(workspace.gathered() + 16 * (static_cast<i64>(row) * kVectors + vector),
                    load_global_16_coherent(layer.x + 16 * (token * kVectors + vector)));
  }
}

}  // namespace heddle

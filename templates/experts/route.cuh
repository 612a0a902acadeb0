// Sorts assignments by expert. Each warp has one local expert: it counts the assignments to those
// before it, which is where its rows begin, then gives its own assignments their rows in their
// order. Nothing depends on who comes first, and no warp waits for another.
//
// Cost: every warp reads all ids twice, 32 lanes by kBatch ids at a time.
#pragma once

#include "experts/workspace.cuh"
#include "primitives/sync.cuh"

namespace heddle {

template <class Config>
__device__ __forceinline__ void route_tokens(const MoeParameters& layer) {
  constexpr int kBatch = 8;  // ids of a lane that are on their way at once
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int local = static_cast<int>(blockIdx.x) * Config::value.warps() + warp;
  if (local >= Config::value.local_experts) return;
  const int first = Config::value.first_expert;
  const int count = layer.tokens * Config::value.top_k;
  const MoeWorkspace<Config> workspace(layer);

  // Ids beyond the last assignment are those of no expert.
  int ids[kBatch];
  const auto load = [&](int begin) {
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int at = begin + 32 * i + lane;
      ids[i] = at < count ? static_cast<int>(load_global_4_l2(layer.ids + at)) : -1;
    }
  };

  int before = 0;
  int own = 0;
  for (int begin = 0; begin < count; begin += 32 * kBatch) {
    load(begin);
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      before += ids[i] >= first && ids[i] < first + local ? 1 : 0;
      own += ids[i] == first + local ? 1 : 0;
    }
  }
  before = sum_of_lanes(before);
  own = sum_of_lanes(own);
  if (lane == 0) {
    workspace.first_rows[local] = before;
    if (local == Config::value.local_experts - 1) workspace.first_rows[local + 1] = before + own;
  }
  if (own == 0) return;

  int row = before;
  for (int begin = 0; begin < count; begin += 32 * kBatch) {
    load(begin);
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const bool is_own = ids[i] == first + local;
      const u32 owners = ballot(is_own);
      if (is_own) {
        const int at = row + __popc(owners & ((1u << lane) - 1));
        const int assignment = begin + 32 * i + lane;
        workspace.assignments[at] = assignment;
        workspace.rows[assignment] = at;
      }
      row += __popc(owners);
    }
  }
}

}  // namespace heddle

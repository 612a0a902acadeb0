// Tells the fetching warps that all has been read that is read of a stage.
#pragma once

#include "primitives/cluster.cuh"
#include "primitives/sync.cuh"
#include "warpgroup/shape.cuh"

namespace heddle {

// Where lanes read stages each of them arrives for itself: one for all would have to wait for the
// others, and a barrier of the warp makes the compiler end every wgmma before it. Where wgmma alone
// reads them, one lane arrives for a warp that has waited for it. With ScaleMode::kBlock lanes have
// read factors, too, but behind their products: a barrier of the warp ends none.
template <class Config>
struct WgmmaRelease {
  using S = WgmmaShape<Config>;
  WgmmaMemory<Config> memory;
  bool is_first_lane;
  u32 to_peer;  // from here to the same place in the cluster's other block

  __device__ __forceinline__ WgmmaRelease(WgmmaMemory<Config> memory, int lane)
      : memory(memory),
        is_first_lane(lane == 0),
        to_peer(S::kBlocks > 1 ? address_in_block(memory.shared, cluster_rank() ^ 1) - memory.shared
                               : 0) {}

  // Gives back the stage with this full barrier; 0 is no stage.
  __device__ __forceinline__ void run(u32 full_barrier) const {
    const u32 empty_barrier = memory.empty_beside(full_barrier);
    if constexpr (Config::value.scales_blocks()) warp_barrier();
    if constexpr (Config::value.byte_operands()) {
      mbarrier_arrive_if(full_barrier != 0 && is_first_lane, empty_barrier);
    } else if (full_barrier != 0) {
      mbarrier_arrive(empty_barrier);
    }
    if constexpr (S::kBlocks > 1) {
      mbarrier_arrive_remote_if(full_barrier != 0 && is_first_lane, empty_barrier + to_peer);
    }
  }
};

}  // namespace heddle

// Two warpgroups that pass the tensor cores to each other (WarpgroupConfig::ping_pongs()).
#pragma once

#include "primitives/sync.cuh"
#include "warpgroup/shape.cuh"

namespace heddle {

// The first warpgroup begins: a fresh barrier counts as one whose phase of parity 1 has ended. Both
// take turns equally often.
template <class Config>
struct WgmmaPingPong {
  using S = WgmmaShape<Config>;
  u32 parity;  // of the phase in which the tensor cores become this warpgroup's

  __device__ __forceinline__ explicit WgmmaPingPong(int warpgroup)
      : parity(warpgroup == 0 ? 1 : 0) {}

  __device__ __forceinline__ void wait(const WgmmaMemory<Config>& memory, int warpgroup) {
    mbarrier_wait(memory.ping_pong_barrier(warpgroup), parity);
    parity ^= 1;
  }
  // Each warp calls it, once its products are on their way.
  static __device__ __forceinline__ void pass(const WgmmaMemory<Config>& memory, int warpgroup,
                                              bool is_first_lane) {
    mbarrier_arrive_if(is_first_lane, memory.ping_pong_barrier(1 - warpgroup));
  }
};

}  // namespace heddle

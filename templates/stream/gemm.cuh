// The kernel of a GEMM that streams its weights; stream.cuh says who does what, in which order.
#pragma once

#include "primitives/dependent_launch.cuh"
#include "schedule/strided_rows.cuh"
#include "stream/sums.cuh"
#include "stream/values.cuh"
#include "stream/warp.cuh"

namespace heddle {

// `values`: what becomes of the sums.
template <class Config, class Decode, class Values>
__device__ __forceinline__ void gemm_by_stream(const u8* x, const u8* weights, const u8* pre_scale,
                                               const Values& values, u8* y, const u8* bias,
                                               const u8* residual, int m, u8* y_scales) {
  extern __shared__ __align__(128) u8 shared_memory[];
  const StreamMemory<Config> memory{shared_address(shared_memory)};
  const int warp = broadcast(threadIdx.x / 32, 0);
  const int lane = threadIdx.x % 32;
  launch_dependents();

  const typename Config::Schedule schedule;
  const StreamSums<Config, Values> sums{
      memory, schedule, {weights, y, bias, residual, Config::value.shape, y_scales},
      values, m,        lane};
  StreamWarp<Config, Decode> stream(memory, schedule, x, weights, pre_scale, m, warp, lane);
  const bool adds = warp == Config::value.warps_k;
  if (adds) {
    sums.init_barriers();
  } else {
    stream.start_ring();
  }
  if constexpr (Config::value.cluster > 1) {
    cluster_barrier();
  } else {
    block_barrier();
  }
  wait_for_predecessor();
  if (adds) {
    sums.run();
  } else {
    stream.run();
  }
  // No block may go while another may still write into it.
  if constexpr (Config::value.split_k > 1) cluster_barrier();
}

}  // namespace heddle

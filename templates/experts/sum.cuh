// Adds what a token's experts have made of it, in the order of its choices, and rounds once.
#pragma once

#include "experts/workspace.cuh"
#include "steps/result.cuh"

namespace heddle {

template <class Config>
__device__ __forceinline__ void sum_experts(const MoeParameters& layer) {
  using Value = typename Config::Value;
  constexpr int kTokenVectors = Config::value.layer.hidden / 8;  // of eight columns
  const MoeWorkspace<Config> workspace(layer);
  const i64 vectors = static_cast<i64>(layer.tokens) * kTokenVectors;
  const i64 stride = static_cast<i64>(gridDim.x) * Config::value.threads();
  for (i64 i = static_cast<i64>(blockIdx.x) * Config::value.threads() + threadIdx.x; i < vectors;
       i += stride) {
    const int token = static_cast<int>(i / kTokenVectors);
    const int column = static_cast<int>(i % kTokenVectors) * 8;
    Sums8 sum = {};
#pragma unroll 4
    for (int choice = 0; choice < Config::value.layer.top_k; ++choice) {
      const int assignment = token * Config::value.layer.top_k + choice;
      if (!is_local<Config>(static_cast<int>(load_global_4_l2(layer.ids + assignment)))) continue;
      const int row = static_cast<int>(load_global_4_l2(workspace.rows() + assignment));
      const float weight =
          Config::value.layer.weighs_input
              ? 1.0f
              : float_from_bits(load_global_4_l2(layer.routing_weights + assignment));
      const u8* const at =
          workspace.outputs() + 4 * (static_cast<i64>(row) * Config::value.layer.hidden + column);
      const f32x4 low = load_global_floats_l2(at);
      const f32x4 high = load_global_floats_l2(at + 16);
      add_floats(sum, {weight * low.x, weight * low.y, weight * low.z, weight * low.w},
                 {weight * high.x, weight * high.y, weight * high.z, weight * high.w});
    }
    const i64 offset = 2 * (static_cast<i64>(token) * Config::value.layer.hidden + column);
    if constexpr (Config::value.layer.residual) {
      Result16<Value>::add(layer.residual + offset, sum);
    }
    Result16<Value>::store(layer.y + offset, sum, nullptr);
  }
}

}  // namespace heddle

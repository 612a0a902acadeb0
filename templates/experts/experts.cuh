// A layer of experts, sm_80 and up: Y[t] = sum over the top_k experts e of token t of
// weight * down_e(activation(gate_up_e(X[t]))).
//
// Floors. Bytes: the packed weights of every expert that a token has chosen, once. Operations: 2 *
// 3 * hidden * intermediate (gated) for each token and expert.
//
// One kernel is launched for each phase of the layer. Launches overlap (programmatic
// dependent launch), but each waits for the one before it, so that on an H200 a phase costs some 2
// us whatever it does.
// 0. kChoose, where there are logits: a warp finds a token's experts (choose.cuh).
// 1. kRoute: thread blocks of each expert find the expert's rows and list their tiles (route.cuh).
// 2. kGateUp: tiles of an expert's rows by rows of its gate_up (product.cuh). Tokens are read from
//    X where they are; outputs are sorted rows, in 16 bits.
// 3. kDown: the same with sorted rows, outputs in FP32.
// 4. kSum: the outputs of a token's experts, times their weights, in the order of its choices
//    (sum.cuh).
//
// Who has what: in kGateUp and kDown a thread block walks through the list of tiles, and all its
// warps multiply one tile at a time, as in tiles/tiles.cuh, whose budget is the same but for the
// number of the expert and the rows' places, which a tile's start reads. Shared memory is the ring
// of the product at hand.
//
// From the same kernel a token gets the same bits whatever else is launched with it: a matrix
// instruction has a column for each row, and the order of all sums is that of K and of the token's
// choices.
#pragma once

#include "experts/choose.cuh"
#include "experts/phases.cuh"
#include "experts/product.cuh"
#include "experts/route.cuh"
#include "experts/sum.cuh"

namespace heddle {

// Where the first product's tokens are: in X, or their copies in the order of the rows.
template <bool kGathers>
struct FirstTokens {
  using Type = GatheredTokens;
};
template <>
struct FirstTokens<true> {
  using Type = DenseTokens;
};

template <class Config, class GemmConfig, class DecodeWeights>
struct GateUpProduct {
  using Gemm = GemmConfig;
  using Decode = DecodeWeights;
  using Tokens = typename FirstTokens<Config::value.layer.gathers>::Type;
  static constexpr i64 kExpertBytes = Config::value.layer.gate_up_bytes;
  static constexpr bool kWeighs = Config::value.layer.weighs_input;
};

template <class Config, class GemmConfig, class DecodeWeights>
struct DownProduct {
  using Gemm = GemmConfig;
  using Decode = DecodeWeights;
  using Tokens = DenseTokens;
  static constexpr i64 kExpertBytes = Config::value.layer.down_bytes;
  static constexpr bool kWeighs = false;
};

// GateUp and Down: the two products' configurations, each as Config of a GEMM by tiles.
template <class Config, class GateUp, class DecodeGateUp, class Down, class DecodeDown>
__device__ __forceinline__ void experts(const MoeParameters& layer, int phase) {
  extern __shared__ __align__(128) u8 shared_memory[];
  const u32 shared = shared_address(shared_memory);
  begin_phase(static_cast<MoePhase>(phase));
  const MoeWorkspace<Config> workspace(layer);
  switch (static_cast<MoePhase>(phase)) {
    case MoePhase::kChoose:
      return choose_experts<Config>(layer);
    case MoePhase::kRoute:
      return MoeRouter<Config>{layer, workspace, shared}.run();
    case MoePhase::kGateUp: {
      const ExpertProduct<Config, GateUpProduct<Config, GateUp, DecodeGateUp>> product{
          layer,
          workspace,
          Config::value.layer.gathers ? workspace.gathered() : layer.x,
          layer.gate_up,
          layer.gate_up_bias,
          workspace.middle(),
          shared};
      return product.run();
    }
    case MoePhase::kDown: {
      wait_for_predecessor();
      const ExpertProduct<Config, DownProduct<Config, Down, DecodeDown>> product{
          layer, workspace, workspace.middle(), layer.down, layer.down_bias, workspace.outputs(),
          shared};
      return product.run();
    }
    case MoePhase::kSum:
      return ExpertSum<Config>{layer, workspace}.run();
  }
}

}  // namespace heddle

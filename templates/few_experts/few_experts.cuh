// A layer of experts for up to 16 tokens, sm_90 and up: Y[t] = sum over the top_k experts e of
// token t of weight * down_e(activation(gate_up_e(X[t]))).
//
// Floors. Bytes: the packed weights of every expert that a token has chosen, once. Operations:
// decoding, which depends on the experts and not on their tokens, as in stream/stream.cuh.
//
// Budget of a 4-bit chunk, 1056 bytes: as there 240 issue slots of an SM of an H200, of which some
// 110 are taken. The second product reads its tokens' fragments from the L2 cache: 256 bytes of a
// chunk and token, which row blocks that are multiplied at once have in common. With two of these
// and two tokens of an expert that is a quarter of the weights' bytes. Shared memory: rings of 64
// to 104 KB; X of all tokens, 2 * tokens * hidden bytes, in the first launch.
//
// Roles. As in stream/gemm.cuh: warps that multiply, each a part of K, with rings of their own
// (ring.cuh, warp.cuh), and others that add their sums (adder.cuh). But there can be several groups
// of warps, each with every so many of the row blocks (product.cuh), so that a warp's part of a
// short K is not one chunk; and stages follow each other across row blocks and experts.
//
// Launches. Those of products have a block for each SM, which finds for itself which experts are
// chosen (choices.cuh): there is no launch that sorts.
// 0. kChoose, where there are logits: a warp finds a token's experts (experts/choose.cuh).
// 1. kGateUp: the row blocks of all chosen experts are one list, of which a block has every n-th;
//    all tokens are columns of the matrix instructions. What tokens have not chosen is not stored.
//    What they have goes through bias and activation (activations.cuh) to a row of each assignment
//    (middle.cuh).
//    It lets the next launch start behind its own wait (experts/phases.cuh): so who wrote ids and
//    routing weights has ended by then.
// 2. kDown: a block, or a cluster whose blocks share K, owns row blocks of Y. It reads ids and
//    weights of tokens and fills its rings while the first launch still runs, and waits for its
//    rows only. For each expert in ascending order its sums are scaled, biased, weighted and added
//    to the row blocks' totals in FP32 (totals.cuh); Y is written once.
// Where the shared memory of both launches fits, blocks of both are on an SM at a time.
//
// From the same kernel a token gets the same bits whatever else is launched with it: a column is
// its own, and the order of its sums is that of K and of the experts' numbers.
#pragma once

#include "experts/choose.cuh"
#include "experts/phases.cuh"
#include "few_experts/activations.cuh"
#include "few_experts/choices.cuh"
#include "few_experts/totals.cuh"
#include "few_experts/warp.cuh"
#include "primitives/bulk_copy.cuh"
#include "primitives/dependent_launch.cuh"

namespace heddle {

template <class Product>
struct FewExpertsLaunch {
  static constexpr int kWarps = Product::kWarps;

  FewMemory<Product> memory;
  const MoeParameters& layer;
  int warp = static_cast<int>(broadcast(threadIdx.x / 32, 0));
  int lane = static_cast<int>(threadIdx.x) % 32;

  __device__ __forceinline__ void gate_up() const {
    const FewChoices<Product> choices{memory};
    FewWarp<Product> multiplier(memory, layer.gate_up, warp, lane);
    init(multiplier);
    choices.clear();
    clear_columns<Product, Product::kTokens, kXBytes>(memory);
    block_barrier();
    wait_for_predecessor();
    launch_dependents();
    if (warp == kWarps) copy_tokens();
    choices.find(layer, [&] {
      if (warp < kWarps) multiplier.ring.start(choices.count());
    });
    if (warp >= kWarps) {
      const FewActivations<Product> sums{
          {memory, layer.gate_up, layer.gate_up_bias, warp - kWarps, lane}, layer};
      sums.run(choices.count());
    } else {
      multiplier.run(layer);
    }
  }

  __device__ __forceinline__ void down() const {
    const FewChoices<Product> choices{memory};
    const FewTotals<Product> totals{{memory, layer.down, layer.down_bias, warp - kWarps, lane},
                                    layer};
    FewWarp<Product> multiplier(memory, layer.down, warp, lane);
    launch_dependents();
    init(multiplier);
    if (warp == kWarps && elect_one()) totals.init_meetings();
    choices.clear();
    if constexpr (Product::kSplitK > 1) {
      cluster_barrier();
    } else {
      block_barrier();
    }
    choices.find(layer, [&] {
      if (warp < kWarps) multiplier.ring.start(choices.count());
    });
    wait_for_predecessor();
    if (warp >= kWarps) {
      totals.run(choices.count());
    } else {
      multiplier.run(layer);
    }
  }

 private:
  // Barriers of a warp's ring, or of what the warps hand to those that add.
  __device__ __forceinline__ void init(const FewWarp<Product>& multiplier) const {
    if (warp < kWarps) return multiplier.ring.init();
    if (warp > kWarps || !elect_one()) return;
    mbarrier_init(memory.token_barrier(), 1);
    FewAdder<Product>::init_slots(memory);
    mbarrier_init_fence();
  }

  static constexpr int kXBytes = 2 * Product::kLayer.hidden;  // of a token

  // By one warp: all tokens, to shared memory.
  __device__ __forceinline__ void copy_tokens() const {
    if (lane == 0) mbarrier_arrive_expect(memory.token_barrier(), layer.tokens * kXBytes);
    warp_barrier();
    if (lane < layer.tokens) {
      bulk_copy(memory.token_row(lane), layer.x + static_cast<i64>(lane) * kXBytes, kXBytes,
                memory.token_barrier());
    }
  }
};

// GateUp and Down: the two products' configurations, each as Config of a GEMM by streams.
template <class Config, class GateUp, class DecodeGateUp, class Down, class DecodeDown>
__device__ __forceinline__ void few_experts(const MoeParameters& layer, int phase) {
  extern __shared__ __align__(128) u8 shared_memory[];
  const u32 shared = shared_address(shared_memory);
  if (static_cast<MoePhase>(phase) == MoePhase::kChoose) {
    begin_phase(MoePhase::kChoose);
    choose_experts<Config>(layer);
  } else if (static_cast<MoePhase>(phase) == MoePhase::kGateUp) {
    using Product = FewProduct<Config, GateUp, DecodeGateUp, false>;
    const FewExpertsLaunch<Product> launch{{shared}, layer};
    launch.gate_up();
  } else {
    using Product = FewProduct<Config, Down, DecodeDown, true>;
    const FewExpertsLaunch<Product> launch{{shared}, layer};
    launch.down();
  }
}

}  // namespace heddle

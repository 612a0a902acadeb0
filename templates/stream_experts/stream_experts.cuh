// A layer of experts of which each has few rows, sm_90 and up: experts/experts.cuh says what it
// computes, and what its phases are. Here the products are streams of weights past the rows of one
// expert after the other.
//
// Floors. Bytes: the packed weights of every expert that a token has chosen, once; of an expert
// with more rows than a tile has once for each tile. Operations: decoding, which depends on the
// tiles and not on their rows, as in stream/stream.cuh.
//
// Budget of a 4-bit chunk, 1056 bytes: as there 240 issue slots of an SM of an H200. The loop of
// MXFP4 in BF16 has 143 instructions for a chunk and a tile of 8 rows (cuobjdump -sass), so that
// the warps that issue them set its pace, not the memory. Shared memory: rings of two stages and
// more, and the rows of a tile, 2 * rows * K bytes, or those of two.
//
// Work. All row blocks of all tiles are one list, of which a thread block has a run: equally many
// as another, or one more. What it has of a tile is a segment, of which most blocks have one or
// two. The rows of a segment are copied once, and streams of weights go on across segments. There
// is no launch that sorts: a block finds its segments for itself (segments.cuh).
//
// Roles. Warps that multiply: groups of them take row blocks in turn, the warps of a group share K,
// each with a ring of its own (few_experts/ring.cuh, warp.cuh). Where several share K, two warps
// more add their sums (few_experts/adder.cuh); else a warp finishes its own. The last warp copies
// the rows of segments.
//
// Order. A block counts the rows of experts, which gives its segments; rings start; their rows are
// found and copied. Of each row block a warp waits for the rows, then, stage by stage, for weights,
// decodes and multiplies them, and sees to the sums.
//
// Launches: kChoose, where there are logits, kGateUp, kDown and kSum. A row is an assignment. kDown
// finds its segments and starts its rings while kGateUp still runs elsewhere, and waits for its
// rows.
//
// From the same kernel a token gets the same bits whatever else is launched with it: a column is
// its own, and the order of its sums is that of K and of the token's choices.
#pragma once

#include "experts/choose.cuh"
#include "experts/phases.cuh"
#include "experts/sum.cuh"
#include "few_experts/activations.cuh"
#include "few_experts/warp.cuh"
#include "stream_experts/outputs.cuh"
#include "stream_experts/segments.cuh"

namespace heddle {

template <class Product>
struct SegmentLaunch {
  using Memory = SegmentMemory<Product>;
  using Units = typename Product::Units;
  using Warp = FewWarp<Product>;
  static constexpr int kWarps = Product::kWarps;
  static constexpr int kOthers = Product::kConfig.adders() + 1;  // warps that do not multiply
  static constexpr int kCopier = kWarps + kOthers - 1;

  Memory memory;
  const MoeParameters& layer;
  int warp = static_cast<int>(broadcast(threadIdx.x / 32, 0));
  int lane = static_cast<int>(threadIdx.x) % 32;

  // Of the second product the first weights come while the first one still runs elsewhere.
  __device__ __forceinline__ void run() const {
    const SegmentRows<Product> rows{memory, layer, lane};
    const SegmentChoices<Product> choices{memory, layer};
    if (warp == kCopier && elect_one()) init(rows);
    clear_columns<Product, Product::kBuffers * Product::kTokens, 2 * Product::kColumns>(memory);
    choices.clear();
    block_barrier();
    if constexpr (!Product::kIsDown) {
      wait_for_predecessor();
      launch_dependents();
    }
    choices.find();
    const int segments = choices.count();
    Warp multiplier(memory, Product::kIsDown ? layer.down : layer.gate_up, warp, lane);
    if (warp < kWarps) {
      multiplier.ring.init();
      multiplier.ring.start(segments);
    } else {
      choices.find_rows(warp - kWarps, kOthers);
    }
    block_barrier();
    if (warp < kWarps) {
      multiply(multiplier, segments);
    } else {
      if constexpr (Product::kIsDown) wait_for_predecessor();
      if (warp == kCopier) {
        rows.copy(segments);
      } else if constexpr (Product::kAdders > 0) {
        if (warp < kWarps + Product::kAdders) epilogue(warp - kWarps).run(segments);
      }
    }
  }

 private:
  __device__ __forceinline__ void init(const SegmentRows<Product>& rows) const {
    rows.init();
    FewAdder<Product>::init_slots(memory);
    mbarrier_init_fence();
  }

  // Its weights are on their way.
  __device__ __forceinline__ void multiply(Warp& multiplier, int segments) const {
    using Fragments = typename Warp::Fragments;
    if constexpr (Product::kIsDown && Product::kAdders == 0) wait_for_predecessor();
    FewTokens<Product> tokens(memory, lane);
    SegmentReader<Product> reader{memory};
    const auto own = epilogue(0);
    typename FewAdder<Product>::Factors factors{};
    multiplier.multiply(
        [&](const Units& unit) {
          tokens.buffer = reader.wait_for(unit.expert);
          if constexpr (Product::kAdders == 0) factors = own.adder.factors_of(unit, segments);
        },
        [&](int chunk, int half, int, Fragments& b) { tokens.load(chunk, half, b); },
        [&](const Units& unit, int turn, int, const typename Warp::Multiplier(&row)[1]) {
          if constexpr (Product::kAdders == 0) {
            own.finish(unit, factors, row[0].sum);
          } else {
            multiplier.put(turn, 1, row);
          }
        });
    reader.finish(segments);
  }

  // What becomes of sums, by one of the warps that add or by one that multiplies.
  __device__ __forceinline__ auto epilogue(int adder) const {
    if constexpr (Product::kIsDown) {
      const SegmentResults<typename Product::Config> results{layer};
      return SegmentOutputs<Product>{{memory, layer.down, layer.down_bias, adder, lane},
                                     results.outputs()};
    } else {
      return FewActivations<Product>{{memory, layer.gate_up, layer.gate_up_bias, adder, lane},
                                     layer};
    }
  }
};

// GateUp and Down: the two products' configurations, each as Config of a GEMM by streams.
template <class Config, class GateUp, class DecodeGateUp, class Down, class DecodeDown>
__device__ __forceinline__ void stream_experts(const MoeParameters& layer, int phase) {
  extern __shared__ __align__(128) u8 shared_memory[];
  const u32 shared = shared_address(shared_memory);
  // The first product does so behind its barriers' start.
  if (static_cast<MoePhase>(phase) != MoePhase::kGateUp) begin_phase(static_cast<MoePhase>(phase));
  if (static_cast<MoePhase>(phase) == MoePhase::kChoose) {
    choose_experts<Config>(layer);
  } else if (static_cast<MoePhase>(phase) == MoePhase::kGateUp) {
    using Product = SegmentProduct<Config, GateUp, DecodeGateUp, false>;
    SegmentLaunch<Product>{SegmentMemory<Product>(shared), layer}.run();
  } else if (static_cast<MoePhase>(phase) == MoePhase::kDown) {
    using Product = SegmentProduct<Config, Down, DecodeDown, true>;
    SegmentLaunch<Product>{SegmentMemory<Product>(shared), layer}.run();
  } else {
    const SegmentResults<Config> results{layer};
    ExpertSum<Config, SegmentResults<Config>>{layer, results}.run();
  }
}

}  // namespace heddle

// What becomes of the first product's sums: scale, bias and activation, then one rounding, to the
// middle.
#pragma once

#include "few_experts/adder.cuh"
#include "few_experts/middle.cuh"
#include "steps/activation.cuh"

namespace heddle {

template <class Product>
struct FewActivations {
  using Adder = FewAdder<Product>;
  using Factors = typename Adder::Factors;
  using Units = typename Product::Units;
  using S = typename Product::S;
  using Middle = typename Product::Middle;
  static constexpr StreamConfig kStream = Product::kStream;
  static constexpr Activation kActivation = kStream.epilogue.activation;
  static constexpr bool kGated = kStream.epilogue.gated;

  Adder adder;
  const MoeParameters& layer;

  __device__ __forceinline__ void run(int experts) const {
    adder.run(experts, [&](const Units& unit, const Factors& factors, int slot, u32 parity) {
      finish(unit, factors, adder.take(slot, parity).sum);
    });
  }

  // A lane's part of a unit's sums.
  __device__ __forceinline__ void finish(const Units& unit, const Factors& factors,
                                         const typename Adder::Sum& sum) const {
#pragma unroll
    for (int tile = 0; tile < S::kTokenTiles; ++tile) {
      // Of tokens 2t and 2t + 1.
      float low[2], high[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float weight = Product::kWeighs ? factors.tokens.weight[tile][i] : 1.0f;
        low[i] = factors.rows[0].low(Product::kWeighs ? weight * sum[tile][i] : sum[tile][i]);
        high[i] =
            factors.rows[0].high(Product::kWeighs ? weight * sum[tile][2 + i] : sum[tile][2 + i]);
      }
      const int(&assignments)[2] = factors.tokens.assignment[tile];
      if constexpr (kGated) {
        store(gated_output<typename Product::Gemm>(low[0], high[0]),
              gated_output<typename Product::Gemm>(low[1], high[1]), 8 * unit.row_block(),
              assignments);
      } else {
        store(activate<kActivation>(low[0]), activate<kActivation>(low[1]), 16 * unit.row_block(),
              assignments);
        store(activate<kActivation>(high[0]), activate<kActivation>(high[1]),
              16 * unit.row_block() + 8, assignments);
      }
    }
    if constexpr (Middle::kPadVectors > 0) {
      if (unit.place == kStream.shape.row_blocks - 1) clear_pads(unit.expert);
    }
  }

 private:
  // Columns `first` + g of tokens 2t and 2t + 1: lanes of g and g + 1 make pairs of columns, the
  // first one of token 2t, the other of token 2t + 1.
  __device__ __forceinline__ void store(float even, float odd, int first,
                                        const int (&assignments)[2]) const {
    const int g = adder.g();
    const bool is_odd = g % 2 != 0;
    const int partner = (g ^ 1) * S::kPairs + adder.t();
    const float other = float_from_bits(shuffle(bits_of_float(is_odd ? even : odd), partner & 31));
    const u32 pair = Product::Gemm::Result::rounded(is_odd ? other : even, is_odd ? odd : other);
    const int assignment = is_odd ? assignments[1] : assignments[0];
    if (adder.has_sums() && assignment >= 0) {
      Middle::store(Middle::row(layer, assignment), first + (g & ~1), pair);
    }
  }

  __device__ __forceinline__ void clear_pads(int place) const {
    for (int i = adder.lane; i < Product::kTokens * Middle::kPadVectors; i += 32) {
      const int assignment =
          static_cast<int>(load_shared_4(adder.memory.choice(place, i / Middle::kPadVectors)));
      if (assignment >= 0) {
        Middle::clear_pad(Middle::row(layer, assignment), i % Middle::kPadVectors);
      }
    }
  }
};

}  // namespace heddle

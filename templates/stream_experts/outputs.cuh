// What becomes of the second product's sums: scale and bias, then FP32 outputs of each row.
#pragma once

#include "few_experts/adder.cuh"
#include "stream_experts/product.cuh"

namespace heddle {

template <class Product>
struct SegmentOutputs {
  using Adder = FewAdder<Product>;
  using Factors = typename Adder::Factors;
  using Units = typename Product::Units;
  using S = typename Product::S;

  Adder adder;
  u8* outputs;  // [assignments][hidden]

  __device__ __forceinline__ void run(int experts) const {
    adder.run(experts, [&](const Units& unit, const Factors& factors, int slot, u32 parity) {
      finish(unit, factors, adder.take(slot, parity).sum);
    });
  }

  // A lane's part of a unit's sums: rows g and g + 8 of the weights; of a column eight lanes store
  // 32 bytes.
  __device__ __forceinline__ void finish(const Units& unit, const Factors& factors,
                                         const typename Adder::Sum& sum) const {
    if (!adder.has_sums()) return;
    const int column = 16 * unit.row_block() + adder.g();
#pragma unroll
    for (int tile = 0; tile < S::kTokenTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const i64 assignment = factors.tokens.assignment[tile][i];
        if (assignment < 0) continue;
        u8* const to = outputs + 4 * (assignment * Product::kLayer.hidden + column);
        store_global_4(to, bits_of_float(factors.rows[0].low(sum[tile][i])));
        store_global_4(to + 32, bits_of_float(factors.rows[0].high(sum[tile][2 + i])));
      }
    }
  }
};

}  // namespace heddle

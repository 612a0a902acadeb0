// What the warps that add have in common: which units are a warp's, and what their sums are
// multiplied by.
//
// A unit takes such a warp a hundred instructions and the latencies between them, while the memory
// brings a short row's weights in 360 clocks. So there are several, which share the units; and what
// a unit needs besides its sums is loaded while the one before is added.
#pragma once

#include "few_experts/product.cuh"
#include "primitives/scale.cuh"
#include "primitives/sync.cuh"
#include "stream/sums.cuh"

namespace heddle {

template <class Product>
struct FewAdder {
  using Gemm = typename Product::Gemm;
  using S = typename Product::S;
  using Vectors = StreamSumVectors<Gemm>;
  using Sum = StreamSum<Gemm>;
  using Units = typename Product::Units;
  static constexpr StreamConfig kStream = Product::kStream;
  static constexpr int kTiles = S::kTokenTiles;
  static constexpr bool kGated = kStream.epilogue.gated;
  static constexpr int kBiasBytes = kStream.epilogue.bias_bytes;
  static constexpr i64 kExpertBiasBytes = static_cast<i64>(kBiasBytes) * kStream.shape.n;
  static constexpr bool kHasChannels = kStream.scaling.mode == ScaleMode::kChannel;
  // As Output has it.
  static constexpr int kLeftExponent =
      kStream.scaling.mode == ScaleMode::kWeight ? kStream.scaling.result_exponent : 0;
  static constexpr bool kScales =
      kHasChannels || kStream.weights.tensor_scale || kLeftExponent != 0;
  static_assert(kStream.shape.n % 16 == 0, "row blocks are whole");
  static_assert(kBiasBytes == 0 || kBiasBytes == 2, "the bias has the type of X");

  typename Product::Memory memory;
  const u8* weights;
  const u8* bias;
  int adder;  // of Product::kAdders
  int lane;

  // Of a lane's part of the sums: rows g and g + 8, tokens 2t and 2t + 1 of each tile.
  __device__ __forceinline__ int g() const { return lane / S::kPairs; }
  __device__ __forceinline__ int t() const { return lane % S::kPairs; }
  __device__ __forceinline__ bool has_sums() const { return lane < S::kSumVectors; }

  // What the sums of rows g and g + 8 of a row block are multiplied by, and what is added then.
  struct OfRows {
    RowPair scale;
    u32 bias_low, bias_high;  // 16 bits each, as they come

    __device__ __forceinline__ float low(float sum, bool has_bias = true) const {
      return scaled(sum, scale.low, bias_low, has_bias);
    }
    __device__ __forceinline__ float high(float sum, bool has_bias = true) const {
      return scaled(sum, scale.high, bias_high, has_bias);
    }

   private:
    static __device__ __forceinline__ float scaled(float sum, float scale, u32 bias,
                                                   bool has_bias) {
      if constexpr (kScales) sum *= scale;
      if constexpr (kBiasBytes != 0) {
        if (has_bias) sum += Gemm::Value::low_to_float(bias);
      }
      return sum;
    }
  };
  // What they are for the lane's tokens, and which of these have chosen the expert.
  struct OfTokens {
    int assignment[kTiles][2];  // -1: it has not
    float weight[kTiles][2];
  };
  struct AddedSum {
    Sum sum = {};
  };
  struct Factors {
    OfTokens tokens;
    OfRows rows[Product::kRows];
  };

  // Units from one that the warp is told of to the next.
  static constexpr int kStep = Product::kHasTotals ? 1 : Product::kAdders;

  // Calls add(unit, factors, slot, parity). The warps share units: each is told of every so many,
  // or with totals of all, but has_totals_of() some of them alone. There the places of a unit's
  // sums do not follow from who adds it, and a warp that waited for every other phase of a barrier
  // could not tell it from the one before the last.
  template <class Add>
  __device__ __forceinline__ void run(int experts, const Add& add) const {
    prefetch(experts);
    int number = Product::kHasTotals ? 0 : adder;  // among the block's units
    Units units(memory, number, kStep);
    Factors factors = factors_of(units, experts);
#pragma unroll 1
    while (units.expert < experts) {
      const Units unit = units;
      const Factors of_unit = factors;
      const int turn = number / Product::kGroups;
      const int slot = number % Product::kGroups + turn % 2 * Product::kGroups;
      units.next();
      number += kStep;
      factors = factors_of(units, experts);
      add(unit, of_unit, slot, turn / 2 & 1);
    }
  }
  // Adds up what the warps have put into a slot, of which no other warp reads it, and frees it.
  __device__ __forceinline__ AddedSum take(int slot, u32 parity) const {
    mbarrier_wait(memory.full_barrier(slot), parity);
    AddedSum added;
    Vectors::add(memory.sums(slot, 0), Product::kParts, lane, added.sum);
    mbarrier_arrive(memory.free_barrier(slot));
    return added;
  }
  // By one lane, ahead of a barrier of the block: the barriers of the slots.
  static __device__ __forceinline__ void init_slots(const typename Product::Memory& memory) {
#pragma unroll
    for (int slot = 0; slot < Product::kSlots; ++slot) {
      mbarrier_init(memory.full_barrier(slot), 32 * Product::kParts);
      mbarrier_init(memory.free_barrier(slot), 32 * kReaders);
    }
  }
  // Whether the warp has the totals of the unit's row blocks.
  __device__ __forceinline__ bool has_totals_of(const Units& unit) const {
    if constexpr (!Product::kHasTotals) return true;
    return unit.place % max_of(Product::kAdders, 1) == adder;
  }
  // Warps that must have seen a unit's sums before their slot is free.
  static constexpr int kReaders = Product::kHasTotals ? Product::kAdders : 1;
  static_assert(Product::kHasTotals || Product::kSlots % max_of(Product::kAdders, 1) == 0,
                "each slot is of one warp");

  // What a unit's sums are multiplied by, and what is added.
  __device__ __forceinline__ Factors factors_of(const Units& units, int experts) const {
    Factors factors{};
    if (units.expert >= experts || !has_sums() || !has_totals_of(units)) return factors;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int token = 8 * tile + 2 * t() + i;
        factors.tokens.assignment[tile][i] = -1;
        if (token >= Product::kTokens) continue;
        factors.tokens.assignment[tile][i] =
            static_cast<int>(load_shared_4(memory.choice(units.expert, token)));
        if constexpr (Product::kWeighs) {
          factors.tokens.weight[tile][i] =
              float_from_bits(load_shared_4(memory.weight(units.expert, token)));
        }
      }
    }
    if constexpr (kScales || kBiasBytes != 0) {
      const int count = units.rows();
      const i64 expert = load_shared_4(memory.expert(units.expert));
#pragma unroll
      for (int row = 0; row < Product::kRows; ++row) {
        if (row < count) {
          factors.rows[row] = of_rows(expert, units.row_block() + row * Product::kRowStride);
        }
      }
    }
    return factors;
  }

 private:
  // Bytes to the bias of a row block's first row, and from there to that of row 8.
  static __device__ __forceinline__ i64 bias_offset(i64 expert, int row_block) {
    return expert * kExpertBiasBytes + static_cast<i64>(row_block) * (kGated ? 8 : 16) * kBiasBytes;
  }
  static constexpr i64 kHighBias =
      static_cast<i64>(kBiasBytes) * (kGated ? kStream.shape.n / 2 : 8);
  static __device__ __forceinline__ i64 channel_offset(i64 expert, int row_block) {
    return expert * Product::kExpertBytes + kStream.shape.channel_offset +
           static_cast<i64>(row_block) * kStream.weights.channel_bytes;
  }

  __device__ __forceinline__ OfRows of_rows(i64 expert, int row_block) const {
    OfRows rows{{1.0f, 1.0f}, 0, 0};
    if constexpr (kHasChannels) {
      const RowPair pair = Gemm::Scale::load_global(weights + channel_offset(expert, row_block) +
                                                    g() * Gemm::Scale::kPairBytes);
      rows.scale = {power_of_two<kStream.scaling.result_exponent>(pair.low),
                    power_of_two<kStream.scaling.result_exponent>(pair.high)};
    }
    if constexpr (kStream.weights.tensor_scale || kLeftExponent != 0) {
      float all = 1.0f;
      if constexpr (kStream.weights.tensor_scale) {
        all = *reinterpret_cast<const float*>(weights + expert * Product::kExpertBytes +
                                              kStream.shape.tensor_offset);
      }
      all = power_of_two<kLeftExponent>(all);
      rows.scale.low *= all;
      rows.scale.high *= all;
    }
    if constexpr (kBiasBytes != 0) {
      const u8* const low = bias + bias_offset(expert, row_block) + kBiasBytes * g();
      rows.bias_low = load_global_2(low);
      rows.bias_high = load_global_2(low + kHighBias);
    }
    return rows;
  }

  // Biases and scales of channels of all the block's units, to the L2 cache: from memory they would
  // come later than the sums.
  __device__ __forceinline__ void prefetch(int experts) const {
    if constexpr (kBiasBytes != 0 || kHasChannels) {
      const int first = lane + 32 * adder;
      for (Units units(memory, first, 32 * Product::kAdders); units.expert < experts;
           units.next()) {
        const i64 expert = load_shared_4(memory.expert(units.expert));
        for (int row = 0; row < units.rows(); ++row) {
          const int row_block = units.row_block() + row * Product::kRowStride;
          if constexpr (kBiasBytes != 0) {
            const u8* const low = bias + bias_offset(expert, row_block);
            prefetch_l2(low);
            if constexpr (kGated) prefetch_l2(low + kHighBias);
          }
          if constexpr (kHasChannels) prefetch_l2(weights + channel_offset(expert, row_block));
        }
      }
    }
  }
};

}  // namespace heddle

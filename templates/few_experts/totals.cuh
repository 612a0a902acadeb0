// What becomes of the second product's sums: those of each expert, scaled, with their bias and the
// tokens' routing weights, are added in the order of the experts; then those of the cluster's
// blocks, in the order of K; the outputs of a token go to Y once.
#pragma once

#include "few_experts/adder.cuh"
#include "primitives/cluster.cuh"
#include "steps/result.cuh"

namespace heddle {

template <class Product>
struct FewTotals {
  using Adder = FewAdder<Product>;
  using Factors = typename Adder::Factors;
  using Units = typename Product::Units;
  using Value = typename Product::Config::Value;
  using Gemm = typename Product::Gemm;
  using S = typename Product::S;
  using Vectors = typename Adder::Vectors;
  using Sum = typename Adder::Sum;
  static constexpr int kTiles = S::kTokenTiles;
  static constexpr int kRows = Product::kRows;
  static constexpr bool kMeets = Product::kSplitK > 1;

  Adder adder;
  const MoeParameters& layer;
  int rank = kMeets ? static_cast<int>(cluster_rank()) : 0;

  // By one lane, ahead of a barrier of the cluster.
  __device__ __forceinline__ void init_meetings() const {
#pragma unroll 1
    for (int i = 0; i < Product::kMeetings; ++i) mbarrier_init(memory().meeting_barrier(i), 1);
    mbarrier_init_fence();
#pragma unroll 1
    for (int i = 0; i < Product::kMeetings; ++i) {
      mbarrier_arrive_expect(memory().meeting_barrier(i), (Product::kSplitK - 1) * S::kSumBytes);
    }
  }

  __device__ __forceinline__ void run(int experts) const {
    const int own = Units(memory(), 0, 1).own;
    const Sum nothing = {};
    for (int i = first_own(); i < own; i = next_own(i)) {
      Vectors::put(memory().totals(i), lane(), nothing);
    }
    adder.run(experts, [&](const Units& unit, const Factors& factors, int slot, u32 parity) {
      add(unit, factors, slot, parity);
    });
    finish(own);
  }

 private:
  __device__ __forceinline__ const FewMemory<Product>& memory() const { return adder.memory; }
  __device__ __forceinline__ int lane() const { return adder.lane; }

  // The row blocks of the cluster whose totals the warp has.
  __device__ __forceinline__ int first_own() const { return adder.adder * kRows; }
  static __device__ __forceinline__ int next_own(int i) {
    return i % kRows == kRows - 1 ? i + 1 + (Product::kAdders - 1) * kRows : i + 1;
  }

  // Adds a unit's sums to the totals of its row blocks.
  __device__ __forceinline__ void add(const Units& unit, const Factors& factors, int slot,
                                      u32 parity) const {
    const int count = unit.rows();
    mbarrier_wait(memory().full_barrier(slot), parity);
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      if (row >= count || !adder.has_totals_of(unit)) break;
      Sum sum = {};
      Vectors::add(memory().sums(slot, row), Product::kParts, lane(), sum);
      const u32 place = memory().totals(unit.place * kRows + row);
      Sum total = {};
      Vectors::add(place, 1, lane(), total);
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
        for (int v = 0; v < 4; ++v) {
          // What others have made of their column is no number, perhaps.
          if (factors.tokens.assignment[tile][v % 2] < 0) continue;
          // One of the blocks that share K adds the bias.
          const auto& rows = factors.rows[row];
          const float output =
              v < 2 ? rows.low(sum[tile][v], rank == 0) : rows.high(sum[tile][v], rank == 0);
          total[tile][v] += Product::kWeighs ? factors.tokens.weight[tile][v % 2] * output : output;
        }
      }
      Vectors::put(place, lane(), total);
    }
    mbarrier_arrive(memory().free_barrier(slot));
  }

  // `own`: row blocks of the cluster, each of which one of its blocks finishes.
  __device__ __forceinline__ void finish(int own) const {
    if constexpr (kMeets) {
#pragma unroll 1
      for (int i = first_own(); i < own; i = next_own(i)) hand_over(i);
    }
    warp_barrier();
#pragma unroll 1
    for (int i = first_own(); i < own; i = next_own(i)) {
      if constexpr (kMeets) {
        if (i % Product::kSplitK != rank) continue;
        const int meeting = i / Product::kSplitK;
        mbarrier_wait_cluster(memory().meeting_barrier(meeting), 0);
        Sum total = {};
        Vectors::add(memory().meeting(meeting, 0), Product::kSplitK, lane(), total);
        Vectors::put(memory().totals(i), lane(), total);
        warp_barrier();
      }
      write(i);
    }
  }

  __device__ __forceinline__ void hand_over(int i) const {
    const int to = i % Product::kSplitK;
    const int meeting = i / Product::kSplitK;
    Sum total = {};
    Vectors::add(memory().totals(i), 1, lane(), total);
    const u32 place = memory().meeting(meeting, rank);
    if (to == rank) return Vectors::put(place, lane(), total);
    if (!adder.has_sums()) return;
    const u32 barrier = address_in_block(memory().meeting_barrier(meeting), to);
    const u32 at = address_in_block(place, to) + 16 * lane();
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      store_remote_floats(at + tile * S::kTileSumBytes, Gemm::Sums::four(total[tile]), barrier);
    }
  }

  // A row block's outputs: a lane has eight of a token.
  __device__ __forceinline__ void write(int i) const {
    const int row = 16 * (Units::cluster() + i * Product::kClusters) + 8 * (lane() % 2);
#pragma unroll
    for (int first = 0; first < Product::kTokens; first += 16) {
      const int token = first + lane() / 2;
      if (token >= Product::kTokens || token >= layer.tokens) continue;
      Sums8 sum = Vectors::vector_of(memory().totals(i), token, lane() % 2);
      const i64 offset = 2 * (static_cast<i64>(token) * Product::kLayer.hidden + row);
      if constexpr (Product::kLayer.residual) Result16<Value>::add(layer.residual + offset, sum);
      Result16<Value>::store(layer.y + offset, sum, nullptr);
    }
  }
};

}  // namespace heddle

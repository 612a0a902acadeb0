// Which experts of this device the tokens have chosen, in the order of their numbers, and which
// assignment of theirs each token has, with what routing weight. Every thread block finds it for
// itself.
#pragma once

#include "experts/assignments.cuh"
#include "few_experts/product.cuh"
#include "primitives/sync.cuh"

namespace heddle {

template <class Product>
struct FewChoices {
  static constexpr ExpertLayer kLayer = Product::kLayer;
  static constexpr int kThreads = Product::kThreads;
  static constexpr int kExperts = kLayer.experts();
  using All = Assignments<typename Product::Config>;
  static constexpr int kBatch =  // assignments of a thread
      (Product::kTokens * kLayer.choices() + kThreads - 1) / kThreads;
  static constexpr u32 kNone = ~0u;

  FewMemory<Product> memory;

  // Ahead of find() and of a barrier of the block.
  __device__ __forceinline__ void clear() const {
    for (int i = static_cast<int>(threadIdx.x); i < kExperts; i += kThreads) {
      store_shared_4(memory.rank(i), 0);
    }
    constexpr int kChoices = Product::kConfig.most_experts() * Product::kTokens;
    for (int i = static_cast<int>(threadIdx.x); i < kChoices; i += kThreads) {
      store_shared_4(memory.choice(0, i), kNone);
    }
  }

  // By all threads of the block, which call `when_listed()` as soon as the experts are known.
  template <class WhenListed>
  __device__ __forceinline__ void find(const MoeParameters& layer,
                                       const WhenListed& when_listed) const {
    const All all{layer};
    int local[kBatch];
    u32 weights[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int assignment = static_cast<int>(threadIdx.x) + i * kThreads;
      local[i] = -1;
      weights[i] = 0;
      if (assignment >= all.count()) continue;
      local[i] = all.expert_of(assignment);
      if constexpr (Product::kWeighs) weights[i] = all.weight_of(assignment);
    }
#pragma unroll
    for (const int expert : local) {
      if (expert >= 0) shared_max(memory.rank(expert), 1);
    }
    block_barrier();
    if (threadIdx.x < 32) list();
    block_barrier();
    when_listed();
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      if (local[i] < 0) continue;
      const int assignment = static_cast<int>(threadIdx.x) + i * kThreads;
      const int place = static_cast<int>(load_shared_4(memory.rank(local[i]))) - 1;
      const int token = All::token_of(assignment);
      shared_min(memory.choice(place, token), assignment);
    }
    block_barrier();
    if constexpr (Product::kWeighs) {
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        if (local[i] >= 0)
          weigh(layer, static_cast<int>(threadIdx.x) + i * kThreads, local[i], weights[i]);
      }
      block_barrier();
    }
  }

  __device__ __forceinline__ int count() const {
    return static_cast<int>(load_shared_4(memory.expert_count()));
  }

 private:
  // The weight of a token's expert: those of all assignments that name it, of which the first one
  // has the row.
  __device__ __forceinline__ void weigh(const MoeParameters& layer, int assignment, int local,
                                        u32 bits) const {
    const int place = static_cast<int>(load_shared_4(memory.rank(local))) - 1;
    const int token = All::token_of(assignment);
    if (static_cast<int>(load_shared_4(memory.choice(place, token))) != assignment) return;
    float weight = float_from_bits(bits);
    const All all{layer};
#pragma unroll 1
    for (int other = assignment + 1; other < (token + 1) * All::kChoices; ++other) {
      if (all.expert_of(other) == local) weight += float_from_bits(all.weight_of(other));
    }
    store_shared_4(memory.weight(place, token), bits_of_float(weight));
  }

  // By one warp: the chosen experts get their places.
  __device__ __forceinline__ void list() const {
    constexpr int kAtOnce = 8;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    int count = 0;
#pragma unroll 1
    for (int first = lane; first < kExperts + lane; first += 32 * kAtOnce) {
      bool is_chosen[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int expert = first + 32 * i;
        is_chosen[i] = expert < kExperts && load_shared_4(memory.rank(expert)) != 0;
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (32 * i >= kExperts) break;
        const u32 chosen = ballot(is_chosen[i]);
        if (is_chosen[i]) {
          const int place = count + __popc(chosen & ((1u << lane) - 1));
          store_shared_4(memory.rank(first + 32 * i), place + 1);
          store_shared_4(memory.expert(place), first + 32 * i);
        }
        count += __popc(chosen);
      }
    }
    if (lane == 0) store_shared_4(memory.expert_count(), count);
  }
};

}  // namespace heddle

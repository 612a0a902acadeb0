// What the parts of a product's kernel know of it, its places in shared memory, and which units of
// work a group of warps has.
#pragma once

#include "experts/parameters.h"
#include "few_experts/config.h"
#include "primitives/cluster.cuh"
#include "primitives/mbarrier.cuh"
#include "primitives/memory.cuh"
#include "stream/shape.cuh"

namespace heddle {

template <class Product>
struct FewMemory;
template <class Product>
struct FewUnits;
template <class Product>
struct FewMiddle;

// GemmConfig: the product's configuration as that of a stream. What rings, warps and those that add
// (ring.cuh, warp.cuh, adder.cuh, activations.cuh) ask a product for, stream_experts/ has, too.
template <class LayerConfig, class GemmConfig, class DecodeWeights, bool kIsSecond>
struct FewProduct {
  using Config = LayerConfig;
  using Gemm = GemmConfig;
  using Decode = DecodeWeights;
  static constexpr FewExpertsConfig kConfig = Config::value;
  static constexpr ExpertLayer kLayer = kConfig.layer;
  static constexpr StreamConfig kStream = Gemm::value;
  using Memory = FewMemory<FewProduct>;
  using Units = FewUnits<FewProduct>;
  using Middle = FewMiddle<FewProduct>;
  static constexpr bool kIsDown = kIsSecond;
  // Each warp that adds has totals of its own row blocks, over all experts.
  static constexpr bool kHasTotals = kIsDown;
  static constexpr FewShares kShares = kIsDown ? kConfig.down_shares : kConfig.gate_up_shares;
  static constexpr FewPlaces kPlaces = kIsDown ? kConfig.down_places() : kConfig.gate_up_places();
  static constexpr i64 kExpertBytes = kIsDown ? kLayer.down_bytes : kLayer.gate_up_bytes;
  static constexpr int kThreads = kConfig.threads();
  static constexpr int kWarps = kConfig.warps();   // that multiply
  static constexpr int kAdders = kConfig.kAdders;  // warps that add
  // Whether its sums are multiplied by the routing weights.
  static constexpr bool kWeighs = kIsDown != kLayer.weighs_input;
  static constexpr int kParts = kStream.warps_k;  // of K, of a group of warps
  static constexpr int kGroups = kShares.groups;
  static constexpr int kRows = kShares.rows;
  static constexpr int kSlots = kConfig.slots(kShares);
  static constexpr int kTokens = kStream.tokens;
  static constexpr int kTokenRowBytes = kConfig.token_row_bytes();
  static constexpr int kMostExperts = kConfig.most_experts();
  static constexpr int kClusters = kConfig.clusters();  // of the second product
  static constexpr int kSplitK = kStream.split_k;
  static constexpr int kMeetings = kIsDown ? kConfig.meetings() : 0;
  // From one of the row blocks that are multiplied at once to the next.
  static constexpr int kRowStride = kIsDown ? kClusters : 1;

  using S = StreamShape<Gemm>;
  static_assert(kStream.token_values == TokenValues::kHalves && !kStream.pre_scale);
};

template <class Product>
struct FewMemory {
  static constexpr auto kPlaces = Product::kPlaces;
  static constexpr int kStages = Product::kStream.stages;
  static constexpr int kSumBytes = Product::S::kSumBytes;
  static constexpr int kStageBytes = Product::kRows * Product::S::kStageBytes;
  u32 shared;

  __device__ __forceinline__ u32 stage_barrier(int warp, int stage) const {
    return shared + 8 * (warp * kStages + stage);
  }
  __device__ __forceinline__ u32 token_barrier() const { return stage_barrier(Product::kWarps, 0); }
  // All warps of a group have put their sums in the slot; they have been read.
  __device__ __forceinline__ u32 full_barrier(int slot) const {
    return token_barrier() + 8 * (1 + slot);
  }
  __device__ __forceinline__ u32 free_barrier(int slot) const {
    return full_barrier(Product::kSlots + slot);
  }
  // The other blocks' sums of a row block that this block finishes are there.
  __device__ __forceinline__ u32 meeting_barrier(int meeting) const {
    return free_barrier(Product::kSlots + meeting);
  }

  __device__ __forceinline__ u32 expert_count() const { return shared + kPlaces.experts; }
  __device__ __forceinline__ u32 expert(int i) const { return expert_count() + 16 + 4 * i; }
  __device__ __forceinline__ u32 choice(int i, int token) const {
    return shared + kPlaces.choices + 4 * (i * Product::kTokens + token);
  }
  // The routing weight of that assignment, with kWeighs.
  __device__ __forceinline__ u32 weight(int i, int token) const {
    return choice(Product::kMostExperts + i, token);
  }
  __device__ __forceinline__ u32 rank(int local) const {
    return shared + kPlaces.ranks + 4 * local;
  }
  __device__ __forceinline__ u32 token_row(int token) const {
    return shared + kPlaces.tokens + token * Product::kTokenRowBytes;
  }
  // Where the first warp of a group puts the sums of one of its row blocks; the others follow.
  __device__ __forceinline__ u32 sums(int slot, int row) const {
    return shared + kPlaces.sums + (slot * Product::kRows + row) * Product::kParts * kSumBytes;
  }
  __device__ __forceinline__ u32 totals(int own) const {
    return shared + kPlaces.totals + own * kSumBytes;
  }
  __device__ __forceinline__ u32 meeting(int meeting, int rank) const {
    return shared + kPlaces.meetings + (meeting * Product::kSplitK + rank) * kSumBytes;
  }
  __device__ __forceinline__ u32 stage(int warp, int stage) const {
    return shared + kPlaces.ring + warp * kPlaces.warp_bytes + stage * kStageBytes;
  }
  // Scales of 8 bits of one of the row blocks that are multiplied at once.
  __device__ __forceinline__ u32 wide_scales(int warp, int row) const {
    return stage(warp, kStages) + row * Product::kStream.wide_scale_bytes();
  }
};

// Units of work, in the order of experts and of an expert's row blocks. A unit is an expert and,
// of the first product, one row block: block b of n has every n-th unit. Of the second product a
// cluster owns every kClusters-th row block for all experts; a unit is kRows of them. A block's
// units go round its groups of warps.
template <class Product>
struct FewUnits {
  int expert;  // the place in the list
  int place;   // among the `places` of an expert
  int step;
  int places;
  int own;  // row blocks of the cluster

  // `every`: how many of the block's units go from one to the next.
  __device__ __forceinline__ FewUnits(FewMemory<Product> /*memory*/, int first, int every)
      : expert(0) {
    const int block = static_cast<int>(blockIdx.x);
    if constexpr (Product::kIsDown) {
      own = (Product::kStream.shape.row_blocks - cluster() + Product::kClusters - 1) /
            Product::kClusters;
      places = (own + Product::kRows - 1) / Product::kRows;
      place = first;
      step = every;
      if (places == 0) expert = 1 << 30;
    } else {
      own = 0;
      places = Product::kStream.shape.row_blocks;
      place = block + first * static_cast<int>(gridDim.x);
      step = every * static_cast<int>(gridDim.x);
    }
    settle();
  }
  static __device__ __forceinline__ int cluster() {
    return static_cast<int>(blockIdx.x) / Product::kSplitK;
  }
  __device__ __forceinline__ void next() {
    place += step;
    settle();
  }
  // Row blocks of the unit: the first, and how many.
  __device__ __forceinline__ int row_block() const {
    return Product::kIsDown ? cluster() + place * Product::kRows * Product::kClusters : place;
  }
  __device__ __forceinline__ int rows() const {
    if constexpr (Product::kRows == 1) return 1;
    const int left = own - place * Product::kRows;
    return left < Product::kRows ? left : Product::kRows;
  }

 private:
  __device__ __forceinline__ void settle() {
    if (Product::kIsDown && places == 0) return;
    while (place >= places) {
      place -= places;
      ++expert;
    }
  }
};

}  // namespace heddle

// What the parts of a product's kernel know of it, its places in shared memory, and which units of
// work a group of warps has.
#pragma once

#include "experts/assignments.cuh"
#include "few_experts/product.cuh"
#include "stream_experts/config.h"

namespace heddle {

template <class Product>
struct SegmentMemory;
template <class Product>
struct SegmentUnits;
template <class Product>
struct SegmentMiddle;

// As FewProduct (few_experts/product.cuh), whose names it has for rings, warps and warps that add.
// A unit is one row block of an expert's weights times the rows of one of its tiles; where those
// ask for experts, they get segments.
template <class LayerConfig, class GemmConfig, class DecodeWeights, bool kIsSecond>
struct SegmentProduct {
  using Config = LayerConfig;
  using Gemm = GemmConfig;
  using Decode = DecodeWeights;
  using Memory = SegmentMemory<SegmentProduct>;
  using Units = SegmentUnits<SegmentProduct>;
  using Middle = SegmentMiddle<SegmentProduct>;
  static constexpr StreamExpertsConfig kConfig = Config::value;
  static constexpr ExpertLayer kLayer = kConfig.layer;
  static constexpr StreamConfig kStream = Gemm::value;
  static constexpr bool kIsDown = kIsSecond;
  static constexpr bool kHasTotals = false;
  static constexpr SegmentShares kShares = kIsDown ? kConfig.down_shares : kConfig.gate_up_shares;
  static constexpr SegmentPlaces kPlaces =
      kIsDown ? kConfig.down_places() : kConfig.gate_up_places();
  static constexpr i64 kExpertBytes = kIsDown ? kLayer.down_bytes : kLayer.gate_up_bytes;
  static constexpr int kThreads = kConfig.threads();
  static constexpr int kWarps = kConfig.warps();  // that multiply
  // Warps that add; none: those that multiply finish their sums.
  static constexpr int kAdders = kConfig.adders(kStream);
  // Whether its sums are multiplied by the routing weights: those of the second product are when
  // they are summed (experts/sum.cuh).
  static constexpr bool kWeighs = !kIsDown && kLayer.weighs_input;
  static constexpr int kParts = kStream.warps_k;  // of K, of a group of warps
  static constexpr int kGroups = kShares.groups;
  static constexpr int kBuffers = kShares.buffers;
  static constexpr int kRows = 1;
  static constexpr int kSlots = kConfig.slots(kStream, kShares);
  static constexpr int kTokens = kStream.tokens;
  static constexpr int kTokenRowBytes = kConfig.token_row_bytes(kStream);
  static constexpr int kMostExperts = kConfig.most_segments(kStream);
  static constexpr int kSplitK = 1;
  static constexpr int kRowStride = 1;
  static constexpr int kColumns = kIsDown ? kLayer.intermediate : kLayer.hidden;  // K

  using S = StreamShape<Gemm>;
  static_assert(kStream.token_values == TokenValues::kHalves && !kStream.pre_scale);
  static_assert(kTokens == kLayer.tile_rows, "a tile's rows are the columns of its units");
};

template <class Product>
struct SegmentMemory : FewMemory<Product> {
  using Few = FewMemory<Product>;

  __device__ __forceinline__ explicit SegmentMemory(u32 shared) : Few{shared} {}

  __device__ __forceinline__ u32 rows_of(int local) const {
    return Few::shared + Few::kPlaces.rows + 4 * local;
  }
  __device__ __forceinline__ u32 chosen(int assignment) const {
    return Few::shared + Few::kPlaces.chosen + 4 * assignment;
  }
  // Of a segment's tile, among the rows of its expert: in the place of the first column's choice
  // until that is found.
  __device__ __forceinline__ u32 first_row(int segment) const { return Few::choice(segment, 0); }
  // The first of the block's units, as a place in the first segment, and how many it has.
  __device__ __forceinline__ u32 first_place() const { return Few::expert_count() + 4; }
  __device__ __forceinline__ u32 unit_count() const { return Few::expert_count() + 8; }

  // The rows of a segment are there; all warps have read them.
  __device__ __forceinline__ u32 rows_barrier(int buffer) const {
    return Few::meeting_barrier(buffer);
  }
  __device__ __forceinline__ u32 read_barrier(int buffer) const {
    return rows_barrier(Product::kBuffers + buffer);
  }
  static __device__ __forceinline__ u32 buffer_bytes(int buffer) {
    return buffer * (Product::kTokens * Product::kTokenRowBytes);
  }
};

// A block has a run of units of the list of all tiles' row blocks, which its groups of warps take
// in turn. `expert` counts the block's segments.
template <class Product>
struct SegmentUnits {
  static constexpr int kPlaces = Product::kStream.shape.row_blocks;

  int expert = 0;
  int place;
  int left;
  int step;

  // Precondition: the block's units are known (SegmentChoices::find).
  __device__ __forceinline__ SegmentUnits(const SegmentMemory<Product>& memory, int first,
                                          int every)
      : place(static_cast<int>(load_shared_4(memory.first_place())) + first),
        left(static_cast<int>(load_shared_4(memory.unit_count())) - first),
        step(every) {
    settle();
  }
  __device__ __forceinline__ void next() {
    place += step;
    left -= step;
    settle();
  }
  __device__ __forceinline__ int row_block() const { return place; }
  __device__ __forceinline__ int rows() const { return 1; }

 private:
  __device__ __forceinline__ void settle() {
    if (left <= 0) {
      expert = 1 << 30;
      return;
    }
    while (place >= kPlaces) {
      place -= kPlaces;
      ++expert;
    }
  }
};

// What the first product gives the second one: of each assignment its columns, 16 bits each.
template <class Product>
struct SegmentMiddle {
  static constexpr int kPadVectors = 0;

  static __device__ __forceinline__ u8* row(const MoeParameters& layer, int assignment) {
    return layer.workspace + Product::kConfig.middle_offset(layer.tokens) +
           2 * static_cast<i64>(assignment) * Product::kLayer.intermediate;
  }
  // Two columns, the first of which is an even one.
  static __device__ __forceinline__ void store(u8* row, int column, u32 pair) {
    store_global_4(row + 2 * column, pair);
  }
};

// What the second product gives the sum (experts/sum.cuh): of each assignment to an expert of this
// device its columns in FP32.
template <class Config>
struct SegmentResults {
  const MoeParameters& layer;

  __device__ __forceinline__ u8* outputs() const {
    return layer.workspace + Config::value.outputs_offset(layer.tokens);
  }
  __device__ __forceinline__ int row_of(int assignment) const {
    return Assignments<Config>{layer}.expert_of(assignment) >= 0 ? assignment : -1;
  }
};

}  // namespace heddle

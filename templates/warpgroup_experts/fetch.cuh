// The warps that fetch for a product of experts: for every stage of the block's tiles the weights
// of their row blocks, and of the rows of the expert that the tile has in boxes, a tensor copy for
// each box: the place of rows that there are not stays what it is. warpgroup/fetch.cuh says who
// does what in a warp.
#pragma once

#include "primitives/sync.cuh"
#include "primitives/tensor_copy.cuh"
#include "schedule/listed_tiles.cuh"
#include "steps/ring_place.cuh"
#include "warpgroup/weight_fetch.cuh"
#include "warpgroup_experts/config.h"

namespace heddle {

template <class Gemm>
struct ExpertFetch {
  using S = WgmmaShape<Gemm>;
  using Schedule = typename Gemm::Schedule;
  static constexpr int kBoxRows = device::box_rows(S::kTileTokens);
  static constexpr int kBoxBytes = 128 * kBoxRows;
  static constexpr int kColumnBoxes = Gemm::value.column_boxes();
  static constexpr int kFetchWarps = Gemm::value.kFetchWarps;
  static_assert(S::kTileTokens % kBoxRows == 0 && kBoxRows % 8 == 0,
                "boxes begin where the swizzle does");

  WgmmaMemory<Gemm> memory;
  const TensorMap& rows;
  const u8* weights;
  Schedule schedule;
  int warp;

  __device__ __forceinline__ void run() {
    const WeightShape shape = Gemm::kShape;
    const WgmmaWeightFetch<Gemm> of_weights{memory, weights, shape, warp, policy_read_once()};
    RingPlace<Gemm> place;
    GroupedPiece piece;
#pragma unroll 1
    while (schedule.next(piece)) {
      const int boxes = broadcast(boxes_of(piece), 0);
      // Each warp sees to every fourth box.
      const int own = (boxes + kFetchWarps - 1 - warp) / kFetchWarps;
#pragma unroll 1
      for (int stage = 0; stage < piece.end * S::kUnitStages; ++stage) {
        // A fresh barrier counts as one whose phase of parity 1 has ended.
        mbarrier_wait(memory.empty_barrier(place.stage), place.parity ^ 1);
        of_weights.run(piece, stage / S::kUnitStages, stage % S::kUnitStages, place.stage,
                       own * kBoxBytes);
        fetch_rows(piece, boxes, stage, place.stage);
        place.advance();
      }
    }
  }

 private:
  static __device__ __forceinline__ int boxes_of(const GroupedPiece& piece) {
    return kColumnBoxes * ((piece.tokens(S::kTileTokens) + kBoxRows - 1) / kBoxRows);
  }

  // `of_k` counts the stages of K. Box i is of column box i % kColumnBoxes.
  __device__ __forceinline__ void fetch_rows(const GroupedPiece& piece, int boxes, int of_k,
                                             int stage) const {
    if (!elect_one()) return;
    // Unrolled it would take more registers than a fetching warp has.
#pragma unroll 1
    for (int box = warp; box < boxes; box += kFetchWarps) {
      const int column = box % kColumnBoxes;
      const int first = box / kColumnBoxes * kBoxRows;
      tensor_copy(memory.tokens(stage) + column * S::kHalfBytes + 128 * first, rows,
                  64 * (of_k * kColumnBoxes + column), piece.first_token + first,
                  memory.full_barrier(stage));
    }
  }
};

}  // namespace heddle

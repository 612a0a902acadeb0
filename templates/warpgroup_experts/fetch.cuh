// The warps that fetch for a product of experts: for every stage of the block's tiles the weights
// of their row blocks, and of the rows of the expert that the tile has in boxes, a tensor copy for
// each box: the place of rows that there are not stays what it is. warpgroup/fetch.cuh says who
// does what in a warp.
#pragma once

#include "primitives/dependent_launch.cuh"
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

  // The weights of the first tile's first stages_ahead stages are copied while the launch ahead may
  // still run.
  __device__ __forceinline__ void run() {
    const WeightShape shape = Gemm::kShape;
    const WgmmaWeightFetch<Gemm> of_weights{memory, weights, shape, warp, policy_read_once()};
    const auto fetch_weights = [&](const GroupedPiece& piece, int boxes, int of_k, int stage) {
      // Each warp sees to every fourth box.
      const int own = (boxes + kFetchWarps - 1 - warp) / kFetchWarps;
      of_weights.run(piece, of_k / S::kUnitStages, of_k % S::kUnitStages, stage, own * kBoxBytes);
    };
    GroupedPiece piece;
    bool has_piece = schedule.next(piece);
    int ahead = 0;  // stages of the first tile that have weights
    if (has_piece) {
      const int boxes = broadcast(boxes_of(piece), 0);
#pragma unroll 1
      for (; ahead < Gemm::value.stages_ahead && ahead < stages_of(piece); ++ahead) {
        fetch_weights(piece, boxes, ahead, ahead);
      }
    }
    wait_for_predecessor();
    RingPlace<Gemm> place;
#pragma unroll 1
    for (; has_piece; has_piece = schedule.next(piece)) {
      const int boxes = broadcast(boxes_of(piece), 0);
#pragma unroll 1
      for (int of_k = 0; of_k < stages_of(piece); ++of_k) {
        if (of_k >= ahead) {
          // A fresh barrier counts as one whose phase of parity 1 has ended.
          mbarrier_wait(memory.empty_barrier(place.stage), place.parity ^ 1);
          fetch_weights(piece, boxes, of_k, place.stage);
        }
        fetch_rows(piece, boxes, of_k, place.stage);
        place.advance();
      }
      ahead = 0;
    }
  }

 private:
  static __device__ __forceinline__ int stages_of(const GroupedPiece& piece) {
    return piece.end * S::kUnitStages;
  }
  static __device__ __forceinline__ int boxes_of(const GroupedPiece& piece) {
    return kColumnBoxes * ((piece.tokens(S::kTileTokens) + kBoxRows - 1) / kBoxRows);
  }

  // `of_k` counts the stages of K. Box i is of column box i % kColumnBoxes. The loop unrolled would
  // take more registers than a fetching warp has.
  __device__ __forceinline__ void fetch_rows(const GroupedPiece& piece, int boxes, int of_k,
                                             int stage) const {
    if (!elect_one()) return;
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

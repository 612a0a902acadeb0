// How a warpgroup walks its share of a stage: in steps of one row tile by kStepTiles tiles of 16
// columns, or with tokens of eight bits of 32, and in groups of steps that have scales in common.
#pragma once

#include "warpgroup/shape.cuh"

namespace heddle {

template <class Config>
struct WgmmaSteps {
  using S = WgmmaShape<Config>;
  static constexpr bool kScalesSums = Config::value.scaling.mode == ScaleMode::kAccumulator ||
                                      Config::value.scaling.mode == ScaleMode::kGroup;
  static constexpr bool kHasGroupSums = Config::value.has_group_sums();
  static constexpr int kTileColumns = S::kTileColumns;
  static constexpr int kHalves = Config::value.run_columns() / 64;  // of a chunk at a time
  static constexpr int kHalfTiles = 64 / kTileColumns;  // whose words a lane loads at once
  static constexpr int kTiles = kHalves * kHalfTiles;   // of a chunk at a time
  // Between two looks at scales.
  static constexpr int kGroupTiles = Config::value.group_columns() / kTileColumns;
  // Tiles by which an offset of the entries moves the ends of groups. Scales on sums need steps
  // that end where groups do: a step has at most the largest power of two that divides kCut.
  static constexpr int kCut = Config::value.weights.entry_offset / kTileColumns % kGroupTiles;
  static constexpr int kMostStepTiles = kCut == 0 ? kGroupTiles : kCut & -kCut;
  static constexpr int kStepTiles = kHasGroupSums && kMostStepTiles < Config::value.step_tiles
                                        ? kMostStepTiles
                                        : Config::value.step_tiles;
  static constexpr int kSets = Config::value.kDecodedSets;  // of registers for decoded weights
  static constexpr int kColumnSteps = kTiles / kStepTiles;  // of a chunk at a time
  static constexpr int kSteps = kColumnSteps * S::kRowTiles;
  static constexpr int kGroupSteps = kHasGroupSums ? kGroupTiles / kStepTiles : 1;
  static_assert(kHalfTiles % kStepTiles == 0, "a step lies in the 64 columns of a lane's words");
  static_assert(kSets >= 2 && S::kUnitStages * kSteps % kSets == 0,
                "each set of registers is decoded into equally often");
  static_assert(!Config::value.half_stages || !kHasGroupSums,
                "groups end where they would without halves");

  // Sets of sums that groups alternate between, where the tensor cores would wait for the scaling:
  // that of fewer tokens is short, more leave no registers, and four warpgroups multiply for each
  // other meanwhile. With two sets of weights every step waits for the one before. Every stage must
  // begin with the same set of sums, and a short one would have a branch of its own, with which
  // ptxas lets no two steps overlap. Where an offset cuts groups they are not as many steps each.
  static constexpr bool kEven =
      kCut == 0 && S::kLastChunks == 0 && S::kOwnChunks * kSteps / kGroupSteps % 2 == 0;
  static constexpr int kGroupSumSets =
      kHasGroupSums && Config::value.tile_m == 64 && !S::kFour && kSets == 2 && kEven ? 2 : 1;

  // Whether scales and zero points are looked at; `tile`: of those of a chunk at a time.
  static __device__ __forceinline__ constexpr bool begins_group(int tile) {
    return Config::value.weights.begins_unit(kTileColumns * tile, kTileColumns * kGroupTiles,
                                             kTileColumns * kTiles);
  }
  static __device__ __forceinline__ bool ends_group(int step) {
    return begins_group((step % kColumnSteps + 1) * kStepTiles);
  }
};

}  // namespace heddle

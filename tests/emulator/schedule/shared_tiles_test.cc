// Whole tiles, then shares of the K of the last ones: each unit of each tile has one block, shares
// of a tile lie in the order of the blocks, and their first and last one are known.
#include "tests/emulator/cuda_words.h"
// It uses its words.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "schedule/shared_tiles.cuh"
#include "tests/emulator/schedule/pieces.h"

namespace heddle {
namespace {

template <int kTokens, int kSets, int kClusterBlocks, bool kOneTile>
struct SharedShape {
  static constexpr int kTileTokens = kTokens;
  static constexpr int kTileRowTiles = 2;
  static constexpr int kBandTokens = 2048;
  static constexpr bool kOneTokenTile = kOneTile;
  static constexpr int kBlocks = kClusterBlocks;
  static constexpr bool kSharesTiles = true;
  // What the launch says.
  static constexpr int kRowSets = kSets;
  static constexpr int kUnits = 7;
};

template <class Shape>
Tiles tiles_of(int m) {
  Tiles tiles;
  for (int row = 0; row < Shape::kRowSets * Shape::kBlocks; ++row) {
    for (int token = 0; token < m; token += Shape::kTileTokens) {
      tiles[{row * Shape::kTileRowTiles, token}] = Shape::kUnits;
    }
  }
  return tiles;
}

template <class Shape>
void expect_shares(int m, int workers, int shared_tiles) {
  SCOPED_TRACE(testing::Message() << m << " tokens, " << workers << " workers, " << shared_tiles
                                  << " shared tiles");
  using Schedule = SharedTiles<Shape>;
  emulator::Launch launch;
  launch.cluster = Shape::kBlocks;
  launch.blocks = workers * Shape::kBlocks;
  // For each shared tile the workers that have a piece of it, and those that should have one.
  std::map<int, std::set<int>> have;
  std::map<int, std::set<int>> should;
  const auto check = [&](const Schedule& schedule, const std::vector<Piece>& pieces) {
    bool is_late = false;  // behind a piece of another shared tile
    for (const Piece& piece : pieces) {
      if (piece.shared_tile < 0) continue;
      if (is_late != schedule.is_late(piece, shared_tiles)) emulator::fail("not late, or late");
      is_late = true;
      have[piece.shared_tile].insert(Schedule::worker());
      const int end = schedule.end_worker(piece.shared_tile, shared_tiles);
      for (int i = schedule.first_worker(piece.shared_tile, shared_tiles); i < end; ++i) {
        should[piece.shared_tile].insert(i);
      }
    }
  };
  const BlockPieces<Piece> blocks = pieces_of(
      launch, {}, [&] { return Schedule(m, Shape::kRowSets, Shape::kUnits, shared_tiles); }, check);
  ASSERT_NO_FATAL_FAILURE(expect_in_order_of_k(blocks, tiles_of<Shape>(m)));
  EXPECT_EQ(have, should);
  EXPECT_EQ(static_cast<int>(have.size()), shared_tiles);
  for (const bool shared : {false, true}) {
    int fewest = 1 << 30;
    int most = 0;
    for (const auto& block : blocks) {
      int units = 0;
      for (const Piece& piece : block) {
        if ((piece.shared_tile >= 0) == shared) units += shared ? piece.end - piece.begin : 1;
      }
      fewest = std::min(fewest, units);
      most = std::max(most, units);
    }
    EXPECT_LE(most - fewest, 1) << (shared ? "shared units" : "whole tiles");
  }
}

template <class Shape>
void expect_all_shares(std::initializer_list<int> tokens) {
  for (const int m : tokens) {
    const int tiles = Shape::kRowSets * ((m + Shape::kTileTokens - 1) / Shape::kTileTokens);
    for (const int workers : {1, 3, 8}) {
      for (int shared = 0; shared < workers && shared <= tiles; ++shared) {
        expect_shares<Shape>(m, workers, shared);
      }
    }
  }
}

// 1024 tokens are half a band of tiles, 2500 end in a second one.
TEST(SharedTiles, OfManyTokens) {
  expect_all_shares<SharedShape<256, 5, 1, false>>({1, 256, 257, 1024, 2500});
}
TEST(SharedTiles, LargerThanABand) { expect_all_shares<SharedShape<4096, 3, 1, false>>({9000}); }
TEST(SharedTiles, OfOneTokenTile) { expect_all_shares<SharedShape<64, 11, 1, true>>({1, 64}); }
TEST(SharedTiles, OfClusters) {
  expect_all_shares<SharedShape<256, 3, 2, false>>({200, 2500});
  expect_all_shares<SharedShape<64, 5, 2, true>>({64});
}

}  // namespace
}  // namespace heddle

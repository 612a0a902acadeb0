// Schedules whose blocks share the K of a tile: each unit of each tile has one block, and the order
// of the blocks is that of K.
#include "tests/emulator/cuda_words.h"
// They use its words.
#include <gtest/gtest.h>

#include <set>

#include "schedule/cluster_split_k.cuh"
#include "schedule/row_split_k.cuh"
#include "schedule/split_k.cuh"
#include "schedule/strided_rows.cuh"
#include "tests/emulator/schedule/pieces.h"

namespace heddle {
namespace {

template <int kUnits, int kParts>
struct SplitShape {
  static constexpr int kTileTokens = 16;
  static constexpr int kTotalUnits = kUnits;
  static constexpr int kSplitK = kParts;
  static constexpr int kRowTiles = 13;
};
using Whole = SplitShape<9, 1>;
using Even = SplitShape<12, 4>;
using Ragged = SplitShape<37, 5>;
using Thin = SplitShape<3, 3>;

Tiles tiles_of(int row_tiles, int token_tiles, int units) {
  Tiles tiles;
  for (int row = 0; row < row_tiles; ++row) {
    for (int token = 0; token < token_tiles; ++token) tiles[{row, 16 * token}] = units;
  }
  return tiles;
}

// Blocks of one piece each, whose tiles are numbered, and whose parts of K are as even as may be.
void expect_one_each(const BlockPieces<Piece>& blocks, const Tiles& tiles, int parts) {
  ASSERT_NO_FATAL_FAILURE(expect_in_order_of_k(blocks, tiles));
  std::map<int, std::set<std::pair<int, int>>> numbers;
  for (const auto& block : blocks) {
    ASSERT_EQ(block.size(), 1U);
    const Piece& piece = block.front();
    numbers[piece.shared_tile].insert({piece.row_tile, piece.first_token});
    const int units = tiles.begin()->second;
    EXPECT_GE(piece.end - piece.begin, units / parts);
    EXPECT_LE(piece.end - piece.begin, (units + parts - 1) / parts);
  }
  ASSERT_EQ(numbers.size(), tiles.size());
  for (const auto& [number, places] : numbers) {
    EXPECT_EQ(places.size(), 1U) << number;
    EXPECT_LT(number, static_cast<int>(tiles.size()));
  }
}

template <class Shape>
class Split : public testing::Test {};
using Shapes = testing::Types<Whole, Even, Ragged, Thin>;
TYPED_TEST_SUITE(Split, Shapes);

TYPED_TEST(Split, OverZ) {
  constexpr int kParts = TypeParam::kSplitK;
  emulator::Launch launch;
  launch.grid_x = 3;
  launch.grid_y = 4;
  launch.blocks = 3 * 4 * kParts;
  expect_one_each(pieces_of(launch, [] { return SplitK<TypeParam>(); }),
                  tiles_of(4, 3, TypeParam::kTotalUnits), kParts);
}

TYPED_TEST(Split, OfRowsOverZ) {
  constexpr int kParts = TypeParam::kSplitK;
  emulator::Launch launch;
  launch.grid_x = 7;
  launch.blocks = 7 * kParts;
  expect_one_each(pieces_of(launch, [] { return RowSplitK<TypeParam>(); }),
                  tiles_of(7, 1, TypeParam::kTotalUnits), kParts);
}

TYPED_TEST(Split, OverACluster) {
  constexpr int kParts = TypeParam::kSplitK;
  emulator::Launch launch;
  launch.cluster = launch.grid_x = kParts;
  launch.grid_y = 5;
  launch.blocks = 5 * kParts;
  expect_one_each(pieces_of(launch, [] { return ClusterSplitK<TypeParam>(); }),
                  tiles_of(5, 1, TypeParam::kTotalUnits), kParts);
}

// Fewer groups of blocks than row tiles, as many, and more.
TYPED_TEST(Split, OfStridedRows) {
  constexpr int kParts = TypeParam::kSplitK;
  for (const int groups : {1, 4, 13, 20}) {
    emulator::Launch launch;
    launch.cluster = kParts;
    launch.blocks = groups * kParts;
    const auto check = [](const StridedRows<TypeParam>& schedule,
                          const std::vector<Piece>& pieces) {
      bool good = schedule.count() == static_cast<int>(pieces.size());
      for (int i = 0; good && i < schedule.count(); ++i) {
        const Piece piece = schedule.piece(i);
        good = piece == pieces[static_cast<std::size_t>(i)] &&
               piece.row_tile == schedule.first + i * schedule.stride &&
               piece.begin == schedule.first_unit() && piece.end == schedule.end_unit();
      }
      if (!good) emulator::fail("not what next() gives");
      if (schedule.end_unit() <= schedule.first_unit()) emulator::fail("a block without units");
    };
    const BlockPieces<Piece> blocks = pieces_of(
        launch, {}, [] { return StridedRows<TypeParam>(); }, check);
    expect_in_order_of_k(blocks, tiles_of(TypeParam::kRowTiles, 1, TypeParam::kTotalUnits));
    std::size_t fewest = blocks.front().size();
    std::size_t most = 0;
    for (const auto& block : blocks) {
      fewest = std::min(fewest, block.size());
      most = std::max(most, block.size());
    }
    EXPECT_LE(most - fewest, 1U) << groups;
  }
}

}  // namespace
}  // namespace heddle

// Tiles of groups by a list that the device has made: each row tile of each token is computed once,
// with its own group's weights, and no block has much more to do than another.
#include "tests/emulator/cuda_words.h"
// It uses its words.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "schedule/listed_tiles.cuh"
#include "tests/emulator/schedule/pieces.h"

namespace heddle {

inline bool operator==(const GroupedPiece& a, const GroupedPiece& b) {
  return static_cast<const Piece&>(a) == static_cast<const Piece&>(b) && a.group == b.group &&
         a.end_token == b.end_token;
}

namespace {

template <int kGroupCount, int kTokens, int kSets>
struct GroupedShape {
  static constexpr int kGroups = kGroupCount;
  static constexpr int kTileTokens = kTokens;
  static constexpr int kTileRowTiles = 4;
  static constexpr int kRowSets = kSets;
  static constexpr int kBandTokens = 2048;
  static constexpr int kTotalUnits = 9;
  static constexpr long long kGroupBytes = 64;
};

// The list as a kernel before makes it.
template <class Shape>
std::vector<ListedTile> list_of(const std::vector<int>& first_tokens) {
  std::vector<ListedTile> list;
  for (int group = 0; group < Shape::kGroups; ++group) {
    const int first = first_tokens[group];
    const int end = first_tokens[group + 1];
    for (int place = 0; first + place * Shape::kTileTokens < end; ++place) {
      list.push_back({group, first, end, place});
    }
  }
  return list;
}

// The list and the number of its tiles in memory that kernels read.
template <class Shape>
struct ListOnDevice {
  const ListedTile* tiles;
  const int* count;

  ListOnDevice(emulator::GlobalMemory& memory, const std::vector<int>& first_tokens) {
    std::vector<ListedTile> list = list_of<Shape>(first_tokens);
    const auto listed = static_cast<int>(list.size());
    list.push_back({});  // so that there is memory without tiles, too
    tiles = reinterpret_cast<const ListedTile*>(
        memory.allocate(list.data(), sizeof(ListedTile) * list.size(), emulator::Access::kRead));
    count = reinterpret_cast<const int*>(
        memory.allocate(&listed, sizeof listed, emulator::Access::kRead));
  }
  ListedTiles<Shape> schedule() const { return {tiles, count}; }
};

template <class Shape>
void expect_tiles(const std::vector<int>& counts, int blocks, int first = 0) {
  ASSERT_EQ(counts.size(), static_cast<std::size_t>(Shape::kGroups));
  std::vector<int> first_tokens{first};
  for (const int count : counts) first_tokens.push_back(first_tokens.back() + count);

  emulator::Launch launch;
  launch.blocks = blocks;
  // Two warps that should have the same pieces; of many groups one, as the emulator takes its time.
  launch.threads = Shape::kGroups > 100 ? 32 : 64;
  emulator::GlobalMemory memory;
  const ListOnDevice<Shape> list(memory, first_tokens);
  const BlockPieces<GroupedPiece> all = pieces_of<GroupedPiece>(
      launch, memory, [&] { return list.schedule(); },
      [](const auto&, const std::vector<GroupedPiece>&) {});

  // How often each token meets each set of rows.
  const int tokens = first_tokens.back() - first;
  std::vector<std::vector<int>> times(Shape::kRowSets, std::vector<int>(tokens, 0));
  std::size_t fewest = all.front().size();
  std::size_t most = 0;
  for (const auto& block : all) {
    fewest = std::min(fewest, block.size());
    most = std::max(most, block.size());
    for (const GroupedPiece& piece : block) {
      ASSERT_GE(piece.group, 0);
      ASSERT_LT(piece.group, Shape::kGroups);
      ASSERT_GE(piece.first_token, first_tokens[piece.group]);
      ASSERT_LT(piece.first_token, piece.end_token);
      ASSERT_EQ(piece.end_token, first_tokens[piece.group + 1]);
      ASSERT_EQ((piece.first_token - first_tokens[piece.group]) % Shape::kTileTokens, 0);
      ASSERT_EQ(piece.row_tile % Shape::kTileRowTiles, 0);
      ASSERT_EQ(piece.begin, 0);
      ASSERT_EQ(piece.end, Shape::kTotalUnits);
      ASSERT_EQ(piece.shared_tile, -1);
      const int row_set = piece.row_tile / Shape::kTileRowTiles;
      ASSERT_GE(row_set, 0);
      ASSERT_LT(row_set, Shape::kRowSets);
      const int end = std::min(piece.first_token + Shape::kTileTokens, piece.end_token);
      for (int token = piece.first_token; token < end; ++token) ++times[row_set][token - first];
    }
  }
  for (const auto& of_set : times) {
    ASSERT_EQ(std::count(of_set.begin(), of_set.end(), 1), tokens);
  }
  EXPECT_LE(most - fewest, 1U);
}

// Fewer blocks than tiles, and more.
template <class Shape>
void expect_on_grids(const std::string& what, const std::vector<int>& counts) {
  SCOPED_TRACE(what);
  for (const int blocks : {1, 3, 8, 40}) {
    SCOPED_TRACE(blocks);
    ASSERT_NO_FATAL_FAILURE(expect_tiles<Shape>(counts, blocks));
  }
}

template <class Shape>
class ListedTilesTest : public testing::Test {
 public:
  static constexpr std::size_t kGroups = Shape::kGroups;
  static std::vector<int> none() { return std::vector<int>(kGroups, 0); }
};
// One run of 32 groups or less, two, sixteen, and all that there may be; bands are two tiles of
// tokens wide, or more.
using Shapes =
    testing::Types<GroupedShape<1, 8, 3>, GroupedShape<5, 1024, 2>, GroupedShape<32, 16, 1>,
                   GroupedShape<33, 8, 4>, GroupedShape<512, 8, 3>, GroupedShape<1024, 64, 2>>;
TYPED_TEST_SUITE(ListedTilesTest, Shapes);

TYPED_TEST(ListedTilesTest, WithoutTokensHaveNoPieces) {
  expect_on_grids<TypeParam>("no tokens", this->none());
}

TYPED_TEST(ListedTilesTest, OfOneGroupWithAllTokens) {
  for (const std::size_t group : {std::size_t{0}, this->kGroups / 2, this->kGroups - 1}) {
    for (const int count : {1, 5 * TypeParam::kTileTokens + 3}) {
      std::vector<int> counts = this->none();
      counts[group] = count;
      expect_on_grids<TypeParam>("one group", counts);
    }
  }
}

TYPED_TEST(ListedTilesTest, EndAtTheBoundariesOfTiles) {
  constexpr int kTile = TypeParam::kTileTokens;
  const int around[] = {kTile, kTile - 1, 0, kTile + 1, 2 * kTile, 1};
  std::vector<int> counts = this->none();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    // Most of many groups are empty.
    if (i % 32 < 12) counts[i] = around[i % std::size(around)];
  }
  expect_on_grids<TypeParam>("boundaries", counts);
}

TYPED_TEST(ListedTilesTest, OfRandomCounts) {
  std::mt19937 random(7);
  const auto below = [&](int end) { return static_cast<int>(random() % end); };
  for (int round = 0; round < 4; ++round) {
    // Some tokens in a few groups, as in decode, or in most of them.
    const bool few = round % 2 == 0;
    std::vector<int> counts = this->none();
    for (int& count : counts) {
      if (below(8) < (few ? 1 : 6)) count = 1 + below(few ? 8 : 2 * TypeParam::kTileTokens);
    }
    SCOPED_TRACE(round);
    ASSERT_NO_FATAL_FAILURE(expect_tiles<TypeParam>(counts, 1 + below(30)));
  }
}

// The tokens of the launch may be a part of a longer array.
TEST(ListedTiles, BeginAtTheFirstTokenOfTheFirstGroup) {
  expect_tiles<GroupedShape<5, 8, 3>>({0, 9, 0, 3, 17}, 4, 100);
}

TEST(ListedTiles, NeighboursShareWeightsOrTokens) {
  using Shape = GroupedShape<3, 16, 4>;
  const std::vector<int> first_tokens{0, 5, 5 + 16 * 6, 5 + 16 * 6};
  emulator::GlobalMemory memory;
  const ListOnDevice<Shape> list(memory, first_tokens);
  emulator::Launch launch;
  launch.blocks = Shape::kRowSets * (1 + 6);
  const auto blocks = pieces_of<GroupedPiece>(
      launch, memory, [&] { return list.schedule(); },
      [](const auto&, const std::vector<GroupedPiece>&) {});
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const GroupedPiece& piece = blocks[i].at(0);
    if (i < 4) {  // one tile of tokens: the sets of rows, which read the same tokens
      EXPECT_EQ(piece.group, 0);
      EXPECT_EQ(piece.first_token, 0);
      EXPECT_EQ(piece.row_tile, 4 * static_cast<int>(i));
    } else {  // six blocks with the same weights, then the next six
      EXPECT_EQ(piece.group, 1);
      EXPECT_EQ(piece.row_tile, 4 * static_cast<int>((i - 4) / 6));
      EXPECT_EQ(piece.first_token, 5 + 16 * static_cast<int>((i - 4) % 6));
    }
  }
}

// What the kernel ahead may still write is not read before it has ended.
TEST(ListedTiles, AreMadeBehindTheKernelAhead) {
  emulator::GlobalMemory memory;
  const ListOnDevice<GroupedShape<1, 8, 3>> list(memory, {0, 9});
  const auto run = [&](bool waits) {
    emulator::run({}, memory, [&] {
      if (waits) emulator::predecessor_has_ended();
      ListedTiles<GroupedShape<1, 8, 3>> schedule = list.schedule();
      all_pieces<GroupedPiece>(schedule);
    });
  };
  EXPECT_NO_THROW(run(true));
  EXPECT_THROW(run(false), emulator::Error);
}

}  // namespace
}  // namespace heddle

// How the blocks of a GEMM with wgmma share its tiles.
#include "generator/families/warpgroup/shares.h"

#include <gtest/gtest.h>

#include "generator/families/warpgroup/config.h"
#include "generator/families/gemm_variant.h"
#include "generator/families/shared_memory.h"
#include "generator/families/warpgroup/candidates.h"
#include "generator/families/warpgroup/stage.h"
#include "tests/generator/gemm_plans.h"

namespace heddle {
namespace {

// What the kernel computes from the two numbers: tiles that are not shared go to whole blocks, of
// the others every block gets at least one stage.
TEST(WgmmaShares, GiveEveryBlockWork) {
  for (const std::int64_t n : {8, 1000, 4096, 8192, 28672, 57344}) {
    for (const std::int64_t k : {32, 128, 896, 8192}) {
      GemmSpec spec = small_spec();
      spec.shape = {n, k, 9, 8192};
      spec.weight.group_size = 32;
      spec.path = Path::kHopper;
      spec.tile.n = 128;
      const Plan plan = plan_of(spec, "h200");
      for (const std::int64_t m : {9, 16, 32, 64, 100, 256, 1000, 8192}) {
        const GemmVariant& v = variant_at(plan, m);
        const WgmmaShares shares = wgmma_shares(v, plan.layout, m);
        // Blocks that share tokens count as one.
        const std::int64_t together = v.shares_rows ? 2 : v.cluster;
        const std::int64_t set_rows = 64 * warpgroup_sizes(plan.layout, v).set_row_tiles();
        const std::int64_t tiles = ceil_div(m, v.tile_m) * ceil_div(n, set_rows);
        const std::int64_t most = 132 / together;
        const std::int64_t workers = shares.workers / together;
        const std::int64_t stages = ceil_div(plan.layout.chunks_per_row_block, v.stage_chunks);
        EXPECT_GE(shares.workers, 1);
        EXPECT_LE(shares.workers, 132);
        EXPECT_EQ(shares.workers % shares.cluster, 0);
        EXPECT_EQ(shares.cluster % v.cluster, 0);
        if (shares.shared_tiles == 0) {
          EXPECT_EQ(workers, std::min<std::int64_t>(tiles, most));
          EXPECT_EQ(plan.workspace_bytes(m), 0U);
        } else if (shares.shared_tiles < 0) {
          // Halves of tiles, behind whole rounds of the others; those of the last tokens may have
          // been narrow before.
          const std::int64_t cut = -shares.shared_tiles;
          EXPECT_GT(v.tile_m, 128);
          const std::int64_t over = m % v.tile_m;
          const bool ends_narrow = m > v.tile_m && over > 0 && over <= v.tile_m / 2;
          const std::int64_t wide = ends_narrow ? tiles - ceil_div(n, set_rows) : tiles;
          EXPECT_LE(cut, wide);
          EXPECT_EQ((wide - cut) % most, 0);
          EXPECT_EQ(workers, std::min(tiles + cut, most));
          EXPECT_EQ(plan.workspace_bytes(m), 0U);
        } else {
          EXPECT_LE(shares.shared_tiles, tiles);
          EXPECT_EQ((tiles - shares.shared_tiles) % workers, 0);
          EXPECT_LT(shares.shared_tiles, workers);
          EXPECT_GE(shares.shared_tiles * stages, workers);
          if (shares.sums_in_cluster) {
            // Each cluster has a tile of its own, and no other place for the sums.
            EXPECT_EQ(shares.workers, tiles * shares.cluster);
            EXPECT_EQ(shares.shared_tiles, tiles);
            EXPECT_EQ(plan.workspace_bytes(m), 0U);
            continue;
          }
          // A counter for each warpgroup, two places for each block.
          EXPECT_LE(4 * wgmma_warpgroups(v) * shares.shared_tiles * v.cluster,
                    kWorkspaceCounterBytes);
          EXPECT_EQ(plan.workspace_bytes(m),
                    static_cast<std::size_t>(kWorkspaceCounterBytes +
                                             2 * 4 * v.workers * v.tile_m * v.tile_n));
          EXPECT_LE(plan.workspace_bytes(m), plan.max_workspace_bytes());
        }
      }
    }
  }
}

// As many tiles as half of the SMs are shared by pairs, which need no workspace.
TEST(WgmmaShares, PairsShareTilesOfHalfTheSms) {
  GemmSpec spec = small_spec();
  spec.shape = {8192, 8192, 33, 256};
  spec.weight.zero_point = ZeroPoint::kNone;
  spec.path = Path::kHopper;
  const auto shares = [&](std::int64_t m) {
    const Plan plan = plan_of(spec, "h200");
    return wgmma_shares(variant_at(plan, m), plan.layout, m);
  };
  EXPECT_TRUE(shares(64).sums_in_cluster);
  EXPECT_TRUE(shares(128).sums_in_cluster);
  EXPECT_FALSE(shares(256).sums_in_cluster);  // a tile for each SM
  spec.shape.n = 4096;
  EXPECT_TRUE(shares(256).sums_in_cluster);
}

// Tiles of all tokens are shared in one way or not at all, and the kernel has no other.
TEST(WgmmaShares, OneTileOfTokensSettlesHowTilesAreShared) {
  GemmSpec spec = small_spec();
  spec.weight.zero_point = ZeroPoint::kNone;
  const auto variant = [&](std::int64_t n, std::int64_t k) {
    spec.shape = {n, k, 33, 64};
    return variant_of(plan_of(spec, "h200").kernels.front());
  };
  EXPECT_FALSE(variant(14336, 4096).shares_tiles);
  EXPECT_FALSE(variant(14336, 4096).shares_in_pairs);
  EXPECT_TRUE(variant(8192, 8192).shares_tiles);
  EXPECT_TRUE(variant(8192, 8192).shares_in_pairs);
  EXPECT_TRUE(variant(10240, 8192).shares_tiles);
  EXPECT_FALSE(variant(10240, 8192).shares_in_pairs);
  // More tiles of tokens may be shared in any way, as their number wants.
  spec.shape = {4096, 4096, 600, 2000};
  spec.tile.m = 128;
  spec.tile.n = 128;
  spec.path = Path::kHopper;
  EXPECT_TRUE(variant_of(plan_of(spec, "h200").kernels.front()).shares_in_pairs);
}

// Rows and sharing that were the fastest of all in docs/measurements/wgmma.md, "Which tile and
// sharing up to 128 tokens"; 22016 x 4096 with 32 tokens in weights-ahead.md.
TEST(WgmmaShares, TakeWhatWasMeasuredToBeFastest) {
  enum Way { kWhole, kPairs, kWorkspace, kRowsInCommon, kFirst };
  struct Cell {
    std::int64_t n, k, m;
    int rows;
    Way way;
    int bits = 4;
  };
  const Cell cells[] = {
      {4096, 4096, 32, 64, kPairs},          {28672, 8192, 32, 256, kRowsInCommon},
      {12288, 4096, 32, 128, kRowsInCommon}, {4096, 14336, 32, 64, kPairs},
      {8192, 4096, 32, 64, kWhole},          {14336, 4096, 32, 128, kWhole},
      {57344, 8192, 32, 256, kRowsInCommon}, {10240, 8192, 32, 64, kFirst},
      {6144, 4096, 64, 128, kPairs},         {4096, 4096, 64, 64, kPairs},
      {57344, 8192, 64, 256, kRowsInCommon}, {12288, 4096, 64, 128, kRowsInCommon},
      {8192, 28672, 64, 128, kPairs},        {14336, 4096, 64, 128, kWhole},
      {9216, 4096, 128, 128, kWorkspace},    {51200, 5120, 128, 256, kWorkspace},
      {3584, 18944, 128, 64, kPairs},        {18944, 3584, 128, 64, kWorkspace},
      {8192, 8192, 128, 128, kPairs},        {28672, 4096, 128, 256, kWhole},
      {8192, 8192, 64, 128, kPairs, 8},      {5120, 25600, 32, 128, kWorkspace, 8},
      {37888, 3584, 16, 128, kFirst},        {57344, 8192, 16, 256, kRowsInCommon},
      {18944, 3584, 32, 64, kFirst},         {22016, 4096, 32, 64, kFirst},
      {18944, 3584, 64, 64, kFirst},         {37888, 3584, 64, 128, kFirst},
      {24576, 4096, 64, 256, kRowsInCommon}, {10240, 8192, 64, 128, kWorkspace},
      {28672, 8192, 16, 256, kRowsInCommon}, {27648, 5120, 16, 256, kRowsInCommon},
      {18944, 3584, 32, 64, kFirst, 8},
  };
  for (const Cell& cell : cells) {
    GemmSpec spec = small_spec();
    spec.shape = {cell.n, cell.k, cell.m == 128 ? 97 : cell.m / 2 + 1, cell.m};
    spec.weight.bits = cell.bits;
    const GemmVariant v = variant_of(plan_of(spec, "h200").kernels.front());
    EXPECT_EQ(v.tile_n, cell.rows) << cell.n << " x " << cell.k << ", M = " << cell.m;
    const Way way = v.shares_first      ? kFirst
                    : v.shares_rows     ? kRowsInCommon
                    : v.shares_in_pairs ? kPairs
                    : v.shares_tiles    ? kWorkspace
                                        : kWhole;
    EXPECT_EQ(way, cell.way) << cell.n << " x " << cell.k << ", M = " << cell.m;
  }
}

// Every block has whole tiles behind its share, four more warps to add, and room for their sums.
TEST(WgmmaShares, FirstSharesComeBeforeWholeTiles) {
  GemmSpec spec = small_spec();
  spec.shape = {18944, 3584, 33, 64};
  const Plan plan = plan_of(spec, "h200");
  const GemmVariant& first = variant_of(plan.kernels.front());
  ASSERT_TRUE(first.shares_first);
  EXPECT_EQ(first.threads(), 512);
  EXPECT_EQ(wgmma_shares(first, plan.layout, 40).workers, 132);
  EXPECT_EQ(wgmma_shares(first, plan.layout, 40).shared_tiles, 296 - 2 * 132);
  GemmVariant last = first;
  wgmma_share_first(plan.spec.gemm(), plan.target, plan.layout, false, last);
  EXPECT_EQ(last.threads(), 384);
  EXPECT_LT(last.shared_bytes, first.shared_bytes);
  // Nothing is left over, there is no whole round, too many tokens, a split of the user's, or
  // stages of theirs that leave no room.
  const auto shares_first = [&](std::int64_t n, std::int64_t m_max) {
    spec.shape = {n, 3584, m_max / 2 + 1, m_max};
    return variant_of(plan_of(spec, "h200").kernels.front()).shares_first;
  };
  EXPECT_FALSE(shares_first(2 * 132 * 64, 64));
  EXPECT_FALSE(shares_first(4096, 64));
  EXPECT_FALSE(shares_first(18944, 128));
  spec.path = Path::kHopper;
  spec.tile.n = 64;
  spec.tile.k = 256;
  EXPECT_TRUE(shares_first(18944, 64));
  spec.tile.stages = 5;
  EXPECT_TRUE(shares_first(18944, 64));
  spec.weight.group_size = 32;
  EXPECT_FALSE(shares_first(18944, 64));
  spec.tile.stages = 4;
  EXPECT_TRUE(shares_first(18944, 64));
  spec.tile.split_k = 1;
  EXPECT_FALSE(shares_first(18944, 64));
}

// 224 pairs of row groups by four tiles of 256 tokens are three rounds of 66 pairs of blocks, and
// 26 tiles more, which make half a round if they are cut.
TEST(WgmmaShares, ManyTokensAreReadByPairsAndTheLastTilesCut) {
  GemmSpec spec = small_spec();
  spec.shape = {14336, 4096, 513, 8192};
  spec.weight.zero_point = ZeroPoint::kNone;
  const Plan plan = plan_of(spec, "h200");
  ASSERT_EQ(plan.kernels.size(), 1U);
  EXPECT_EQ(variant_of(plan.kernels[0]).tile_m, 256);
  EXPECT_EQ(variant_of(plan.kernels[0]).cluster, 2);
  const WgmmaShares shares = wgmma_shares(variant_of(plan.kernels[0]), plan.layout, 1024);
  EXPECT_EQ(shares.workers, 132);
  EXPECT_EQ(shares.cluster, 2);
  EXPECT_EQ(shares.shared_tiles, -26);
  EXPECT_EQ(plan.kernels[0].box_tokens, 128);
}

// Where 128 rows to a tile would leave half of the SMs idle, warpgroups share 64.
TEST(WgmmaShares, WarpgroupsShareTheRowsOfSmallMatrices) {
  GemmSpec spec = small_spec();
  spec.shape = {4096, 4096, 33, 256};
  spec.path = Path::kHopper;
  const Plan plan = plan_of(spec, "h200");
  for (const std::int64_t m : {64, 128}) {
    const GemmVariant& v = variant_at(plan, m);
    EXPECT_EQ(v.tile_n, 64);
    EXPECT_EQ(wgmma_shares(v, plan.layout, m).workers, 128);
    EXPECT_EQ(wgmma_shares(v, plan.layout, m).cluster, 2);
  }
  EXPECT_EQ(variant_at(plan, 256).tile_n, 128);
  spec.shape.m_min = 9;
  spec.shape.m_max = 32;
  spec.tile.n = 64;
  spec.tile.m = 16;
  EXPECT_NE(refusal(spec, "h200").find("/tile/n"), std::string::npos);
}

}  // namespace
}  // namespace heddle

// How the blocks of a GEMM with wgmma share its tiles.
#include "generator/families/warpgroup/shares.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "generator/families/shared_memory.h"
#include "generator/families/warpgroup/candidates.h"
#include "generator/operations/kernel_argument.h"
#include "tests/generator/planner/gemm_plans.h"
#include "tests/planned_kernel.h"

namespace heddle {
namespace {

std::vector<PlannedKernel> wgmma_kernels(const GemmSpec& spec) {
  return candidates_of(spec, "h200", is_wgmma);
}

// What the kernel computes from the two numbers: tiles that are not shared go to whole blocks, of
// the others every block gets at least one stage.
void expect_work_for_every_block(const Plan& plan, const PlannedKernel& kernel, std::int64_t m) {
  const auto& v = config_of<WarpgroupKernel>(kernel);
  const std::int64_t n = plan.spec.gemm().shape.n;
  const WgmmaShares shares = wgmma_shares(gemm_request(plan), v, m);
  // Blocks that share tokens count as one.
  const std::int64_t together = v.cluster;
  const std::int64_t set_rows = v.cluster_rows();
  const std::int64_t tiles = ceil_div(m, v.tile_m) * ceil_div(n, set_rows);
  const std::int64_t most = 132 / together;
  const std::int64_t workers = shares.workers / together;
  const std::int64_t stages = ceil_div(plan.layout.chunks_per_row_block, v.stage_chunks);
  const std::size_t workspace = kernel.family->workspace_bytes(plan, kernel, m);
  EXPECT_GE(shares.workers, 1);
  EXPECT_LE(shares.workers, 132);
  EXPECT_EQ(shares.workers % shares.cluster, 0);
  EXPECT_EQ(shares.cluster % v.cluster, 0);
  if (shares.shared_tiles == 0) {
    EXPECT_EQ(workers, std::min<std::int64_t>(tiles, most));
    EXPECT_EQ(workspace, 0U);
  } else {
    EXPECT_LE(shares.shared_tiles, tiles);
    EXPECT_EQ((tiles - shares.shared_tiles) % workers, 0);
    EXPECT_LT(shares.shared_tiles, workers);
    EXPECT_GE(shares.shared_tiles * stages, workers);
    if (shares.sums_in_cluster) {
      // Each cluster has a tile of its own, and no other place for the sums.
      EXPECT_TRUE(v.shares_in_pairs());
      EXPECT_EQ(shares.workers, tiles * shares.cluster);
      EXPECT_EQ(shares.shared_tiles, tiles);
      EXPECT_EQ(workspace, 0U);
      return;
    }
    // A counter for each warpgroup, two places for each block.
    EXPECT_LE(4 * v.warpgroups * shares.shared_tiles * v.cluster, kWorkspaceCounterBytes);
    EXPECT_EQ(workspace, static_cast<std::size_t>(kWorkspaceCounterBytes +
                                                  2 * 4 * v.workers * v.tile_m * v.tile_n));
    EXPECT_LE(workspace, kernel.family->max_workspace_bytes(plan, kernel));
  }
}

TEST(WgmmaShares, GiveEveryBlockWork) {
  for (const std::int64_t n : {8, 1000, 4096, 8192, 18944, 28672, 57344}) {
    for (const std::int64_t k : {32, 128, 896, 8192}) {
      std::int64_t first = 9;
      for (const std::int64_t last : {16, 32, 64, 128, 256, 8192}) {
        GemmSpec spec = small_spec();
        spec.shape = {n, k, first, last};
        spec.weight.group_size = 32;
        const Plan plan = unplanned(spec, target_from_name("h200"));
        for (const PlannedKernel& kernel : wgmma_kernels(spec)) {
          SCOPED_TRACE(fmt::format("{} x {}, M {} to {}", n, k, first, last));
          for (const std::int64_t m : {first, (first + last) / 2, last}) {
            expect_work_for_every_block(plan, kernel, m);
          }
        }
        first = last + 1;
      }
    }
  }
}

// The blocks of a pair add their sums in shared memory.
TEST(WgmmaShares, PairsNeedNoWorkspace) {
  bool has_pairs = false;
  GemmSpec spec = small_spec();
  spec.shape = {4096, 8192, 33, 64};
  const Plan plan = unplanned(spec, target_from_name("h200"));
  for (const PlannedKernel& kernel : wgmma_kernels(spec)) {
    const auto& v = config_of<WarpgroupKernel>(kernel);
    const WgmmaShares shares = wgmma_shares(gemm_request(plan), v, 64);
    if (!shares.sums_in_cluster) continue;
    has_pairs = true;
    EXPECT_FALSE(shares.needs_workspace());
    EXPECT_EQ(shares.cluster, 2);
  }
  EXPECT_TRUE(has_pairs);
}

// Whatever is predicted to be faster, a table may have measured the other.
TEST(WgmmaShares, TilesOfAllTokensAreOfferedAloneAndInParts) {
  GemmSpec spec = small_spec();
  spec.shape = {28672, 8192, 9, 16};
  std::map<std::pair<int, int>, std::set<bool>> ways;  // of tiles of so many rows by columns
  for (const PlannedKernel& kernel : candidates_of(spec, "h100", is_wgmma)) {
    const auto& v = config_of<WarpgroupKernel>(kernel);
    ways[{v.tile_n, v.stage_chunks}].insert(v.shares_tiles() && !v.shares_in_pairs());
  }
  ASSERT_FALSE(ways.empty());
  for (const auto& [tile, shared] : ways) {
    EXPECT_EQ(shared, (std::set<bool>{false, true})) << tile.first << " rows, " << tile.second;
  }
}

// Blocks that share tiles read other columns than their neighbours. 102 MB of tokens would come
// from memory for each tile: 1600 x 24832, M = 2048 took 489 us on an H100, not 271.
TEST(WgmmaShares, TokensBeyondTheL2CacheAreReadTogether) {
  GemmSpec spec = small_spec();
  spec.shape = {1600, 24832, 385, 8192};
  const Plan plan = unplanned(spec, target_from_name("h100"));
  Plan of_large_cache = plan;
  of_large_cache.target.l2_bytes = std::int64_t{1} << 40;
  bool has_tile = false;
  for (const PlannedKernel& kernel : candidates_of(spec, "h100", is_wgmma)) {
    const auto& v = config_of<WarpgroupKernel>(kernel);
    if (v.tile_m != 256 || v.tile_n != 128 || v.cluster != 1 || v.half_stages) continue;
    has_tile = true;
    // A whole band of tokens, and a tile more than that: the last wave has tiles of both bands.
    for (const std::int64_t m : {2048, 2304}) {
      EXPECT_EQ(wgmma_shares(gemm_request(plan), v, m).shared_tiles, 0) << m;
      EXPECT_GT(wgmma_shares(gemm_request(of_large_cache), v, m).shared_tiles, 0) << m;
    }
  }
  EXPECT_TRUE(has_tile);
}

// Tiles of all tokens are shared in the one way that the kernel is made for, whatever would be
// faster with fewer tokens; pairs are launched as clusters, and nothing else is.
TEST(WgmmaShares, OneTileOfTokensIsSharedAsItsKernelIsMade) {
  std::set<std::pair<bool, bool>> ways;
  for (const std::int64_t n : {2560, 4096, 8192, 10240, 14336, 28672}) {
    for (const std::int64_t k : {5120, 8192}) {
      std::int64_t first = 9;
      for (const std::int64_t last : {16, 32, 64, 128, 256}) {
        GemmSpec spec = small_spec();
        spec.shape = {n, k, first, last};
        spec.weight.group_size = 128;
        spec.weight.zero_point = ZeroPoint::kInt;
        const Plan plan = unplanned(spec, target_from_name("h100"));
        for (const PlannedKernel& kernel : candidates_of(spec, "h100", is_wgmma)) {
          const auto& v = config_of<WarpgroupKernel>(kernel);
          if (!v.has_one_token_tile()) continue;
          ways.insert({v.shares_tiles(), v.shares_in_pairs()});
          for (std::int64_t m = first; m <= last; ++m) {
            SCOPED_TRACE(fmt::format("{} x {}, M {} of {} to {}", n, k, m, first, last));
            const WgmmaShares shares = wgmma_shares(gemm_request(plan), v, m);
            ASSERT_EQ(shares.sums_in_cluster, v.shares_in_pairs());
            ASSERT_EQ(shares.cluster, v.shares_in_pairs() ? 2 : v.cluster);
            ASSERT_EQ(shares.shared_tiles > 0, v.shares_tiles());
          }
        }
        first = last + 1;
      }
    }
  }
  EXPECT_EQ(ways, (std::set<std::pair<bool, bool>>{{false, false}, {true, false}, {true, true}}));
}

// More tiles of tokens may be shared in any way, as their number wants.
TEST(WgmmaShares, SeveralTilesOfTokensAreSharedInAnyWay) {
  GemmSpec spec = small_spec();
  spec.shape = {4096, 4096, 600, 2000};
  spec.tile.m = 128;
  spec.tile.n = 128;
  spec.path = Path::kHopper;
  EXPECT_TRUE(config_of<WarpgroupKernel>(plan_of(spec, "h200").kernels.front()).shares_in_pairs());
}

// Pairs read the tokens of neighbouring tiles of 128 rows once; boxes are half of a tile's tokens.
TEST(WgmmaShares, ManyTokensAreReadByPairs) {
  GemmSpec spec = small_spec();
  spec.shape = {14336, 4096, 513, 8192};
  const Plan plan = unplanned(spec, target_from_name("h200"));
  bool has_pairs = false;
  for (const PlannedKernel& kernel : wgmma_kernels(spec)) {
    const auto& v = config_of<WarpgroupKernel>(kernel);
    if (v.tile_m != 256) continue;
    EXPECT_EQ(kernel.box_tokens, 128);
    const WgmmaShares shares = wgmma_shares(gemm_request(plan), v, 1024);
    has_pairs = has_pairs || v.cluster == 2;
    if (v.cluster == 2) {
      EXPECT_EQ(shares.cluster, 2);
    }
  }
  EXPECT_TRUE(has_pairs);
}

}  // namespace
}  // namespace heddle

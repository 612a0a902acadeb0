// How the warps of a stream share the chunks of a row block.
#include "generator/families/stream/warps.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/generator/planner/gemm_plans.h"

namespace heddle {
namespace {

WeightLayout layout_of(int chunks, int bits) {
  GemmSpec spec = spec_of(8192, 128 * chunks);
  spec.weight.bits = bits;
  return weight_layout(spec);
}

TEST(StreamWarps, EveryWarpHasAChunkAndNoMoreThanABlockHolds) {
  for (int chunks = 1; chunks <= 240; ++chunks) {
    for (const int bits : {1, 2, 3, 4, 6, 8}) {
      for (const int split : {1, 2, 4, 8}) {
        if (split > chunks) continue;
        const WarpStages shares = choose_stream_warps({}, layout_of(chunks, bits), split);
        EXPECT_GE(shares.warps, 1);
        EXPECT_LE(shares.warps, std::min(kManyStreamWarps, chunks / split));
        EXPECT_GE(shares.chunks, 1);
        EXPECT_LE(shares.chunks, 8) << "they are unrolled";
        EXPECT_LE(shares.chunks, (chunks / split + shares.warps) / shares.warps);
      }
    }
  }
}

// Eight or twelve warps are as many for each part of an SM; stages of 4 bits are four chunks.
TEST(StreamWarps, HaveEqualSharesInWholeStagesWhereTheyCan) {
  for (int chunks = 32; chunks <= 240; ++chunks) {
    if (chunks % 32 != 0 && chunks % 48 != 0) continue;
    const WarpStages shares = choose_stream_warps({}, layout_of(chunks, 4), 1);
    EXPECT_EQ(chunks % (shares.warps * shares.chunks), 0) << chunks;
    EXPECT_EQ(shares.warps % 4, 0) << chunks;
  }
}

TEST(StreamWarps, AStageIsNoLongerThanAGoodCopyByMuch) {
  for (int chunks = 64; chunks <= 240; ++chunks) {
    for (const int bits : {2, 3, 4, 8}) {
      const WeightLayout layout = layout_of(chunks, bits);
      const WarpStages shares = choose_stream_warps({}, layout, 1);
      EXPECT_LE(shares.chunks * layout.chunk_bytes, 2 * kGoodCopyBytes) << chunks << ' ' << bits;
    }
  }
}

TEST(StreamWarps, TheUsersNumberStays) {
  TileSpec tile;
  for (const int warps : {1, 5, 16}) {
    tile.warps_k = warps;
    EXPECT_EQ(choose_stream_warps(tile, layout_of(64, 4), 1).warps, warps);
  }
}

}  // namespace
}  // namespace heddle

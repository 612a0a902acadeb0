// Streams: whom they serve, how their blocks share weights, and what of a spec's tile they refuse.
#include <gtest/gtest.h>

#include <algorithm>

#include "generator/families/shared_memory.h"
#include "heddle/inspect/source.h"
#include "tests/generator/planner/gemm_plans.h"
#include "tests/planned_kernel.h"

namespace heddle {
namespace {

using device::StreamConfig;

GemmSpec with_tokens(std::int64_t n, std::int64_t k, std::int64_t m) {
  GemmSpec spec = spec_of(n, k);
  spec.shape.m_min = spec.shape.m_max = m;
  return spec;
}

std::vector<PlannedKernel> streams_of(const GemmSpec& spec, const char* target = "h200") {
  return candidates_of(spec, target, is_stream);
}

// The first kernel of a spec that streams serve.
StreamConfig first_of(const GemmSpec& spec) {
  return config_of<StreamConfig>(plan_of(spec, "h200").kernels.front());
}

TEST(Stream, ServesFewTokensWhereThereAreBulkCopies) {
  GemmSpec spec = with_tokens(4096, 4096, 4);
  for (const char* target : {"h200", "b200", "rtx5090"}) {
    EXPECT_FALSE(streams_of(spec, target).empty()) << target;
  }
  EXPECT_TRUE(streams_of(spec, "a100").empty());
  EXPECT_FALSE(streams_of(with_tokens(4096, 4096, 16)).empty());
  EXPECT_TRUE(streams_of(with_tokens(4096, 4096, 17)).empty());
  spec.weight.zero_point = ZeroPoint::kFloat;
  EXPECT_TRUE(streams_of(spec).empty());
}

TEST(Stream, TakesTheUsersTileOrSaysWhyNot) {
  GemmSpec spec = with_tokens(4096, 4096, 8);
  spec.path = Path::kAmpere;
  EXPECT_EQ(path_of(plan_of(spec, "h200").kernels.front()), Path::kAmpere);
  spec.path = Path::kHopper;
  EXPECT_NE(refusal(spec, "a100").find("/path"), std::string::npos);
  spec.tile.split_k = 3;
  EXPECT_EQ(first_of(spec).split_k, 3);
  spec.tile.warps_k = 31;
  EXPECT_NE(refusal(spec, "h200").find("/tile"), std::string::npos);
  spec.tile = {};
  spec.tile.k = 4096;
  const StreamConfig c = first_of(spec);
  EXPECT_EQ(c.stage_chunks * c.warps_k, 4096 / device::Chunk::kColumns);
  spec.tile = {};
  spec.tile.stages = 3;
  EXPECT_EQ(first_of(spec).stages, 3);
  // Warps along N ask for tiles that bulk copies feed.
  spec.tile = {};
  spec.tile.warps_n = 1;
  EXPECT_TRUE(streams_of(spec).empty());
  EXPECT_FALSE(candidates_of(spec, "h200", is_bulk).empty());
  EXPECT_EQ(refused_fields(Spec::from_gemm(spec), "b200"), Pointers{"/tile/warps_n"});
  spec.tile = {};
  spec.weight.zero_point = ZeroPoint::kFloat;
  EXPECT_NE(refusal(spec, "h200").find("float zero points"), std::string::npos);
}

TEST(Stream, TheBlocksOfAClusterShareKWithoutAWorkspace) {
  GemmSpec spec = with_tokens(2240, 8192, 8);
  spec.path = Path::kHopper;
  for (const int split : {1, 2, 4, 8}) {
    spec.tile.split_k = split;
    const Plan plan = plan_of(spec, "h200");
    EXPECT_EQ(plan.max_workspace_bytes(), 0U);
    EXPECT_EQ(plan.launch(0, {8}).cluster, static_cast<unsigned>(split));
  }
}

// A block for each SM, row blocks or not, but for larger clusters, of which some SMs have none.
TEST(Stream, BlocksAreWholeClustersAndAtMostOneForEachSm) {
  for (const std::int64_t n : {8, 512, 1536, 8192, 57344}) {
    for (const std::int64_t k : {1152, 2304, 8192, 28672}) {
      for (const std::int64_t m : {1, 8, 16}) {
        for (const PlannedKernel& kernel : streams_of(with_tokens(n, k, m))) {
          const auto& v = config_of<StreamConfig>(kernel);
          EXPECT_EQ(v.workers % v.cluster, 0);
          EXPECT_EQ(v.workers % v.split_k, 0);
          EXPECT_LE(v.workers, 132);
          if (v.cluster == 1) {
            EXPECT_EQ(v.workers, 132);
          }
          EXPECT_TRUE(v.cluster == v.split_k || (v.cluster == 2 && v.split_k == 1));
          EXPECT_EQ(kernel.threads, 32 * (v.warps_k + 1)) << "one adds";
        }
      }
    }
  }
}

// A block leaves no room for a second one on its SM.
TEST(Stream, ABlockHasAnSmToItself) {
  for (const char* name : {"h200", "rtx5090"}) {
    const Target target = target_from_name(name);
    for (const std::int64_t k : {896, 1536, 4096, 14336, 28672}) {
      for (const std::int64_t m : {1, 4, 8, 16}) {
        for (const PlannedKernel& kernel : streams_of(with_tokens(2240, k, m), name)) {
          EXPECT_EQ(kernel.blocks_per_sm, 1);
          EXPECT_GT(2 * (kernel.shared_bytes + kReservedSharedBytes), target.shared_per_sm);
          EXPECT_LE(kernel.shared_bytes, target.shared_per_block);
        }
      }
    }
  }
}

// Tokens that do not fit into the shared memory beside the ring are shared out with K.
TEST(Stream, LongRowsOfManyTokensAreSplit) {
  const GemmSpec spec = with_tokens(2240, 28672, 8);
  const std::vector<PlannedKernel> streams = streams_of(spec);
  ASSERT_FALSE(streams.empty());
  for (const PlannedKernel& one : streams) EXPECT_GT(config_of<StreamConfig>(one).split_k, 1);
  // No clusters there.
  EXPECT_TRUE(streams_of(spec, "rtx5090").empty());
}

// More tokens than a block reads for itself are read by two of a cluster.
TEST(Stream, SixteenTokensAreReadTogether) {
  for (const PlannedKernel& kernel : streams_of(with_tokens(37888, 2048, 16))) {
    const auto& v = config_of<StreamConfig>(kernel);
    EXPECT_EQ(v.tokens, 16);
    EXPECT_GE(v.cluster, 2);
  }
}

TEST(Stream, ServesTheShortestRows) { EXPECT_FALSE(streams_of(with_tokens(4096, 896, 8)).empty()); }

}  // namespace
}  // namespace heddle

// Kernels of layers of experts by streams: what they serve, their launches and their places.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "config/workspace.h"
#include "generator/families/all.h"
#include "generator/families/configuration.h"
#include "generator/families/family.h"
#include "stream_experts/config.h"
#include "tests/generator/families/expert_plans.h"

namespace heddle {
namespace {

using device::MoePhase;
using device::SegmentPlaces;
using device::StreamExpertsConfig;

constexpr const char* kCards[] = {"h100", "h200", "b200", "thor", "sm_120"};
constexpr std::int64_t kSizes[] = {1, 8, 32, 64, 100};

bool is_streamed(const MoeSpec& spec, const char* target, std::int64_t tokens) {
  return stream_experts_family()
      ->exclusions(Spec::from_moe(spec), target_from_name(target), {tokens, tokens})
      .empty();
}

template <class Check>
void for_every_stream(const Check& check) {
  int count = 0;
  for (const char* target : kCards) {
    for (auto [name, spec] : expert_layers()) {
      spec.shape.tokens_min = 1;
      const Plan plan = layer_plan(spec, target);
      for (const std::int64_t tokens : kSizes) {
        if (!is_streamed(spec, target, tokens)) continue;
        SCOPED_TRACE(fmt::format("{} on {}, {} tokens", name, target, tokens));
        for (const PlannedKernel& kernel :
             stream_experts_family()->candidates(plan, {tokens, tokens})) {
          SCOPED_TRACE(kernel.family->label(kernel));
          ASSERT_NO_FATAL_FAILURE(check(plan, kernel, config_of<StreamExpertsConfig>(kernel)));
          ++count;
        }
      }
    }
  }
  EXPECT_GT(count, 500);
}

TEST(StreamExperts, ServesExpertsWithFewRowsFromSm90On) {
  const MoeSpec spec = small_expert_layer();  // 4 of 32 experts
  for (const char* target : kCards) {
    EXPECT_TRUE(is_streamed(spec, target, 1)) << target;
    EXPECT_TRUE(is_streamed(spec, target, 190)) << target << ", 23.8 rows each";
    EXPECT_FALSE(is_streamed(spec, target, 195)) << target << ", 24.4 rows each";
  }
  for (const char* target : {"sm_80", "sm_89"})
    EXPECT_FALSE(is_streamed(spec, target, 1)) << target;
}

// Blocks keep all choices in shared memory.
TEST(StreamExperts, ServesUpTo1024Choices) {
  MoeSpec spec = small_expert_layer();
  spec.shape.experts = 256;
  spec.shape.top_k = 8;
  EXPECT_TRUE(is_streamed(spec, "h200", 128));
  EXPECT_FALSE(is_streamed(spec, "h200", 129));
}

TEST(StreamExperts, ServesWeightsThatStreamsServe) {
  MoeSpec spec = small_expert_layer();
  spec.down.zero_point = ZeroPoint::kFloat;
  EXPECT_FALSE(is_streamed(spec, "h200", 8));
  spec.down.zero_point = ZeroPoint::kInt;
  EXPECT_TRUE(is_streamed(spec, "h200", 8));
  spec.routing_weight = RoutingWeight::kInput;
  EXPECT_TRUE(is_streamed(spec, "h200", 8)) << "an expert that a token names twice has two rows";
}

TEST(StreamExperts, LaunchesGateUpDownAndTheSum) {
  for_every_stream([](const Plan& plan, const PlannedKernel& kernel, const StreamExpertsConfig& c) {
    const bool chooses = plan.spec.moe().router.chooses();
    std::vector<MoePhase> phases = {MoePhase::kGateUp, MoePhase::kDown, MoePhase::kSum};
    if (chooses) phases.insert(phases.begin(), MoePhase::kChoose);
    ASSERT_EQ(kernel.phases, static_cast<int>(phases.size()));
    ASSERT_TRUE(kernel.starts_early);
    for (int phase = 0; phase < kernel.phases; ++phase) {
      LaunchSize size{kernel.size_max};
      size.phase = phase;
      const KernelLaunch launch = kernel.family->launch(plan, kernel, size);
      const MoePhase expected = phases[static_cast<std::size_t>(phase)];
      ASSERT_EQ(launch.schedule, static_cast<int>(expected));
      ASSERT_GE(launch.grid_x, 1U);
      // Segments are counted for as many blocks.
      ASSERT_LE(launch.grid_x, static_cast<unsigned>(c.gate_up.workers));
      const bool is_product = expected == MoePhase::kGateUp || expected == MoePhase::kDown;
      ASSERT_EQ(launch.shared_bytes > 0, is_product);
      if (is_product) {
        // Fewer blocks would have more segments than places for them.
        const auto& product = expected == MoePhase::kDown ? c.down : c.gate_up;
        const std::int64_t units = c.layer.most_tiles(kernel.size_max) * product.shape.row_blocks;
        ASSERT_GE(launch.grid_x, std::min<std::int64_t>(units, product.workers));
      }
      ASSERT_LE(launch.shared_bytes, kernel.shared_bytes);
    }
    ASSERT_LE(kernel.shared_bytes, plan.target.shared_per_block);
  });
}

TEST(StreamExperts, WarpsShareKAndPlacesDoNotOverlap) {
  for_every_stream([](const Plan& plan, const PlannedKernel& kernel, const StreamExpertsConfig& c) {
    ASSERT_EQ(c.gate_up.warps_k * c.gate_up_shares.groups, c.down.warps_k * c.down_shares.groups);
    const bool adds = c.gate_up.warps_k > 1 || c.down.warps_k > 1;
    ASSERT_EQ(kernel.threads, 32 * (c.warps() + (adds ? 3 : 1)));
    ASSERT_EQ(c.most_tokens, kernel.size_max);
    const device::i64 chosen = 4 * kernel.size_max * plan.spec.moe().shape.top_k;
    for (const auto* product : {&c.gate_up, &c.down}) {
      ASSERT_GE(product->shape.chunks, product->warps_k);
      ASSERT_EQ(product->tokens, c.layer.tile_rows);
      ASSERT_GE(product->stages, 2);
    }
    for (const SegmentPlaces& at : {c.gate_up_places(), c.down_places()}) {
      const std::vector<int> offsets = {0,         at.experts, at.choices, at.rows, at.chosen,
                                        at.tokens, at.sums,    at.ring,    at.bytes};
      ASSERT_TRUE(std::is_sorted(offsets.begin(), offsets.end()));
      ASSERT_GE(at.tokens - at.chosen, chosen);
      ASSERT_EQ(at.ring % 128, 0);
      ASSERT_EQ(at.warp_bytes % 128, 0);
    }
  });
}

// A block has a run of row blocks, which are not more than the blocks share out.
TEST(StreamExperts, ABlockHasRoomForItsSegments) {
  for_every_stream([](const Plan&, const PlannedKernel& kernel, const StreamExpertsConfig& c) {
    for (const auto* product : {&c.gate_up, &c.down}) {
      for (std::int64_t tiles = 1; tiles <= c.layer.most_tiles(kernel.size_max); ++tiles) {
        const std::int64_t units = tiles * product->shape.row_blocks;
        std::int64_t most = 0;
        for (std::int64_t block = 0; block < product->workers; ++block) {
          const std::int64_t begin = units * block / product->workers;
          const std::int64_t end = units * (block + 1) / product->workers;
          if (begin == end) continue;
          const std::int64_t last = (end - 1) / product->shape.row_blocks;
          most = std::max(most, last - begin / product->shape.row_blocks + 1);
        }
        ASSERT_LE(most, c.most_segments(*product)) << tiles << " tiles";
        if (tiles > 64) tiles += 15;
      }
    }
  });
}

// What launches give each other lies behind the counters of other kernels, and nothing of it in one
// place.
TEST(StreamExperts, TheWorkspaceHasRoomForEachAssignment) {
  for_every_stream([](const Plan& plan, const PlannedKernel& kernel, const StreamExpertsConfig& c) {
    const MoeShape& shape = plan.spec.moe().shape;
    const std::int64_t tokens = kernel.size_max;
    const std::int64_t assignments = tokens * shape.top_k;
    ASSERT_GE(c.middle_offset(tokens), device::Workspace::kCounterBytes);
    ASSERT_GE(c.middle_offset(tokens), c.layer.router.end_offset(assignments));
    ASSERT_GE(c.outputs_offset(tokens),
              c.middle_offset(tokens) + 2 * assignments * shape.intermediate);
    ASSERT_EQ(c.middle_offset(tokens) % 16, 0);
    ASSERT_EQ(c.outputs_offset(tokens) % 16, 0);
    const auto bytes =
        static_cast<std::int64_t>(kernel.family->reserved_workspace_bytes(plan, kernel, tokens));
    ASSERT_GE(bytes, c.outputs_offset(tokens) + 4 * assignments * shape.hidden);
  });
}

// With few rows for each of many experts no other family reads their weights as fast.
TEST(StreamExperts, IsChosenForSomeTokensOfPublishedLayers) {
  for (const auto& [name, spec] : expert_layers()) {
    if (name != "many experts" && name != "MXFP4") continue;
    const Plan plan = layer_plan(spec);
    const PlannedKernel& kernel = plan.kernels[plan.kernel_for(16)];
    EXPECT_EQ(kernel.family->name(), "stream_experts") << name;
    EXPECT_NE(plan.kernels.back().family->name(), "stream_experts") << name;
  }
}

}  // namespace
}  // namespace heddle

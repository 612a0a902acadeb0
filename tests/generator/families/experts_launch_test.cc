// The launches of a layer of experts are those of its phases, and the workspace has room for what
// they give each other.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "config/workspace.h"
#include "experts/config.h"
#include "heddle/inspect/plan.h"
#include "tests/generator/families/expert_plans.h"

namespace heddle {
namespace {

using device::ceil_div;
using device::MoePhase;

// The phases of a kernel's launches.
std::vector<MoePhase> phases_of(const PlannedKernel& kernel) {
  std::vector<MoePhase> phases;
  const device::ExpertLayer& layer = layer_of(kernel);
  const std::string_view family = kernel.family->name();
  if (family != "few_experts" && family != "stream_experts") {
    for (int launch = 0; launch < layer.phases(); ++launch) phases.push_back(layer.phase(launch));
    return phases;
  }
  if (layer.router.chooses()) phases.push_back(MoePhase::kChoose);
  phases.insert(phases.end(), {MoePhase::kGateUp, MoePhase::kDown});
  if (family == "stream_experts") phases.push_back(MoePhase::kSum);
  return phases;
}

// A choice comes first where there are logits.
TEST(ExpertsLaunch, HasThePhasesThatTheLayerNeeds) {
  using enum MoePhase;
  device::ExpertLayer layer{};
  EXPECT_EQ(layer.phases(), 4);
  EXPECT_EQ(layer.phase(0), kRoute);
  EXPECT_EQ(layer.phase(3), kSum);
  layer.router.scores = RouterScores::kSoftmax;
  EXPECT_EQ(layer.phases(), 5);
  EXPECT_EQ(layer.phase(0), kChoose);
  EXPECT_EQ(layer.phase(1), kRoute);
  EXPECT_EQ(layer.phase(4), kSum);
}

// A grid of no more blocks than are resident, or than there is work for; each is told its phase.
TEST(ExpertsLaunch, LaunchesThePhasesInOrder) {
  for (const char* target : kExpertTargets) {
    for (const auto& [name, spec] : expert_layers()) {
      const Plan plan = layer_plan(spec, target);
      for (const std::int64_t tokens : some_tokens(plan)) {
        SCOPED_TRACE(fmt::format("{} on {}, {} tokens", name, target, tokens));
        const std::size_t index = plan.kernel_for(tokens);
        const PlannedKernel& kernel = plan.kernels[index];
        const std::vector<MoePhase> phases = phases_of(kernel);
        ASSERT_EQ(kernel.phases, static_cast<int>(phases.size()));
        for (int phase = 0; phase < kernel.phases; ++phase) {
          LaunchSize size{tokens};
          size.phase = phase;
          const KernelLaunch launch = plan.launch(index, size);
          ASSERT_EQ(launch.schedule, static_cast<int>(phases[static_cast<std::size_t>(phase)]));
          ASSERT_GE(launch.grid_x, 1U);
          ASSERT_EQ(launch.grid_y, 1U);
          ASSERT_EQ(launch.grid_z, 1U);
          ASSERT_LE(launch.grid_x,
                    static_cast<unsigned>(plan.target.sm_count * kernel.blocks_per_sm));
          ASSERT_GE(launch.shared_bytes, 0);
          ASSERT_LE(launch.shared_bytes, kernel.shared_bytes)
              << "more than the driver was asked for";
        }
      }
    }
  }
}

// One for each expert; and one token of one expert has no more tiles than rows of weights.
TEST(ExpertsLaunch, LaunchesNoBlocksWithoutWork) {
  MoeSpec spec = small_expert_layer();
  spec.router.scores = RouterScores::kSoftmax;
  const Plan plan = layer_plan(spec, "sm_80");
  const PlannedKernel& kernel = plan.kernels.front();
  const device::ExpertLayer& layer = layer_of(kernel);
  const std::vector<MoePhase> phases = phases_of(kernel);
  const MoeGemms gemms = moe_gemms(spec);
  constexpr std::int64_t kFewestTileRows = 16;
  for (int phase = 0; phase < kernel.phases; ++phase) {
    LaunchSize size{1};
    size.phase = phase;
    const auto blocks = static_cast<std::int64_t>(plan.launch(0, size).grid_x);
    switch (phases[static_cast<std::size_t>(phase)]) {
      case MoePhase::kChoose:
        EXPECT_EQ(blocks, 1);
        break;
      case MoePhase::kRoute:
        EXPECT_EQ(blocks, layer.local_experts);
        break;
      case MoePhase::kGateUp:
        EXPECT_LE(blocks, layer.top_k * gemms.gate_up.shape.n / kFewestTileRows);
        break;
      case MoePhase::kDown:
        EXPECT_LE(blocks, layer.top_k * gemms.down.shape.n / kFewestTileRows);
        break;
      case MoePhase::kSum:
        EXPECT_EQ(blocks, ceil_div(layer.hidden, layer.sum_columns(kernel.threads)))
            << "one for each warp with work";
        break;
    }
  }
}

// What the launches give each other lies behind the counters of other kernels, and nothing of it in
// one place.
TEST(ExpertsLaunch, TheWorkspaceHasRoomForAll) {
  for (const auto& [name, spec] : expert_layers()) {
    const Plan plan = layer_plan(spec);
    for (const std::int64_t tokens : some_tokens(plan)) {
      SCOPED_TRACE(fmt::format("{}, {} tokens", name, tokens));
      const PlannedKernel& kernel = plan.kernels[plan.kernel_for(tokens)];
      const std::vector<MoePhase> phases = phases_of(kernel);
      // few_experts_test.cc and stream_experts_test.cc see to kernels without that launch.
      if (std::count(phases.begin(), phases.end(), MoePhase::kRoute) == 0) continue;
      const device::ExpertLayer& c = layer_of(kernel);
      const std::int64_t rows = tokens * spec.shape.top_k;
      const struct {
        device::i64 offset, bytes;
      } parts[] = {
          {c.router.ids_offset(), c.router.chooses() ? 4 * rows : 0},
          {c.router.weights_offset(rows), c.router.chooses() ? 4 * rows : 0},
          {c.tiles_offset(tokens), c.kListOffset + 16 * c.most_tiles(tokens)},
          {c.assignments_offset(tokens), 4 * c.most_rows(tokens)},
          {c.rows_offset(tokens), 4 * rows},
          {c.gathered_offset(tokens), c.gathers ? 2 * c.most_rows(tokens) * spec.shape.hidden : 0},
          {c.middle_offset(tokens), 2 * c.most_rows(tokens) * spec.shape.intermediate},
          {c.outputs_offset(tokens), 4 * c.most_rows(tokens) * spec.shape.hidden}};
      device::i64 end = device::Workspace::kCounterBytes;
      for (const auto& [offset, bytes] : parts) {
        if (bytes == 0) continue;
        ASSERT_GE(offset, end);
        ASSERT_EQ(offset % 16, 0);
        end = offset + bytes;
      }
      const std::size_t workspace = plan.workspace_bytes(tokens);
      ASSERT_GE(workspace, static_cast<std::size_t>(end));
      ASSERT_LE(workspace, plan.max_workspace_bytes());
    }
  }
}

// Of a token that a router chooses experts for, each expert of this device has one row at most; an
// id that a caller names twice has two.
TEST(ExpertsLaunch, TheWorkspaceHasNoRowsThatARouterCannotFill) {
  MoeSpec spec = small_expert_layer();
  spec.shape.local_experts = 3;
  spec.shape.top_k = 8;
  const auto most_rows = [&](std::int64_t tokens) {
    return layer_of(layer_plan(spec).kernels.front()).most_rows(tokens);
  };
  EXPECT_EQ(most_rows(10), 80);
  spec.router.scores = RouterScores::kSoftmax;
  EXPECT_EQ(most_rows(10), 30);
  spec.shape.local_experts = 9;
  EXPECT_EQ(most_rows(10), 80);
}

}  // namespace
}  // namespace heddle

// Layers of experts for few tokens: which are served, and what their two launches ask for.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "config/workspace.h"
#include "few_experts/config.h"
#include "generator/families/all.h"
#include "generator/families/configuration.h"
#include "generator/families/family.h"
#include "tests/generator/families/expert_plans.h"

namespace heddle {
namespace {

using device::FewExpertsConfig;
using device::FewPlaces;
using device::MoePhase;

constexpr int kReserved = 1024;  // bytes of shared memory that CUDA takes of each block
constexpr const char* kTargets[] = {"h100", "h200", "b200", "thor", "sm_120"};

bool serves(const MoeSpec& spec, const char* target, std::int64_t tokens) {
  const Family& family = *few_experts_family();
  return family.exclusions(Spec::from_moe(spec), target_from_name(target), {tokens, tokens})
      .empty();
}

// Every candidate of every layer, for 1, 2, 8, 9 and 16 tokens.
template <class Check>
void for_every_candidate(const Check& check) {
  for (const char* target : kTargets) {
    for (auto [name, spec] : expert_layers()) {
      spec.shape.tokens_min = 1;
      const Plan plan = layer_plan(spec, target);
      for (const std::int64_t tokens : {1, 2, 8, 9, 16}) {
        if (!serves(spec, target, tokens)) continue;
        SCOPED_TRACE(fmt::format("{} on {}, {} tokens", name, target, tokens));
        for (const PlannedKernel& kernel :
             few_experts_family()->candidates(plan, {tokens, tokens})) {
          SCOPED_TRACE(kernel.family->label(kernel));
          ASSERT_NO_FATAL_FAILURE(check(plan, kernel, config_of<FewExpertsConfig>(kernel)));
        }
      }
    }
  }
}

TEST(FewExperts, ServesUpToSixteenTokensFromSm90On) {
  for (const auto& [name, spec] : expert_layers()) {
    SCOPED_TRACE(name);
    const bool has_float_zeros =
        spec.gate_up.zero_point == ZeroPoint::kFloat || spec.down.zero_point == ZeroPoint::kFloat;
    const bool weighs_input = spec.routing_weight == RoutingWeight::kInput;
    const bool is_served = !has_float_zeros && !weighs_input;
    for (const char* target : kTargets) {
      EXPECT_EQ(serves(spec, target, 1), is_served) << target;
      EXPECT_EQ(serves(spec, target, 16), is_served) << target;
      EXPECT_FALSE(serves(spec, target, 17)) << target;
    }
    for (const char* target : {"sm_80", "sm_89"}) EXPECT_FALSE(serves(spec, target, 1)) << target;
  }
}

// An expert that a token names twice has one row: two weights of what it takes would need two. A
// router names none twice.
TEST(FewExperts, WeighsTheInputOfExpertsThatNoTokenNamesTwice) {
  MoeSpec spec = small_expert_layer();
  spec.routing_weight = RoutingWeight::kInput;
  spec.shape.top_k = 2;
  EXPECT_FALSE(serves(spec, "h200", 1));
  spec.router.scores = RouterScores::kSigmoid;
  EXPECT_TRUE(serves(spec, "h200", 1));
  spec.router = {};
  spec.shape.top_k = 1;
  EXPECT_TRUE(serves(spec, "h200", 1));
}

// On cards with 227 KB for a block, layers of published models.
TEST(FewExperts, HasKernelsForOneAndForSixteenTokens) {
  for (const auto& [name, spec] : expert_layers()) {
    if (!serves(spec, "h200", 1)) continue;
    const Plan plan = layer_plan(spec);
    for (const std::int64_t tokens : {1, 8, 16}) {
      EXPECT_FALSE(few_experts_family()->candidates(plan, {tokens, tokens}).empty())
          << name << ", " << tokens << " tokens";
    }
  }
}

// Behind the choice, where there are logits.
TEST(FewExperts, LaunchesGateUpThenDown) {
  for_every_candidate([](const Plan& plan, const PlannedKernel& kernel, const FewExpertsConfig& c) {
    const bool chooses = plan.spec.moe().router.chooses();
    ASSERT_EQ(kernel.phases, chooses ? 3 : 2);
    ASSERT_TRUE(kernel.starts_early);
    for (int phase = 0; phase < kernel.phases; ++phase) {
      LaunchSize size{kernel.size_max};
      size.phase = phase;
      const KernelLaunch launch = kernel.family->launch(plan, kernel, size);
      const bool is_choice = chooses && phase == 0;
      const bool is_down = phase == kernel.phases - 1;
      ASSERT_EQ(launch.schedule, static_cast<int>(is_choice ? MoePhase::kChoose
                                                  : is_down ? MoePhase::kDown
                                                            : MoePhase::kGateUp));
      ASSERT_GE(launch.grid_x, 1U);
      ASSERT_LE(launch.grid_x, static_cast<unsigned>(plan.target.sm_count));
      ASSERT_EQ(launch.grid_x % launch.cluster, 0U);
      ASSERT_EQ(launch.cluster, static_cast<unsigned>(is_down ? c.down.split_k : 1));
      ASSERT_LE(launch.shared_bytes, kernel.shared_bytes);
    }
    ASSERT_LE(kernel.shared_bytes, plan.target.shared_per_block);
  });
}

// Blocks of both launches fit on an SM where the registers are those of two blocks; else an SM has
// room for one of either.
TEST(FewExperts, SharesAnSmWhereItSaysSo) {
  for_every_candidate([](const Plan& plan, const PlannedKernel& kernel, const FewExpertsConfig& c) {
    const int both = c.gate_up_shared_bytes() + c.down_shared_bytes() + 2 * kReserved;
    if (kernel.blocks_per_sm == 2) {
      ASSERT_LE(both, plan.target.shared_per_sm);
      ASSERT_LE(2 * kernel.threads, plan.target.threads_per_sm);
    } else {
      ASSERT_GT(2 * (c.down_shared_bytes() + kReserved), plan.target.shared_per_sm);
    }
    ASSERT_GT(2 * (c.gate_up_shared_bytes() + kReserved), plan.target.shared_per_sm);
  });
}

TEST(FewExperts, EveryWarpHasChunksAndPlacesDoNotOverlap) {
  for_every_candidate([](const Plan&, const PlannedKernel& kernel, const FewExpertsConfig& c) {
    ASSERT_EQ(c.gate_up.warps_k * c.gate_up_shares.groups, c.down.warps_k * c.down_shares.groups);
    ASSERT_EQ(kernel.threads, 32 * (c.warps() + c.kAdders));
    for (const auto* product : {&c.gate_up, &c.down}) {
      ASSERT_GE(product->shape.chunks / product->split_k, product->warps_k);
      ASSERT_GE(product->tokens, kernel.size_max);
      ASSERT_GE(product->stages, 2);
    }
    for (const FewPlaces& at : {c.gate_up_places(), c.down_places()}) {
      const std::vector<int> offsets = {0,       at.experts, at.choices,  at.ranks, at.tokens,
                                        at.sums, at.totals,  at.meetings, at.ring,  at.bytes};
      ASSERT_TRUE(std::is_sorted(offsets.begin(), offsets.end()));
      ASSERT_EQ(at.ring % 128, 0);
      ASSERT_EQ(at.warp_bytes % 128, 0);
    }
  });
}

// What the first launch gives the second one lies behind the counters of other kernels.
TEST(FewExperts, TheWorkspaceHasARowForEachAssignment) {
  for_every_candidate([](const Plan& plan, const PlannedKernel& kernel, const FewExpertsConfig& c) {
    const MoeShape& shape = plan.spec.moe().shape;
    ASSERT_GE(c.middle_row_bytes(), 2 * shape.intermediate);
    ASSERT_EQ(c.middle_row_bytes() % 256, 0) << "whole chunks";
    const std::size_t bytes =
        kernel.family->reserved_workspace_bytes(plan, kernel, kernel.size_max);
    ASSERT_GE(bytes,
              static_cast<std::size_t>(device::Workspace::kCounterBytes +
                                       kernel.size_max * shape.top_k * c.middle_row_bytes()));
  });
}

// A token in a launch of its own, and few of them, are what the family is for.
TEST(FewExperts, IsChosenForOneTokenOfPublishedLayers) {
  for (const auto& [name, spec] : expert_layers()) {
    if (name != "many experts" && name != "MXFP4") continue;
    const Plan plan = layer_plan(spec);
    EXPECT_EQ(plan.kernels.front().family->name(), "few_experts") << name;
    EXPECT_NE(plan.kernels.back().family->name(), "few_experts") << name;
    EXPECT_LE(plan.kernels.front().size_max, 16);
  }
}

}  // namespace
}  // namespace heddle

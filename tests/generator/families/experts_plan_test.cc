// How a layer of experts is planned: every number of tokens has a kernel. Holds no tile's size.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "experts/config.h"
#include "generator/families/family.h"
#include "generator/operations/moe/moe.h"
#include "generator/planner/choose.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "tests/generator/families/expert_plans.h"
#include "tests/generator/planner/plan_refusals.h"
#include "warpgroup_experts/config.h"

namespace heddle {
namespace {

TEST(ExpertsPlan, ServesEveryNumberOfTokens) {
  for (const char* target : kExpertTargets) {
    for (const auto& [name, spec] : expert_layers()) {
      SCOPED_TRACE(fmt::format("{} on {}", name, target));
      const Plan plan = layer_plan(spec, target);
      std::int64_t next = spec.shape.tokens_min;
      std::set<std::string> names;
      for (const PlannedKernel& kernel : plan.kernels) {
        ASSERT_EQ(kernel.size_min, next) << "a gap";
        ASSERT_GE(kernel.size_max, kernel.size_min);
        next = kernel.size_max + 1;
        ASSERT_TRUE(names.insert(kernel.name).second) << kernel.name;
        ASSERT_EQ(kernel.name.rfind("heddle_moe_", 0), 0U) << kernel.name;
        ASSERT_EQ(kernel.threads % 32, 0);
        ASSERT_LE(kernel.threads, 1024);
        ASSERT_LE(kernel.shared_bytes, plan.target.shared_per_block);
      }
      ASSERT_EQ(next, spec.shape.tokens_max + 1);
    }
  }
}

// Products of that many tiles are wider than any matrix.
TEST(ExpertsPlan, ServesAsManyTokensAsASpecMayHave) {
  for (const char* target : kExpertTargets) {
    SCOPED_TRACE(target);
    MoeSpec large;
    large.shape = {.hidden = 7168, .intermediate = 2048, .experts = 256, .top_k = 8};
    large.shape.tokens_max = (std::int64_t{1} << 30) / large.shape.top_k;
    EXPECT_EQ(layer_plan(large, target).kernels.back().size_max, large.shape.tokens_max);
    MoeSpec wide;
    wide.shape = {.hidden = 1 << 20, .intermediate = 1 << 20, .experts = 8, .top_k = 1};
    wide.shape.tokens_max = 1 << 24;
    EXPECT_EQ(layer_plan(wide, target).kernels.back().size_max, wide.shape.tokens_max);
  }
}

// More tokens take longer, and twice as many about twice as long once experts have whole tiles.
TEST(ExpertsPlan, TimesGrowWithTokens) {
  for (const char* target : kExpertTargets) {
    MoeSpec spec;
    spec.shape = {.hidden = 4096, .intermediate = 14336, .experts = 8, .top_k = 2};
    spec.shape.tokens_max = 1 << 22;
    const Plan plan = layer_plan(spec, target);
    const PlannedKernel& kernel = plan.kernels.back();
    double before = predicted_us(plan, kernel, kernel.size_max / 64);
    for (std::int64_t tokens = kernel.size_max / 32; tokens <= kernel.size_max; tokens *= 2) {
      const double us = predicted_us(plan, kernel, tokens);
      EXPECT_NEAR(us / before, 2, 0.1) << target << ", " << tokens << " tokens";
      before = us;
    }
  }
}

// Profilers show names: what makes two kernels of a layer differ is in them.
TEST(ExpertsPlan, NamesTellLayersApart) {
  MoeSpec plain;
  plain.shape = {.hidden = 256, .intermediate = 128, .experts = 8, .top_k = 2};
  std::vector<MoeSpec> layers(6, plain);
  layers[1].epilogue.bias = true;
  layers[2].epilogue.residual = true;
  layers[3].epilogue.activation = Activation::kRelu2;
  layers[4].routing_weight = RoutingWeight::kInput;
  layers[5].shape.local_experts = 4;
  std::set<std::string> names;
  for (const MoeSpec& spec : layers) {
    const std::string name = layer_plan(spec, "sm_80").kernels.front().name;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

// A tuned table names a candidate by its label.
TEST(ExpertsPlan, LabelsTellCandidatesApart) {
  for (const char* target : kExpertTargets) {
    for (const auto& [name, spec] : expert_layers()) {
      const Plan plan = layer_plan(spec, target);
      for (const PlannedKernel& kernel : plan.kernels) {
        SCOPED_TRACE(fmt::format("{} on {}, {} tokens", name, target, kernel.size_max));
        std::set<std::string> labels;
        for (const Candidate& one : all_candidates(plan, {kernel.size_min, kernel.size_max})) {
          const std::string label = one.kernel.family->label(one.kernel);
          ASSERT_TRUE(labels.insert(label).second) << label;
        }
        ASSERT_FALSE(labels.empty());
      }
    }
  }
}

TEST(ExpertsPlan, KernelsKnowTheLayer) {
  for (const auto& [name, spec] : expert_layers()) {
    SCOPED_TRACE(name);
    const Plan plan = layer_plan(spec);
    const MoeGemms gemms = moe_gemms(spec);
    for (const PlannedKernel& kernel : plan.kernels) {
      const device::ExpertLayer& c = layer_of(kernel);
      ASSERT_EQ(c.hidden, spec.shape.hidden);
      ASSERT_EQ(c.intermediate, spec.shape.intermediate);
      ASSERT_EQ(c.first_expert, spec.shape.first_expert);
      ASSERT_EQ(c.local_experts, spec.local_experts());
      ASSERT_EQ(c.top_k, spec.shape.top_k);
      ASSERT_EQ(c.weighs_input, spec.routing_weight == RoutingWeight::kInput);
      ASSERT_EQ(c.residual, spec.epilogue.residual);
      ASSERT_EQ(c.router.chooses(), spec.router.chooses());
      ASSERT_EQ(c.router.experts, spec.router.chooses() ? spec.shape.experts : 0);
      // An expert's weights are those of a gemm, packed as an engine packs them.
      ASSERT_EQ(c.gate_up_bytes,
                static_cast<device::i64>(weight_layout(gemms.gate_up).total_bytes));
      ASSERT_EQ(c.down_bytes, static_cast<device::i64>(weight_layout(gemms.down).total_bytes));
    }
  }
}

// Tiles have all rows, whatever tiles hold; with all experts chosen by every token none is
// uncertain.
TEST(ExpertsPlan, TilesHaveTheRowsOfTheirExperts) {
  MoeSpec spec = small_expert_layer();
  for (const std::int64_t top_k : {1, 4, 32}) {
    spec.shape.top_k = top_k;
    for (const std::int64_t tokens : {1, 7, 300, 5000}) {
      for (const int tile_rows : {1, 16, 96}) {
        SCOPED_TRACE(fmt::format("top {}, {} tokens, {} rows", top_k, tokens, tile_rows));
        const ExpertLoad load = expert_load(spec, tokens, tile_rows);
        ASSERT_EQ(load.tiles_with.size(), static_cast<std::size_t>(tile_rows) + 1);
        double tiles = 0;
        double rows = 0;
        for (int i = 0; i <= tile_rows; ++i) {
          const double count = load.tiles_with[static_cast<std::size_t>(i)];
          ASSERT_GE(count, 0);
          tiles += count;
          rows += i * count;
        }
        EXPECT_EQ(load.tiles_with[0], 0);
        EXPECT_NEAR(tiles, load.tiles, 1e-9 * tiles);
        EXPECT_NEAR(rows, static_cast<double>(tokens * top_k), 1e-6 * rows);
        EXPECT_GE(tiles, load.hit * (1 - 1e-9));
      }
    }
  }
}

// The widths that a tile is multiplied with end with that of all its rows.
TEST(ExpertsPlan, WidthsAreThoseOfInstructions) {
  for (const int tile_rows : {16, 32, 64, 96, 128, 192, 256}) {
    SCOPED_TRACE(tile_rows);
    const device::TileWidths widths{tile_rows};
    EXPECT_EQ((tile_rows - widths.fewest()) % widths.step(), 0);
    EXPECT_EQ(widths.fewest() % 8, 0);
    EXPECT_EQ(widths.step() % (widths.fewest() < tile_rows ? 8 : 1), 0);
    EXPECT_EQ(tile_rows % device::box_rows(tile_rows), 0);
  }
}

TEST(ExpertsPlan, RefusesWhatNoKernelServes) {
  MoeSpec spec = small_expert_layer();
  for (const char* target : {"sm_75", "t4"}) {
    const std::string text = refusal(Spec::from_moe(spec), target);
    EXPECT_NE(text.find("no kernel of experts serves target"), std::string::npos) << text;
    EXPECT_NE(text.find("sm_75; allowed: sm_80 and up"), std::string::npos) << text;
  }
  for (const char* target : kExpertTargets)
    EXPECT_EQ(refusal(Spec::from_moe(spec), target), "accepted");
  // What the fields are refused for is said with it.
  spec.down.group_size = 384;
  spec.shape.top_k = 32;
  spec.shape.experts = 31;
  EXPECT_EQ(refused_fields(Spec::from_moe(spec), "h200"),
            (Pointers{"/shape/top_k", "/weight/down/group_size"}));
}

TEST(ExpertsPlan, IsDescribed) {
  MoeSpec spec = small_expert_layer();
  spec.shape.first_expert = 8;
  spec.shape.local_experts = 16;
  spec.shape.shared_experts = 2;
  spec.shared_gate = true;
  spec.routing_weight = RoutingWeight::kInput;
  spec.epilogue.residual = true;
  spec.router = {.scores = RouterScores::kSigmoid,
                 .logits = DType::kBf16,
                 .renormalize = true,
                 .scaling_factor = 2.5F,
                 .correction_bias = true,
                 .expert_scales = true,
                 .groups = 4,
                 .top_groups = 2,
                 .group_score = GroupScore::kTopTwo};
  const Plan plan = layer_plan(spec);
  const std::string text = describe(plan);
  for (const char* part :
       {"Y[T, 1024] = sum over a token's 4 of 32 experts and 2 shared by a gate of", "silu",
        "+ residual", "(weight * X)", "experts 8 to 23",
        "chosen by sigmoid of bf16 logits plus a bias, of 2 of 4 groups by top_two, renormalized",
        "times each expert's scale, times 2.5", ": the choice of experts, ",
        "the rows of 18 experts", "workspace: "}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  const auto json = nlohmann::json::parse(plan_to_json(plan));
  EXPECT_EQ(json["kernels"][0]["m"][0], 1);
  EXPECT_EQ(json["kernels"][0]["configuration"]["layer"]["local_experts"], 16);
  EXPECT_EQ(json["kernels"][0]["configuration"]["layer"]["first_expert"], 8);
}

// A reader of the text learns how both weights are decoded.
TEST(ExpertsPlan, TheBannerHasTheDecodePlansOfTwoKinds) {
  MoeSpec spec = small_expert_layer();
  const char* const of_down = "decode plan of down: ";
  EXPECT_EQ(render(layer_plan(spec), 0).text.find(of_down), std::string::npos);
  spec.down.bits = 8;
  for (const Source& source : render_all(layer_plan(spec))) {
    EXPECT_NE(source.text.find("decode plan: 4-bit uint"), std::string::npos);
    EXPECT_NE(source.text.find(std::string(of_down) + "8-bit uint"), std::string::npos);
  }
}

}  // namespace
}  // namespace heddle

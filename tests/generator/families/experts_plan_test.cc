// How a layer of experts is planned: every number of tokens has a kernel, launches are those of the
// phases, and the workspace has room for what they give each other. Holds no tile's size.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "config/workspace.h"
#include "experts/config.h"
#include "generator/families/experts/experts_family.h"
#include "generator/families/family.h"
#include "generator/planner/choose.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
#include "tests/generator/planner/plan_refusals.h"
#include "tests/plain_weight.h"

namespace heddle {
namespace {

using device::ceil_div;
using device::MoePhase;

// The phases of a kernel's launches.
std::vector<MoePhase> phases_of(const device::ExpertLayer& layer) {
  if (!layer.gathers) {
    return {MoePhase::kRoute, MoePhase::kGateUp, MoePhase::kDown, MoePhase::kSum};
  }
  return {MoePhase::kRoute, MoePhase::kGather, MoePhase::kGateUp, MoePhase::kDown, MoePhase::kSum};
}

MoeSpec small_layer() {
  MoeSpec spec;
  spec.shape = {.hidden = 1024, .intermediate = 512, .experts = 32, .top_k = 4};
  spec.epilogue = {.activation = Activation::kSilu, .gated = true};
  return spec;
}

Plan layer_plan(const MoeSpec& spec, const char* target = "h200") {
  return resolve(Spec::from_moe(spec), target_from_name(target));
}

const device::ExpertLayer& layer_of(const PlannedKernel& kernel) {
  return dynamic_cast<const ExpertsFamily&>(*kernel.family).layer(kernel);
}

struct Layer {
  std::string name;
  MoeSpec spec;
};

// Layers of published models, and what surrounds them: many experts, few, one; every kind of
// weights.
std::vector<Layer> layers() {
  std::vector<Layer> list;
  const auto add = [&](const char* name, MoeShape shape) -> MoeSpec& {
    MoeSpec spec = small_layer();
    spec.shape = shape;
    list.push_back({name, spec});
    return list.back().spec;
  };
  add("many experts", {.hidden = 2048, .intermediate = 768, .experts = 128, .top_k = 8});
  MoeSpec& mxfp4 = add("MXFP4", {.hidden = 2880, .intermediate = 2880, .experts = 32, .top_k = 4});
  mxfp4.activation = DType::kBf16;
  mxfp4.gate_up.type = mxfp4.down.type = WeightType::kE2m1;
  mxfp4.gate_up.group_size = mxfp4.down.group_size = 32;
  mxfp4.gate_up.scale_dtype = mxfp4.down.scale_dtype = DType::kE8m0;
  mxfp4.epilogue = {
      .bias = true, .activation = Activation::kClampedSwiglu, .gated = true, .limit = 7};
  add("one expert", {.hidden = 512, .intermediate = 256, .experts = 1, .top_k = 1});
  MoeSpec& shard = add("a shard", {.hidden = 1024,
                                   .intermediate = 512,
                                   .experts = 256,
                                   .top_k = 8,
                                   .tokens_min = 7,
                                   .tokens_max = 65536,
                                   .first_expert = 96,
                                   .local_experts = 32});
  shard.gate_up.bits = 3;
  shard.down.bits = 8;
  shard.down.zero_point = ZeroPoint::kInt;
  shard.epilogue.residual = true;
  // Their common tiles are few where a block has 99 KiB.
  MoeSpec& two_kinds =
      add("two kinds", {.hidden = 1056, .intermediate = 416, .experts = 40, .top_k = 4});
  two_kinds.activation = DType::kBf16;
  two_kinds.gate_up.bits = 3;
  two_kinds.down.bits = 8;
  two_kinds.down.zero_point = ZeroPoint::kFloat;
  two_kinds.gate_up.group_size = two_kinds.down.group_size = 32;
  two_kinds.epilogue = {.bias = true, .activation = Activation::kGelu};
  MoeSpec& plain =
      add("16 bits", {.hidden = 1024, .intermediate = 1024, .experts = 16, .top_k = 2});
  plain.activation = DType::kBf16;
  plain.gate_up = plain.down = plain_weight(DType::kBf16);
  plain.routing_weight = RoutingWeight::kInput;
  MoeSpec& nvfp4 = add("NVFP4", {.hidden = 256, .intermediate = 96, .experts = 8, .top_k = 8});
  nvfp4.gate_up.type = nvfp4.down.type = WeightType::kE2m1;
  nvfp4.gate_up.group_size = nvfp4.down.group_size = 16;
  nvfp4.gate_up.scale_dtype = nvfp4.down.scale_dtype = DType::kE4m3;
  nvfp4.gate_up.tensor_scale = nvfp4.down.tensor_scale = true;
  return list;
}

constexpr const char* kTargets[] = {"sm_80", "sm_86", "sm_89", "h100",
                                    "h200",  "b200",  "thor",  "sm_120"};

// Numbers of tokens at the ends of all kernels and between them.
std::vector<std::int64_t> some_tokens(const Plan& plan) {
  std::vector<std::int64_t> tokens;
  for (const PlannedKernel& kernel : plan.kernels) {
    tokens.push_back(kernel.size_min);
    tokens.push_back((kernel.size_min + kernel.size_max) / 2);
    tokens.push_back(kernel.size_max);
  }
  return tokens;
}

TEST(ExpertsPlan, ServesEveryNumberOfTokens) {
  for (const char* target : kTargets) {
    for (const auto& [name, spec] : layers()) {
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
  for (const char* target : kTargets) {
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
  for (const char* target : kTargets) {
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
  for (const char* target : kTargets) {
    for (const auto& [name, spec] : layers()) {
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
  for (const auto& [name, spec] : layers()) {
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
      // An expert's weights are those of a gemm, packed as an engine packs them.
      ASSERT_EQ(c.gate_up_bytes,
                static_cast<device::i64>(weight_layout(gemms.gate_up).total_bytes));
      ASSERT_EQ(c.down_bytes, static_cast<device::i64>(weight_layout(gemms.down).total_bytes));
    }
  }
}

// A grid of no more blocks than are resident, or than there is work for; each is told its phase.
TEST(ExpertsPlan, LaunchesThePhasesInOrder) {
  for (const char* target : kTargets) {
    for (const auto& [name, spec] : layers()) {
      const Plan plan = layer_plan(spec, target);
      for (const std::int64_t tokens : some_tokens(plan)) {
        SCOPED_TRACE(fmt::format("{} on {}, {} tokens", name, target, tokens));
        const std::size_t index = plan.kernel_for(tokens);
        const PlannedKernel& kernel = plan.kernels[index];
        const std::vector<MoePhase> phases = phases_of(layer_of(kernel));
        ASSERT_EQ(kernel.phases, static_cast<int>(phases.size()));
        for (int phase = 0; phase < kernel.phases; ++phase) {
          LaunchSize size{tokens};
          size.phase = phase;
          const KernelLaunch launch = plan.launch(index, size);
          ASSERT_EQ(launch.schedule, static_cast<int>(phases[static_cast<std::size_t>(phase)]));
          ASSERT_GE(launch.grid_x, 1U);
          ASSERT_EQ(launch.grid_y, 1U);
          ASSERT_EQ(launch.grid_z, 1U);
          const int most_resident = 2048 / kernel.threads;
          ASSERT_LE(launch.grid_x, static_cast<unsigned>(plan.target.sm_count * most_resident));
          ASSERT_GE(launch.shared_bytes, 0);
          ASSERT_LE(launch.shared_bytes, kernel.shared_bytes)
              << "more than the driver was asked for";
        }
      }
    }
  }
}

// One for each expert; and one token of one expert has no more tiles than rows of weights.
TEST(ExpertsPlan, LaunchesNoBlocksWithoutWork) {
  MoeSpec spec = small_layer();
  const Plan plan = layer_plan(spec);
  const PlannedKernel& kernel = plan.kernels.front();
  const device::ExpertLayer& layer = layer_of(kernel);
  const std::vector<MoePhase> phases = phases_of(layer);
  const MoeGemms gemms = moe_gemms(spec);
  constexpr std::int64_t kFewestTileRows = 16;
  for (int phase = 0; phase < kernel.phases; ++phase) {
    LaunchSize size{1};
    size.phase = phase;
    const auto blocks = static_cast<std::int64_t>(plan.launch(0, size).grid_x);
    switch (phases[static_cast<std::size_t>(phase)]) {
      case MoePhase::kRoute:
        EXPECT_EQ(blocks, layer.local_experts);
        break;
      case MoePhase::kGather:
        EXPECT_EQ(blocks, ceil_div(layer.top_k * layer.hidden / 8, kernel.threads));
        break;
      case MoePhase::kGateUp:
        EXPECT_LE(blocks, layer.top_k * gemms.gate_up.shape.n / kFewestTileRows);
        break;
      case MoePhase::kDown:
        EXPECT_LE(blocks, layer.top_k * gemms.down.shape.n / kFewestTileRows);
        break;
      case MoePhase::kSum:
        EXPECT_EQ(blocks, ceil_div(layer.hidden / 8, kernel.threads));
        break;
    }
  }
}

// What the launches give each other lies behind the counters of other kernels, and nothing of it in
// one place.
TEST(ExpertsPlan, TheWorkspaceHasRoomForAll) {
  for (const auto& [name, spec] : layers()) {
    const Plan plan = layer_plan(spec);
    for (const std::int64_t tokens : some_tokens(plan)) {
      SCOPED_TRACE(fmt::format("{}, {} tokens", name, tokens));
      const device::ExpertLayer& c = layer_of(plan.kernels[plan.kernel_for(tokens)]);
      const std::int64_t rows = tokens * spec.shape.top_k;
      const struct {
        device::i64 offset, bytes;
      } parts[] = {{c.tiles_offset(), c.kListOffset + 16 * c.most_tiles(tokens)},
                   {c.assignments_offset(tokens), 4 * rows},
                   {c.rows_offset(tokens), 4 * rows},
                   {c.gathered_offset(tokens), c.gathers ? 2 * rows * spec.shape.hidden : 0},
                   {c.middle_offset(tokens), 2 * rows * spec.shape.intermediate},
                   {c.outputs_offset(tokens), 4 * rows * spec.shape.hidden}};
      device::i64 end = device::Workspace::kCounterBytes;
      for (const auto& [offset, bytes] : parts) {
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

TEST(ExpertsPlan, RefusesWhatNoKernelServes) {
  MoeSpec spec = small_layer();
  for (const char* target : {"sm_75", "t4"}) {
    const std::string text = refusal(Spec::from_moe(spec), target);
    EXPECT_NE(text.find("no kernel of experts serves target"), std::string::npos) << text;
    EXPECT_NE(text.find("sm_75; allowed: sm_80 and up"), std::string::npos) << text;
  }
  for (const char* target : kTargets) EXPECT_EQ(refusal(Spec::from_moe(spec), target), "accepted");
  // What the fields are refused for is said with it.
  spec.down.group_size = 384;
  spec.shape.top_k = 32;
  spec.shape.experts = 31;
  EXPECT_EQ(refused_fields(Spec::from_moe(spec), "h200"),
            (Pointers{"/shape/top_k", "/weight/down/group_size"}));
}

TEST(ExpertsPlan, IsDescribed) {
  MoeSpec spec = small_layer();
  spec.shape.first_expert = 8;
  spec.shape.local_experts = 16;
  spec.routing_weight = RoutingWeight::kInput;
  spec.epilogue.residual = true;
  const Plan plan = layer_plan(spec);
  const std::string text = describe(plan);
  for (const char* part :
       {"Y[T, 1024] = sum over a token's 4 of 32 experts", "silu", "+ residual", "by weights of X",
        "experts 8 to 23", "the rows of 16 experts", "workspace: "}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  const auto json = nlohmann::json::parse(plan_to_json(plan));
  EXPECT_EQ(json["kernels"][0]["m"][0], 1);
  EXPECT_EQ(json["kernels"][0]["configuration"]["layer"]["local_experts"], 16);
  EXPECT_EQ(json["kernels"][0]["configuration"]["layer"]["first_expert"], 8);
}

}  // namespace
}  // namespace heddle

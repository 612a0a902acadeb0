// The kernels of layers of experts, for every architecture: they compile, fit the register file and
// nothing spills. Needs NVRTC, not a GPU.
#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "generator/families/configuration.h"
#include "generator/families/family.h"
#include "stream_experts/config.h"
#include "tests/expert_layer.h"
#include "tests/plain_weight.h"
#include "tests/planned_kernel.h"
#include "tests/runtime/compile/compile_check.h"
#include "tests/runtime/compile_wgmma.h"

namespace heddle {
namespace {

// Layers of published models, and one of every kind of weights.
std::vector<MoeSpec> every_layer() {
  using enum DType;
  constexpr auto kUint = WeightType::kUint;
  const MoeShape small{.hidden = 1056, .intermediate = 416, .experts = 40, .top_k = 4};
  std::vector<MoeSpec> specs;
  const auto add = [&](const MoeShape& shape, DType dtype, WeightType type, int bits, int group,
                       DType scale) -> MoeSpec& {
    const WeightSpec weight{.bits = bits, .type = type, .group_size = group, .scale_dtype = scale};
    specs.push_back(expert_layer(shape, dtype, weight));
    return specs.back();
  };
  add({.hidden = 2048, .intermediate = 768, .experts = 128, .top_k = 8}, kBf16, kUint, 4, 128,
      kBf16);
  MoeSpec& clamped = add({.hidden = 2880, .intermediate = 2880, .experts = 32, .top_k = 4}, kBf16,
                         WeightType::kE2m1, 4, 32, kE8m0);
  clamped.router = {.scores = RouterScores::kSoftmax, .logits = kBf16, .renormalize = true};
  make_gpt_oss(7, &clamped);
  MoeSpec& nvfp4 = add({.hidden = 4096, .intermediate = 1536, .experts = 128, .top_k = 8}, kFp16,
                       WeightType::kE2m1, 4, 16, kE4m3);
  nvfp4.gate_up.tensor_scale = nvfp4.down.tensor_scale = true;
  MoeSpec& groups =
      add({.hidden = 7168, .intermediate = 2048, .experts = 256, .top_k = 8, .local_experts = 32},
          kBf16, WeightType::kE4m3, 8, kPerChannel, kFp32);
  groups.router = {.scores = RouterScores::kSigmoid,
                   .renormalize = true,
                   .scaling_factor = 2.5F,
                   .correction_bias = true,
                   .groups = 8,
                   .top_groups = 4,
                   .group_score = GroupScore::kTopTwo};
  // Of more experts, and of as many by sqrt_softplus, the choice spills some bytes outside of the
  // products.
  MoeSpec& many = add({.hidden = 1056, .intermediate = 416, .experts = 512, .top_k = 10}, kBf16,
                      kUint, 4, 32, kBf16);
  many.router = {.scores = RouterScores::kSoftmax, .logits = kFp16, .renormalize = true};
  MoeSpec& zeros = add(small, kFp16, kUint, 4, 32, kFp16);
  zeros.gate_up.zero_point = zeros.down.zero_point = ZeroPoint::kInt;
  zeros.routing_weight = RoutingWeight::kInput;
  MoeSpec& two_kinds = add(small, kBf16, kUint, 3, 32, kBf16);
  two_kinds.down.bits = 8;
  two_kinds.down.zero_point = ZeroPoint::kFloat;
  two_kinds.epilogue = {.bias = true, .activation = Activation::kGelu, .residual = true};
  MoeSpec& plain = add(small, kBf16, kUint, 4, 32, kBf16);
  plain.gate_up = plain.down = plain_weight(kBf16);
  return specs;
}

class CompileExperts : public testing::TestWithParam<int> {};

// Architectures take turns with the kernels of a layer.
TEST_P(CompileExperts, WithoutSpills) {
  const Target target = target_from_name("sm_" + std::to_string(GetParam()));
  std::vector<Source> sources;
  std::size_t first = 0;
  for (const int arch : compiled_archs()) first += arch < GetParam() ? 1 : 0;
  for (const MoeSpec& spec : every_layer()) {
    const Plan plan = resolve(Spec::from_moe(spec), target);
    add_in_turns(plan, plan.kernel_count(), first++, &sources);
  }
  expect_no_spills(sources, target);
}

class CompileExpertsByWgmma : public CompileWgmma {};

// A kernel of each tile for each layer, in turns: it has a main loop for each number of columns.
TEST_F(CompileExpertsByWgmma, OfEveryTile) {
  std::vector<Source> sources;
  std::size_t number = 0;
  for (MoeSpec spec : every_layer()) {
    std::set<std::string> tiles;
    const std::int64_t experts_of_token = spec.shape.experts / spec.shape.top_k;
    for (const std::int64_t rows : {8, 32, 64, 128, 512}) {
      spec.shape.tokens_min = spec.shape.tokens_max = rows * experts_of_token;
      const Plan plan = resolve(Spec::from_moe(spec), target_from_name("h200"));
      for (const Candidate& one :
           all_candidates(plan, {spec.shape.tokens_min, spec.shape.tokens_max})) {
        const std::string label = one.kernel.family->label(one.kernel);
        if (one.kernel.family->name() != "warpgroup_experts" ||
            !tiles.insert(label.substr(0, label.find(' '))).second) {
          continue;
        }
        if (every_kernel() || number++ % 8 == 0) {
          sources.push_back(candidate_source(plan, one, sources.size()));
        }
      }
    }
  }
  check(sources);
}

// Those for few tokens, of which a plan has one or two: with fewer tokens than a matrix instruction
// has columns, with as many, and with twice as many.
class CompileFewExperts : public testing::TestWithParam<int> {};
TEST_P(CompileFewExperts, WithoutSpills) {
  const Target target = target_from_name("sm_" + std::to_string(GetParam()));
  const auto is_few = [](const PlannedKernel& kernel) {
    return kernel.family->name() == "few_experts";
  };
  constexpr std::int64_t kTokens[] = {1, 8, 16};
  std::vector<Source> sources;
  auto turn = static_cast<std::size_t>(GetParam());
  for (const MoeSpec& spec : every_layer()) {
    const Plan plan = resolve(Spec::from_moe(spec), target);
    const std::int64_t tokens = kTokens[turn++ % std::size(kTokens)];
    if (auto kernel = fastest_kernel(plan, {tokens, tokens}, is_few)) {
      sources.push_back(candidate_source(plan, {*std::move(kernel)}, turn));
    }
  }
  expect_no_spills(sources, target);
}

// Those of experts with few rows, with tiles of 8 and of 16 rows, by turns with warps that add and
// without them.
class CompileStreamExperts : public testing::TestWithParam<int> {};
TEST_P(CompileStreamExperts, WithoutSpills) {
  const Target target = target_from_name("sm_" + std::to_string(GetParam()));
  std::vector<Source> sources;
  auto turn = static_cast<std::size_t>(GetParam());
  for (const MoeSpec& spec : every_layer()) {
    const Plan plan = resolve(Spec::from_moe(spec), target);
    const bool has_adders = turn % 4 < 2;
    const int rows = turn++ % 2 == 0 ? 8 : 16;
    const auto is_wanted = [&](const PlannedKernel& kernel) {
      if (kernel.family->name() != "stream_experts") return false;
      const auto& c = config_of<device::StreamExpertsConfig>(kernel);
      return c.layer.tile_rows == rows && (c.adders() > 0) == has_adders;
    };
    const std::int64_t tokens = rows * spec.shape.experts / spec.shape.top_k;
    if (auto kernel = fastest_kernel(plan, {tokens, tokens}, is_wanted)) {
      sources.push_back(candidate_source(plan, {*std::move(kernel)}, turn));
    }
  }
  EXPECT_FALSE(sources.empty());
  expect_no_spills(sources, target);
}

std::vector<int> archs_from(int first) {
  std::vector<int> archs = compiled_archs();
  std::erase_if(archs, [first](int arch) { return arch < first; });
  return archs;
}

std::string arch_name(const testing::TestParamInfo<int>& info) {
  return "sm_" + std::to_string(info.param);
}

INSTANTIATE_TEST_SUITE_P(Archs, CompileExperts, testing::ValuesIn(archs_from(80)), arch_name);
INSTANTIATE_TEST_SUITE_P(Archs, CompileFewExperts, testing::ValuesIn(archs_from(90)), arch_name);
INSTANTIATE_TEST_SUITE_P(Archs, CompileStreamExperts, testing::ValuesIn(archs_from(90)), arch_name);

}  // namespace
}  // namespace heddle

#include "tests/emulator/moe_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "generator/families/family.h"
#include "generator/families/registry.h"
#include "generator/planner/candidates.h"
#include "tests/expert_layer.h"
#include "tests/plain_weight.h"

namespace heddle {
namespace {

// Weights of integers, in both products unless one is changed.
MoeSpec layer(const MoeShape& shape, DType dtype, int bits, int group, ZeroPoint zero) {
  return expert_layer(
      shape, dtype, {.bits = bits, .group_size = group, .zero_point = zero, .scale_dtype = dtype});
}

// Some of many experts, more than a warp reads the counts of at a time.
constexpr MoeShape kShard = {.hidden = 64,
                             .intermediate = 64,
                             .experts = 48,
                             .top_k = 6,
                             .tokens_max = 12,
                             .first_expert = 7,
                             .local_experts = 35};

std::vector<MoeCase> make_moe_cases() {
  using enum DType;
  constexpr auto kNone = ZeroPoint::kNone;
  std::vector<MoeCase> cases;
  const auto add = [&](std::string name, MoeSpec spec) -> MoeSpec& {
    cases.push_back({std::move(name), std::move(spec)});
    return cases.back().spec;
  };
  // Ends of rows, of columns and of an expert's tokens inside of tiles.
  add("FourBits",
      layer({.hidden = 160, .intermediate = 96, .experts = 5, .top_k = 2, .tokens_max = 5}, kFp16,
            4, 32, kNone));
  add("OneToken",
      layer({.hidden = 288, .intermediate = 64, .experts = 4, .top_k = 1, .tokens_max = 1}, kBf16,
            4, 32, ZeroPoint::kInt));
  MoeSpec& clamped = add(
      "Mxfp4", layer({.hidden = 96, .intermediate = 160, .experts = 4, .top_k = 2, .tokens_max = 9},
                     kBf16, 4, 32, kNone));
  make_gpt_oss(2, &clamped);
  // Each product has weights of its own.
  MoeSpec& both =
      add("TwoKinds",
          layer({.hidden = 128, .intermediate = 96, .experts = 3, .top_k = 2, .tokens_max = 6},
                kFp16, 4, 32, ZeroPoint::kInt));
  both.down.bits = 8;
  both.down.group_size = kPerChannel;
  both.epilogue.residual = true;
  both.epilogue.activation = Activation::kGelu;
  MoeSpec& nvfp4 = add(
      "Nvfp4", layer({.hidden = 96, .intermediate = 64, .experts = 4, .top_k = 4, .tokens_max = 3},
                     kFp16, 4, 16, kNone));
  nvfp4.gate_up.type = nvfp4.down.type = WeightType::kE2m1;
  nvfp4.gate_up.scale_dtype = nvfp4.down.scale_dtype = kE4m3;
  nvfp4.gate_up.tensor_scale = nvfp4.down.tensor_scale = true;
  MoeSpec& fp8 = add(
      "Fp8", layer({.hidden = 96, .intermediate = 96, .experts = 4, .top_k = 2, .tokens_max = 7},
                   kBf16, 8, kPerChannel, kNone));
  fp8.gate_up.type = fp8.down.type = WeightType::kE4m3;
  fp8.gate_up.scale_dtype = fp8.down.scale_dtype = kFp32;
  fp8.epilogue = {.activation = Activation::kRelu2};
  MoeSpec& three =
      add("ThreeBits",
          layer({.hidden = 64, .intermediate = 128, .experts = 3, .top_k = 2, .tokens_max = 4},
                kFp16, 3, 64, ZeroPoint::kFloat));
  three.down.zero_point = kNone;
  // The routing weights multiply the tokens: ahead of a bias and of a function.
  MoeSpec& input =
      add("WeighsTheInput",
          layer({.hidden = 96, .intermediate = 64, .experts = 4, .top_k = 2, .tokens_max = 8},
                kBf16, 16, 0, kNone));
  input.gate_up = input.down = plain_weight(kBf16);
  input.routing_weight = RoutingWeight::kInput;
  input.epilogue = {
      .bias = true, .activation = Activation::kRelu, .residual = true, .gated = false};
  add("Shard", layer(kShard, kFp16, 4, 32, kNone)).epilogue.bias = true;
  // Experts are chosen by logits: of all of them, of groups, of which some experts are elsewhere,
  // and for the tokens' weights.
  add("ChoosesExperts",
      layer({.hidden = 96, .intermediate = 64, .experts = 6, .top_k = 3, .tokens_max = 9}, kFp16, 4,
            32, kNone))
      .router = {.scores = RouterScores::kSoftmax, .logits = kFp16, .renormalize = true};
  add("ChoosesOfGroups", layer(kShard, kBf16, 4, 32, kNone)).router = {
      .scores = RouterScores::kSigmoid,
      .renormalize = true,
      .scaling_factor = 2.5F,
      .expert_scales = true,
      .groups = 4,
      .top_groups = 2,
      .group_score = GroupScore::kTopTwo};
  // More choices than experts of this device, all of which most tokens have.
  add("FewOfTheChosen", layer({.hidden = 64,
                               .intermediate = 64,
                               .experts = 9,
                               .top_k = 7,
                               .tokens_max = 40,
                               .first_expert = 4,
                               .local_experts = 2},
                              kFp16, 4, 32, kNone))
      .router = {.scores = RouterScores::kSoftmax};
  MoeSpec& chosen_input =
      add("ChoosesAndWeighsTheInput",
          layer({.hidden = 96, .intermediate = 64, .experts = 4, .top_k = 1, .tokens_max = 8},
                kBf16, 4, 32, kNone));
  chosen_input.router = {
      .scores = RouterScores::kSqrtSoftplus, .logits = kBf16, .correction_bias = true};
  chosen_input.routing_weight = RoutingWeight::kInput;
  // Experts that every token has, beside a shard's own and behind a router; weighed by a gate,
  // ahead of the products and behind them.
  add("SharedExperts", layer({.hidden = 96,
                              .intermediate = 64,
                              .experts = 5,
                              .top_k = 2,
                              .tokens_max = 9,
                              .first_expert = 1,
                              .local_experts = 3,
                              .shared_experts = 2},
                             kFp16, 4, 32, kNone))
      .epilogue.bias = true;
  MoeSpec& gated = add("SharedByAGate", layer({.hidden = 96,
                                               .intermediate = 96,
                                               .experts = 6,
                                               .top_k = 2,
                                               .tokens_max = 7,
                                               .shared_experts = 1},
                                              kBf16, 4, 32, kNone));
  gated.router = {.scores = RouterScores::kSoftmax, .logits = kBf16, .renormalize = true};
  gated.shared_gate = gated.epilogue.residual = true;
  MoeSpec& gated_input = add("SharedWeighTheInput", layer({.hidden = 64,
                                                           .intermediate = 64,
                                                           .experts = 4,
                                                           .top_k = 1,
                                                           .tokens_max = 6,
                                                           .shared_experts = 1},
                                                          kFp16, 4, 32, kNone));
  gated_input.routing_weight = RoutingWeight::kInput;
  gated_input.shared_gate = true;
  gated_input.epilogue.limit = 1;
  // Columns of X in an order of each expert's own, and of a shared one's.
  MoeSpec& ordered = add("ActOrder", layer({.hidden = 160,
                                            .intermediate = 96,
                                            .experts = 5,
                                            .top_k = 2,
                                            .tokens_max = 7,
                                            .first_expert = 1,
                                            .local_experts = 3,
                                            .shared_experts = 1},
                                           kFp16, 4, 32, ZeroPoint::kInt));
  ordered.act_order = ordered.epilogue.residual = true;
  // Several tiles of an expert's rows, of both kinds of epilogues.
  add("ManyTokens", layer({.hidden = 96,
                           .intermediate = 96,
                           .experts = 3,
                           .top_k = 2,
                           .tokens_min = 150,
                           .tokens_max = 150},
                          kFp16, 4, 32, ZeroPoint::kInt));
  add("ManyTokensOfOneExpert", layer({.hidden = 64,
                                      .intermediate = 64,
                                      .experts = 1,
                                      .top_k = 1,
                                      .tokens_min = 140,
                                      .tokens_max = 140},
                                     kBf16, 4, 32, kNone))
      .epilogue = {.bias = true, .activation = Activation::kNone, .residual = true};
  // More choices than the warps of a block hold, more experts than there are blocks.
  add("ManyChoices", layer({.hidden = 64,
                            .intermediate = 64,
                            .experts = 16,
                            .top_k = 16,
                            .tokens_min = 270,
                            .tokens_max = 270,
                            .first_expert = 1,
                            .local_experts = 15},
                           kFp16, 4, 32, kNone));
  // Tokens wider than what a warp copies at a time.
  add("WideTokens",
      layer({.hidden = 2304, .intermediate = 32, .experts = 2, .top_k = 1, .tokens_max = 5}, kBf16,
            4, 32, kNone));
  return cases;
}

std::vector<MoeCase> make_moe_wgmma_cases() {
  using enum DType;
  std::vector<MoeCase> cases = moe_cases_of("warpgroup_experts", "ByWgmma");
  // Tiles with every number of rows that makes a difference: those of boxes, of the instructions
  // that are narrower than the tile, and of a second tile.
  const auto add_uneven = [&](int tile_rows, int tile_n, DType dtype, bool bias) {
    MoeCase one;
    one.expert_tokens = {0, 1, 7, 8, 9, 16, 17, 33};
    for (const int rows : {tile_rows / 2, 3 * tile_rows / 4, tile_rows}) {
      one.expert_tokens.insert(one.expert_tokens.end(), {rows, rows + 1});
    }
    const auto tokens = std::accumulate(one.expert_tokens.begin(), one.expert_tokens.end(), 0);
    one.spec = layer({.hidden = 64,
                      .intermediate = 64,
                      .experts = static_cast<std::int64_t>(one.expert_tokens.size()),
                      .top_k = 1,
                      .tokens_min = tokens,
                      .tokens_max = tokens},
                     dtype, 4, 32, ZeroPoint::kNone);
    one.spec.epilogue.bias = bias;
    one.family = "warpgroup_experts";
    one.label_part = fmt::format("{}x{} ", tile_rows, tile_n);
    one.name = fmt::format("UnevenTilesOf{}By{}", tile_rows, tile_n);
    cases.push_back(std::move(one));
  };
  // Four warpgroups; two that share columns, and so exchange sums; two with a row tile each, and
  // with two; both ends of a tile.
  add_uneven(32, 256, DType::kBf16, false);
  add_uneven(64, 64, DType::kFp16, true);
  add_uneven(96, 128, DType::kFp16, false);
  add_uneven(128, 256, DType::kBf16, true);
  return cases;
}

std::vector<MoeCase> make_moe_few_cases() {
  using enum DType;
  std::vector<MoeCase> cases = moe_cases_of("few_experts", "Few");
  const auto add = [&](std::string name, const MoeSpec& spec, std::string label_part,
                       int sm_count) -> MoeSpec& {
    cases.push_back({std::move(name), spec, "few_experts", std::move(label_part), sm_count});
    return cases.back().spec;
  };
  // Several warps share K; row blocks that are multiplied at once are not always as many; the last
  // warp has fewer chunks than a stage.
  const MoeSpec long_rows =
      layer({.hidden = 416, .intermediate = 1184, .experts = 4, .top_k = 2, .tokens_max = 3}, kFp16,
            4, 32, ZeroPoint::kInt);
  add("LongRowsFew", long_rows, "rows 2", 3).epilogue.bias = true;
  MoeSpec& cluster = add("ClusterFew", long_rows, "split 2", 4);
  cluster.epilogue.bias = cluster.epilogue.residual = true;
  add("ClusterOfManyTokensFew", long_rows, "split 2", 5).shape.tokens_max = 16;
  // Scales of 8 bits, widened for each of the row blocks.
  MoeSpec& mxfp4 = add("LongRowsMxfp4Few", long_rows, "rows 2", 4);
  mxfp4.activation = kBf16;
  mxfp4.shape.tokens_max = 8;
  make_gpt_oss(2, &mxfp4);
  // Zero points of channels.
  MoeSpec& channels = add("LongRowsOfChannelsFew", long_rows, "rows 2", 3);
  channels.gate_up.bits = channels.down.bits = 8;
  channels.gate_up.group_size = channels.down.group_size = kPerChannel;
  channels.activation = channels.gate_up.scale_dtype = channels.down.scale_dtype = kBf16;
  return cases;
}

}  // namespace

std::vector<MoeCase> moe_cases_of(const std::string& name, const std::string& suffix) {
  const Target target = target_from_name("h200");
  const std::vector<const Family*>& families = families_of(Op::kMoe);
  const Family& family = **std::find_if(families.begin(), families.end(),
                                        [&](const Family* one) { return one->name() == name; });
  std::vector<MoeCase> cases;
  for (const MoeCase& one : moe_cases()) {
    const std::int64_t tokens = one.spec.shape.tokens_max;
    if (!family.exclusions(Spec::from_moe(one.spec), target, {tokens, tokens}).empty()) continue;
    cases.push_back({one.name + suffix, one.spec, name});
  }
  return cases;
}

Plan MoeCase::plan() const {
  Target target = target_from_name("h200");
  target.sm_count = sm_count;
  Plan plan = resolve(Spec::from_moe(spec), target);
  const std::vector<CandidatePlan> candidates = candidate_plans(plan, spec.shape.tokens_max);
  const auto found =
      std::find_if(candidates.begin(), candidates.end(), [&](const CandidatePlan& one) {
        const PlannedKernel& kernel = one.plan.kernels.front();
        return kernel.family->name() == family &&
               kernel.family->label(kernel).find(label_part) != std::string::npos;
      });
  if (found == candidates.end()) throw std::logic_error(name + " has no kernel of " + family);
  PlannedKernel kernel = found->plan.kernels.front();
  MoeSpec any = spec;
  any.shape.tokens_min = 1;
  plan.spec = Spec::from_moe(any);
  kernel.size_min = 1;
  kernel.size_max = any.shape.tokens_max;
  plan.kernels = {std::move(kernel)};
  return plan;
}

const std::vector<MoeCase>& moe_cases() {
  static const std::vector<MoeCase> cases = make_moe_cases();
  return cases;
}

const std::vector<MoeCase>& moe_wgmma_cases() {
  static const std::vector<MoeCase> cases = make_moe_wgmma_cases();
  return cases;
}

const std::vector<MoeCase>& moe_few_cases() {
  static const std::vector<MoeCase> cases = make_moe_few_cases();
  return cases;
}

const std::vector<MoeCase>& all_moe_cases() {
  static const std::vector<MoeCase> cases = [] {
    std::vector<MoeCase> all = moe_cases();
    all.insert(all.end(), moe_wgmma_cases().begin(), moe_wgmma_cases().end());
    all.insert(all.end(), moe_few_cases().begin(), moe_few_cases().end());
    all.insert(all.end(), moe_stream_cases().begin(), moe_stream_cases().end());
    return all;
  }();
  return cases;
}

}  // namespace heddle

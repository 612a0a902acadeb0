#include "tests/emulator/choose_cases.h"

#include <utility>

namespace heddle {
namespace {

std::vector<ChooseCase> make_choose_cases() {
  using enum DType;
  using enum RouterScores;
  std::vector<ChooseCase> cases;
  const auto add = [&](std::string name, std::int64_t experts, std::int64_t top_k,
                       const RouterSpec& router) {
    MoeSpec spec;
    spec.shape = {.hidden = 32, .intermediate = 32, .experts = experts, .top_k = top_k};
    spec.router = router;
    cases.push_back({std::move(name), spec});
  };
  // Models' routers.
  add("Qwen3", 128, 8, {.scores = kSoftmax, .renormalize = true});
  add("GptOss", 32, 4, {.scores = kSoftmax, .logits = kBf16, .renormalize = true});
  add("Qwen2", 60, 4, {.scores = kSoftmax, .logits = kFp16});
  add("DeepSeekV2", 160, 6,
      {.scores = kSoftmax, .scaling_factor = 16, .groups = 8, .top_groups = 3});
  add("DeepSeekV3", 256, 8,
      {.scores = kSigmoid,
       .renormalize = true,
       .scaling_factor = 2.5F,
       .correction_bias = true,
       .groups = 8,
       .top_groups = 4,
       .group_score = GroupScore::kTopTwo});
  add("DeepSeekV4", 384, 6,
      {.scores = kSqrtSoftplus,
       .renormalize = true,
       .scaling_factor = 1.5F,
       .correction_bias = true});
  add("Nemotron3", 512, 22,
      {.scores = kSigmoid, .renormalize = true, .scaling_factor = 5, .correction_bias = true});
  add("Llama4", 16, 1, {.scores = kSigmoid, .logits = kBf16});
  add("Ernie", 64, 6, {.scores = kSoftmax, .renormalize = true, .correction_bias = true});
  add("Gemma4", 128, 8,
      {.scores = kSoftmax, .logits = kBf16, .renormalize = true, .expert_scales = true});
  // The fewest and the most experts, and choices of all of them.
  add("OneExpert", 1, 1, {.scores = kSoftmax, .renormalize = true, .scaling_factor = 2});
  add("TwoExperts", 2, 2, {.scores = kSqrtSoftplus, .scaling_factor = 0.5F});
  add("All", 31, 31, {.scores = kSigmoid, .logits = kFp16, .renormalize = true});
  add("MostExperts", 1024, 32, {.scores = kSqrtSoftplus, .logits = kFp16});
  // Groups whose ends are inside of a lane's experts; of two experts; as many as there may be.
  add("UnevenGroups", 75, 7,
      {.scores = kSoftmax, .groups = 5, .top_groups = 2, .group_score = GroupScore::kTopTwo});
  add("GroupsOfTwo", 64, 9,
      {.scores = kSigmoid,
       .logits = kBf16,
       .correction_bias = true,
       .expert_scales = true,
       .groups = 32,
       .top_groups = 5,
       .group_score = GroupScore::kTopTwo});
  add("BestOfGroups", 96, 12,
      {.scores = kSoftmax,
       .renormalize = true,
       .correction_bias = true,
       .groups = 6,
       .top_groups = 6});
  return cases;
}

}  // namespace

const std::vector<ChooseCase>& choose_cases() {
  static const std::vector<ChooseCase> cases = make_choose_cases();
  return cases;
}

}  // namespace heddle

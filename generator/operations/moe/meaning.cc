// The rules between the fields of moe.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "generator/operations/gemm/gemm.h"
#include "generator/operations/moe/moe.h"
#include "generator/spec/weight_meaning.h"

namespace heddle {
namespace {

void check_experts(const MoeShape& shape, Problems& problems) {
  if (shape.tokens_min > shape.tokens_max) {
    problems.push_back(
        {"/shape/tokens", "the fewest tokens are more than the most",
         '[' + std::to_string(shape.tokens_min) + ", " + std::to_string(shape.tokens_max) + ']',
         "[fewest, most]", ""});
  }
  if (shape.top_k > shape.experts) {
    problems.push_back({"/shape/top_k", "the model has fewer experts", std::to_string(shape.top_k),
                        "1 to " + std::to_string(shape.experts), ""});
  }
  if (shape.first_expert >= shape.experts) {
    problems.push_back({"/shape/first_expert", "the model has no such expert",
                        std::to_string(shape.first_expert),
                        "0 to " + std::to_string(shape.experts - 1), ""});
  } else if (shape.first_expert + shape.local_experts > shape.experts) {
    problems.push_back({"/shape/local_experts", "the model has fewer experts from the first on",
                        std::to_string(shape.local_experts),
                        "0 to " + std::to_string(shape.experts - shape.first_expert), ""});
  }
}

void check_router(const MoeSpec& spec, Problems& problems) {
  const RouterSpec& router = spec.router;
  if (!router.chooses()) return;
  if (router.groups == 1) {
    if (router.top_groups > 1) {
      problems.push_back({"/routing/top_groups", "all experts are one group",
                          std::to_string(router.top_groups), "0 or 1, or several groups", ""});
    }
    if (router.group_score != GroupScore::kMax) {
      problems.push_back({"/routing/group_score", "all experts are one group", "\"top_two\"",
                          "\"max\", or several groups", ""});
    }
    return;
  }
  const std::int64_t experts = spec.shape.experts;
  if (experts % router.groups != 0) {
    problems.push_back({"/routing/groups", "groups have the same number of experts",
                        std::to_string(router.groups), "a divisor of " + std::to_string(experts),
                        ""});
    return;
  }
  const std::int64_t group = experts / router.groups;
  if (router.group_score == GroupScore::kTopTwo && group < 2) {
    problems.push_back({"/routing/group_score", "a group has one expert, and no second one",
                        "\"top_two\"", "\"max\"", ""});
  }
  if (router.top_groups < 1 || router.top_groups > router.groups) {
    problems.push_back({"/routing/top_groups", "a token has some of several groups",
                        std::to_string(router.top_groups), "1 to " + std::to_string(router.groups),
                        ""});
  } else if (spec.shape.top_k > router.top_groups * group) {
    problems.push_back({"/routing/top_groups", "a token's groups have fewer experts than it has",
                        std::to_string(router.top_groups),
                        "groups of at least " + std::to_string(spec.shape.top_k) + " experts", ""});
  }
}

void check_shared(const MoeSpec& spec, Problems& problems) {
  const MoeShape& shape = spec.shape;
  if (spec.shared_gate && shape.shared_experts == 0) {
    problems.push_back({"/routing/shared_gate", "there are no shared experts", "true",
                        "false, or shape.shared_experts", ""});
  }
  static_assert(kMostChoices == 32, "the next lines say so");
  if (shape.choices() > kMostChoices) {
    problems.push_back({"/shape/shared_experts", "a token has more than 32 experts with them",
                        std::to_string(shape.shared_experts),
                        "0 to " + std::to_string(kMostChoices - shape.top_k), ""});
  }
}

// Rows and places of launches are counted by 32-bit integers.
void check_assignments(const MoeShape& shape, Problems& problems) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  if (shape.tokens_max * shape.choices() <= kMost) return;
  problems.push_back({"/shape/tokens/1", "tokens times their experts are more than kernels count",
                      std::to_string(shape.tokens_max),
                      "1 to " + std::to_string(kMost / shape.choices()), ""});
}

}  // namespace

std::vector<Problem> as_moe_problems(std::vector<Problem> problems, const std::string& weight) {
  constexpr std::string_view kWeight = "/weight", kM = "/shape/m";
  const bool is_down = weight == "/weight/down";
  for (Problem& problem : problems) {
    std::string& pointer = problem.pointer;
    if (pointer.rfind(kWeight, 0) == 0) {
      pointer.replace(0, kWeight.size(), weight);
    } else if (pointer == "/shape/n") {
      pointer = is_down ? "/shape/hidden" : "/shape/intermediate";
    } else if (pointer == "/shape/k") {
      pointer = is_down ? "/shape/intermediate" : "/shape/hidden";
    } else if (pointer.rfind(kM, 0) == 0) {
      pointer = "/shape/tokens" + pointer.substr(kM.size());
    }
  }
  return problems;
}

std::vector<Problem> check_meaning(const MoeSpec& spec) {
  Problems problems;
  check_experts(spec.shape, problems);
  check_router(spec, problems);
  check_shared(spec, problems);
  check_assignments(spec.shape, problems);
  for (Problem& problem : as_moe_problems(check_meaning(gate_up_gemm(spec)), "/weight/gate_up")) {
    if (problem.pointer != "/shape/tokens") problems.push_back(std::move(problem));
  }
  for (Problem& problem : as_moe_problems(check_meaning(down_gemm(spec)), "/weight/down")) {
    const bool is_told = std::any_of(problems.begin(), problems.end(), [&](const Problem& other) {
      return other.pointer == problem.pointer;
    });
    if (!is_told) problems.push_back(std::move(problem));
  }
  return problems;
}

}  // namespace heddle

#include "generator/model/impossible_cache.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "generator/operations/operation.h"
#include "generator/planner/serving.h"
#include "heddle/target.h"

namespace heddle {

bool is_of_kv_block(const Problem& problem) {
  return problem.pointer == "/kv" || problem.pointer.rfind("/kv/", 0) == 0;
}

void refuse_impossible_cache(const Spec& spec) {
  std::vector<Problem> of_block;
  const auto keep_if_of_block = [&](std::vector<Problem> problems) {
    if (std::all_of(problems.begin(), problems.end(), is_of_kv_block))
      of_block = std::move(problems);
  };
  std::vector<Problem> contradictions = check_meaning(spec);
  if (!contradictions.empty()) {
    keep_if_of_block(std::move(contradictions));
  } else {
    for (const Target& target : known_targets()) {
      std::vector<Problem> problems = refuse_on_target(spec, target);
      if (problems.empty()) return;
      keep_if_of_block(std::move(problems));
    }
  }
  if (!of_block.empty()) {
    throw Error(ErrorCategory::kSpec, "model.impossible_cache", std::move(of_block));
  }
}

}  // namespace heddle

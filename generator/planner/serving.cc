#include "generator/planner/serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "generator/families/registry.h"
#include "generator/operations/operation.h"
#include "generator/spec/refuse_if_any.h"
#include "heddle/error.h"

namespace heddle {
namespace {

// What one family says.
struct Answer {
  const Family* family;
  std::vector<Problem> problems;
};

bool has_field(const Problem& problem) { return !problem.pointer.empty(); }

// One list of what several families say, each line with the names of those that say it: a user may
// do what one of them asks for.
std::vector<Problem> joined(const std::vector<Answer>& answers) {
  std::vector<std::pair<std::string, Problem>> lines;  // by the names of families
  for (const Answer& answer : answers) {
    for (const Problem& problem : answer.problems) {
      const auto text = [](const Problem& one) {
        return std::tie(one.pointer, one.message, one.value, one.allowed);
      };
      const auto same = std::find_if(lines.begin(), lines.end(), [&](const auto& line) {
        return text(line.second) == text(problem);
      });
      if (same == lines.end()) {
        lines.emplace_back(answer.family->name(), problem);
      } else {
        same->first += fmt::format(", {}", answer.family->name());
      }
    }
  }
  std::vector<Problem> problems;
  for (auto& [names, problem] : lines) {
    problem.message = fmt::format("{}: {}", names, problem.message);
    problems.push_back(std::move(problem));
  }
  // What the user can change comes before what the target lacks.
  std::stable_partition(problems.begin(), problems.end(), has_field);
  return problems;
}

// Why no family serves the spec: what each of them says. Where there is one family, its name tells
// nothing.
std::vector<Problem> all_exclusions(const Spec& spec, const Target& target, const MRange& sizes) {
  const std::vector<const Family*>& families = families_of(spec.op());
  if (families.size() == 1) return families.front()->exclusions(spec, target, sizes);
  std::vector<Answer> answers;
  for (const Family* family : families) {
    if (!family->takes_operands_of(spec)) continue;
    answers.push_back({family, family->exclusions(spec, target, sizes)});
  }
  std::vector<Problem> problems = joined(answers);
  if (serving_families(with_path(spec, Path::kAuto), target, sizes).empty()) {
    for (Problem& problem : families.front()->operand_problems(spec, target)) {
      problems.push_back(std::move(problem));
    }
  }
  return problems;
}

bool lacks_path(const std::vector<Problem>& problems) {
  return std::any_of(problems.begin(), problems.end(),
                     [](const Problem& problem) { return problem.pointer == "/path"; });
}

}  // namespace

std::vector<const Family*> serving_families(const Spec& spec, const Target& target,
                                            const MRange& sizes) {
  std::vector<const Family*> families;
  for (const Family* family : families_of(spec.op())) {
    if (!family->takes_operands_of(spec) || !family->exclusions(spec, target, sizes).empty()) {
      continue;
    }
    if (family->owns(spec)) return {family};
    families.push_back(family);
  }
  return families;
}

std::vector<Problem> refuse_on_target(const Spec& asked, const Target& target) {
  std::vector<Problem> problems = families_of(asked.op()).front()->target_problems(asked, target);
  // A path that the target lacks is at fault by itself; the families say what else is.
  const Spec spec = lacks_path(problems) ? with_path(asked, Path::kAuto) : asked;
  const auto serves = [&target](const Spec& one, std::int64_t size) {
    return !serving_families(one, target, {size, size}).empty();
  };
  // A kernel of the path hopper has to serve the smallest size alone; an older path serves more.
  const MRange sizes = sizes_of(spec);
  const bool may_be_older = path_of(spec) == Path::kHopper && !serves(spec, sizes.max);
  const Spec of_most = may_be_older ? with_path(spec, Path::kAmpere) : spec;
  if (serves(spec, sizes.min) && serves(of_most, sizes.max)) return problems;
  for (Problem& problem : all_exclusions(spec, target, sizes)) {
    problems.push_back(std::move(problem));
  }
  return problems;
}

std::vector<Problem> tile_refusals(const Plan& plan, const MRange& sizes) {
  std::vector<Answer> answers;
  for (const Family* family : serving_families(plan.spec, plan.target, sizes)) {
    std::vector<Problem> problems = family->refusals(plan, sizes);
    if (!problems.empty()) answers.push_back({family, std::move(problems)});
  }
  return answers.size() == 1 ? std::move(answers.front().problems) : joined(answers);
}

void throw_refusals(const Plan& plan, const MRange& sizes) {
  refuse_if_any(plan.spec, tile_refusals(plan, sizes));
  if (path_of(plan.spec) == Path::kHopper) {
    refuse_if_any(plan.spec, tile_refusals(with_older_path(plan), sizes));
  }
  refuse_if_any(plan.spec, all_exclusions(plan.spec, plan.target, sizes));
  throw Error(ErrorCategory::kInternal, "plan.no_candidate",
              fmt::format("no family has a kernel for this {}, and none says why",
                          to_string(plan.spec.op())));
}

std::string why_none(const Family& family, const Plan& plan, const MRange& sizes) {
  if (!family.takes_operands_of(plan.spec)) return family.other_operands();
  std::vector<Problem> problems = family.exclusions(plan.spec, plan.target, sizes);
  if (problems.empty()) {
    const auto serving = serving_families(plan.spec, plan.target, sizes);
    if (std::find(serving.begin(), serving.end(), &family) == serving.end()) {
      return fmt::format("the spec's tile is one of {}", serving.front()->name());
    }
    problems = family.refusals(plan, sizes);
  }
  std::string text;
  for (const Problem& problem : problems) {
    text += (text.empty() ? "" : "; ") + problem.message;
  }
  return text.empty() ? "it has no kernel for so many tokens" : text;
}

Plan with_older_path(const Plan& plan) {
  Plan older = plan;
  older.spec = with_path(plan.spec, Path::kAmpere);
  return older;
}

Path path_of(const Spec& spec) { return operation_of(spec).path(spec.fields()); }

}  // namespace heddle

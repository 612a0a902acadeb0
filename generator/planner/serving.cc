#include "generator/planner/serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "generator/families/refuse.h"
#include "generator/families/registry.h"
#include "generator/families/tile_fields.h"
#include "generator/spec/in_quotes.h"
#include "generator/spec/refuse_if_any.h"
#include "generator/target/capabilities.h"
#include "heddle/error.h"

namespace heddle {
namespace {

// What one family says.
struct Answer {
  const GemmFamily* family;
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

bool may_serve_with_open_path(GemmSpec spec, const Target& target, const MRange& m) {
  spec.path = Path::kAuto;
  return !serving_families(spec, target, m).empty();
}

bool lacks_fp8(const GemmSpec& spec, const Target& target) {
  return spec.has_byte_activations() && spec.activation != DType::kInt8 && !has_fp8_mma(target);
}

// Why no family serves the spec: what each of them says.
std::vector<Problem> all_exclusions(const GemmSpec& spec, const Target& target, const MRange& m) {
  std::vector<Answer> answers;
  for (const GemmFamily* family : gemm_families()) {
    if (!has_operands_of(*family, spec)) continue;
    answers.push_back({family, family->exclusions(spec, target, m)});
  }
  std::vector<Problem> problems = joined(answers);
  const bool may_help = spec.has_byte_activations() && !lacks_fp8(spec, target);
  if (may_help && !may_serve_with_open_path(spec, target, m)) {
    problems.push_back({"/activation/dtype", "other families multiply values of 16 bits",
                        in_quotes(to_string(spec.activation)),
                        has_bf16(target) ? "\"fp16\", \"bf16\"" : "\"fp16\"", ""});
  }
  return problems;
}

// What the target lacks for any kernel.
std::vector<Problem> refuse_target(const GemmSpec& spec, const Target& target) {
  Reasons reasons;
  const int arch = target.arch();
  reasons.unless(has_tensor_cores(target), "",
                 fmt::format("target {} has no tensor core path", target.name),
                 fmt::format("sm_{}", arch), "sm_75 and up");
  reasons.unless(spec.activation != DType::kBf16 || has_bf16(target), "/activation/dtype",
                 fmt::format("the tensor cores of {} (sm_{}) have no bfloat16", target.name, arch),
                 "\"bf16\"", "\"fp16\"");
  reasons.unless(
      !lacks_fp8(spec, target), "/activation/dtype",
      [&] { return fmt::format("the tensor cores of {} (sm_{}) have no FP8", target.name, arch); },
      in_quotes(to_string(spec.activation)),
      has_bf16(target) ? "\"int8\", \"fp16\", \"bf16\"" : "\"int8\", \"fp16\"");
  reasons.unless(
      spec.output_dtype() != DType::kBf16 || spec.activation == DType::kBf16 || has_bf16(target),
      "/output/dtype", fmt::format("{} (sm_{}) has no bfloat16", target.name, arch), "\"bf16\"",
      "\"fp16\", \"fp32\"");
  reasons.unless(spec.path != Path::kAmpere || has_async_copies(target), "/path",
                 fmt::format("{} (sm_{}) has no cp.async and no mma.m16n8k16", target.name, arch),
                 "\"ampere\"", "\"turing\", \"auto\"");
  reasons.unless(
      spec.path != Path::kHopper || has_bulk_copies(target), "/path",
      fmt::format("{} (sm_{}) has no bulk copies", target.name, arch), "\"hopper\"",
      has_async_copies(target) ? "\"turing\", \"ampere\", \"auto\"" : "\"turing\", \"auto\"");
  return reasons.take();
}

bool lacks_path(const std::vector<Problem>& problems) {
  return std::any_of(problems.begin(), problems.end(),
                     [](const Problem& problem) { return problem.pointer == "/path"; });
}

}  // namespace

std::vector<const GemmFamily*> serving_families(const GemmSpec& spec, const Target& target,
                                                const MRange& m) {
  std::vector<const GemmFamily*> families;
  for (const GemmFamily* family : gemm_families()) {
    if (!has_operands_of(*family, spec) || !family->exclusions(spec, target, m).empty()) continue;
    if (spec.path == Path::kAuto && sets_any(spec.tile) && family->owns_tiles_without_path()) {
      return {family};
    }
    families.push_back(family);
  }
  return families;
}

std::vector<Problem> refuse_pair(const GemmSpec& asked, const Target& target) {
  std::vector<Problem> problems = refuse_target(asked, target);
  // A path that the target lacks is at fault by itself; the families say what else is.
  GemmSpec spec = asked;
  if (lacks_path(problems)) spec.path = Path::kAuto;
  const auto serves = [&target](const GemmSpec& one, std::int64_t m) {
    return !serving_families(one, target, {m, m}).empty();
  };
  // A kernel of the path hopper has to serve the fewest tokens alone; an older path serves more.
  const auto [least, most] = std::pair(spec.shape.m_min, spec.shape.m_max);
  GemmSpec of_most = spec;
  if (spec.path == Path::kHopper && !serves(spec, most)) of_most.path = Path::kAmpere;
  if (serves(spec, least) && serves(of_most, most)) return problems;
  for (Problem& problem : all_exclusions(spec, target, {least, most})) {
    problems.push_back(std::move(problem));
  }
  return problems;
}

std::vector<Problem> tile_refusals(const Plan& plan, const MRange& m) {
  std::vector<Answer> answers;
  for (const GemmFamily* family : serving_families(plan.spec.gemm(), plan.target, m)) {
    std::vector<Problem> problems = family->refusals(plan, m);
    if (!problems.empty()) answers.push_back({family, std::move(problems)});
  }
  return answers.size() == 1 ? std::move(answers.front().problems) : joined(answers);
}

void throw_refusals(const Plan& plan, const MRange& m) {
  const GemmSpec& spec = plan.spec.gemm();
  refuse_if_any(plan.spec, tile_refusals(plan, m));
  if (spec.path == Path::kHopper) refuse_if_any(plan.spec, tile_refusals(with_older_path(plan), m));
  refuse_if_any(plan.spec, all_exclusions(spec, plan.target, m));
  throw Error(ErrorCategory::kInternal, "plan.no_candidate",
              "no family has a kernel for this gemm, and none says why");
}

std::string why_none(const GemmFamily& family, const Plan& plan, const MRange& m) {
  const GemmSpec& spec = plan.spec.gemm();
  if (!has_operands_of(family, spec)) {
    return family.multiplies_halves() ? "it multiplies values of 16 bits"
                                      : "it multiplies codes of 8 bits";
  }
  std::vector<Problem> problems = family.exclusions(spec, plan.target, m);
  if (problems.empty()) {
    const auto serving = serving_families(spec, plan.target, m);
    if (std::find(serving.begin(), serving.end(), &family) == serving.end()) {
      return fmt::format("the spec's tile is one of {}", serving.front()->name());
    }
    problems = family.refusals(plan, m);
  }
  std::string text;
  for (const Problem& problem : problems) {
    text += (text.empty() ? "" : "; ") + problem.message;
  }
  return text.empty() ? "it has no kernel for so many tokens" : text;
}

Plan with_older_path(const Plan& plan) {
  GemmSpec spec = plan.spec.gemm();
  spec.path = Path::kAmpere;
  Plan older = plan;
  older.spec = Spec::from_gemm(spec, plan.spec.name());
  return older;
}

}  // namespace heddle

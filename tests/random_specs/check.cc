#include "tests/random_specs/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "generator/families/family.h"
#include "generator/target/check_target.h"
#include "heddle/inspect/plan.h"
#include "heddle/spec.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

// Thrown by expect(), for check_case() alone.
struct Fault {
  std::string what;
};

void expect(bool fine, const std::string& what) {
  if (!fine) throw Fault{what};
}

// A plan, or why there is none.
struct Answer {
  std::optional<Plan> plan;
  std::vector<Problem> problems;
  std::string text;  // all of the plan, or all of the refusal
};

Answer answer_of(const Spec& spec, const Target& target) {
  Answer answer;
  try {
    answer.plan = resolve(spec, target);
    answer.text = plan_to_json(*answer.plan);
    return answer;
  } catch (const Error& error) {
    const bool absurd = !target_problems(target).empty();
    const ErrorCategory wanted = absurd ? ErrorCategory::kUsage : ErrorCategory::kUnsupported;
    expect(error.category() == wanted,
           fmt::format("resolve() fails with {}: {}", error.code(), error.what()));
    answer.problems = error.problems();
    answer.text = error.code() + ": " + error.what();
  }
  expect(!answer.problems.empty(), "a refusal without a reason");
  for (const Problem& problem : answer.problems) {
    expect(!problem.message.empty(), "a refusal with an empty reason");
  }
  return answer;
}

void check_launch(const Plan& plan, std::size_t kernel, const LaunchSize& size) {
  const KernelLaunch launch = plan.launch(kernel, size);
  expect(launch.grid_x >= 1 && launch.grid_y >= 1 && launch.grid_y <= 65535 && launch.grid_z >= 1 &&
             launch.grid_z <= 65535,
         "a grid that no GPU launches");
  expect(launch.cluster >= 1 && launch.grid_x % launch.cluster == 0, "a part of a cluster");
}

// Checks the ranges of M of an operation that has M.
void check_ranges(const Plan& plan) {
  const MRange range = plan.spec.m_range();
  const std::size_t most = plan.max_workspace_bytes();
  expect(most < std::size_t{1} << 62, "a workspace that no GPU has");
  std::int64_t next = range.min;
  for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
    const PlannedKernel& kernel = plan.kernels[i];
    expect(kernel.size_min == next && kernel.size_max >= kernel.size_min,
           "ranges of M that do not follow each other");
    const auto config = kernel.family->json(kernel);
    for (const auto& [member, least] : {std::pair{"stages", 2},
                                        {"split_k", 1},
                                        {"tile_m", 8},
                                        {"tile_n", 16},
                                        {"tokens", 1},
                                        {"stage_k", 64},
                                        {"stage_chunks", 1},
                                        {"workers", 1}}) {
      expect(!config.contains(member) || config[member] >= least, "a tile of no size");
    }
    for (const std::int64_t m : {kernel.size_min, kernel.size_max}) {
      expect(plan.workspace_bytes(m) <= most, "a launch with more workspace than the most");
      expect(plan.kernel_for(m) == i, "an M that another kernel serves");
      for (int phase = 0; phase < kernel.phases; ++phase) {
        LaunchSize size{m};
        size.phase = phase;
        check_launch(plan, i, size);
      }
    }
    next = kernel.size_max + 1;
  }
  expect(next == range.max + 1, "an M that no kernel serves");
}

void check_plan(const Plan& plan) {
  expect(plan.kernel_count() > 0, "a plan without kernels");
  if (plan.spec.has_m()) check_ranges(plan);
  for (std::size_t i = 0; i < plan.kernel_count(); ++i) {
    const PlannedKernel& kernel = plan.kernel(i);
    expect(kernel.threads >= 32 && kernel.threads <= 1024 && kernel.threads % 32 == 0,
           "a block that has no such number of threads");
    expect(kernel.shared_bytes >= 0 && kernel.shared_bytes <= plan.target.shared_per_block,
           "more shared memory than a block has");
    expect(!kernel.arguments.empty(), "a kernel without arguments");
  }
}

Source render_one(const Plan& plan, std::size_t kernel) {
  Source source = render(plan, kernel);
  expect(source.text.find(' ' + source.kernel_name + '(') != std::string::npos,
         "a source without its kernel " + source.kernel_name);
  expect(source.arch == compiler_arch(plan.target), "a source for another architecture");
  return source;
}

// For weights that are packed here: packing takes as long as there are codes.
constexpr std::int64_t kMostCodes = 1 << 15;

// What has a kernel of quantize_weight is rounded on the host, too.
void check_quantizing(const Spec& spec) {
  if (spec.op() != Op::kQuantizeWeight) return;
  const std::int64_t codes = spec.weight_shape().n * spec.weight_shape().k;
  if (codes > kMostCodes) return;
  const std::vector<std::uint16_t> w(static_cast<std::size_t>(codes));
  expect(quantize_weights(spec.weight_op(), w).codes.size() == w.size(),
         "quantised weights of another size");
}

void check_packing(const Spec& spec, const Plan& plan) {
  if (spec.op() != Op::kGemm) return;
  const GemmSpec& gemm = spec.gemm();
  if (gemm.shape.n * gemm.shape.k > kMostCodes) return;
  const std::vector<std::uint8_t> packed(plan.layout.total_bytes);
  const QuantizedWeights plain = unpack_weights(gemm, packed.data(), packed.size());
  expect(pack_weights(gemm, plain).size() == packed.size(), "packed weights of another size");
}

void check(const Spec& spec, const Target& target, bool all_kernels, Random& random,
           Verdict* verdict) {
  const std::string canonical = spec.canonical_json();
  expect(Spec::parse(canonical).canonical_json() == canonical,
         "the canonical text is another one once it is parsed");
  Answer first = answer_of(spec, target);
  expect(answer_of(spec, target).text == first.text, "resolve() gives another answer");
  verdict->problems = std::move(first.problems);
  if (!first.plan) return;
  const Plan& plan = *first.plan;
  verdict->has_plan = true;
  check_plan(plan);
  expect(!describe(plan).empty(), "a plan without a description");
  check_quantizing(spec);
  check_packing(spec, plan);
  const std::size_t count = plan.kernel_count();
  const std::size_t picked = below(random, count);
  for (std::size_t i = 0; i < count; ++i) {
    if (all_kernels || i == picked) verdict->sources.push_back(render_one(plan, i));
  }
}

}  // namespace

Verdict check_case(const std::string& spec, const Target& target, bool all_kernels,
                   Random& random) {
  Verdict verdict;
  try {
    check(Spec::parse(spec), target, all_kernels, random, &verdict);
  } catch (const Fault& fault) {
    verdict.fault = fault.what;
  } catch (const Error& error) {
    verdict.fault = fmt::format("{}: {}", error.code(), error.what());
  } catch (const std::exception& error) {
    verdict.fault = fmt::format("an exception: {}", error.what());
  }
  return verdict;
}

}  // namespace heddle

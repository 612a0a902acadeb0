// heddle explain: the kernels that a plan was chosen from, and why it has those that it has.
#include "generator/planner/explain.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "generator/operations/operation.h"
#include "heddle/inspect/plan.h"
#include "heddle/runtime.h"
#include "heddle/tuned.h"
#include "tools/heddle/cache/unused_entries.h"
#include "tools/heddle/plan/explain_report.h"
#include "tools/heddle/run/device_check.h"
#include "tools/heddle/run/launch_sizes.h"
#include "tools/heddle/run/sweep.h"
#include "tools/heddle/shared/commands.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/input.h"
#include "tools/heddle/shared/options.h"
#include "tools/heddle/shared/output.h"

namespace heddle {
namespace {

struct ExplainOptions {
  std::string spec;
  std::string target;
  CompileOptions compile;
  std::vector<std::int64_t> m;
  std::vector<std::string> loads;
  std::size_t most = 12;
  bool measure = false;
  bool costs = false;
  bool json = false;
};

// The chosen candidate first, as sweeps have it.
MeasuredUs measure(Runtime& runtime, const Explanation& explanation, std::size_t most) {
  std::vector<std::size_t> places{explanation.chosen};
  for (const std::size_t place : shown_places(explanation, most)) {
    if (place != explanation.chosen) places.push_back(place);
  }
  std::vector<CandidatePlan> candidates;
  candidates.reserve(places.size());
  for (const std::size_t place : places) candidates.push_back(explanation.candidates[place]);
  const TimingBudget budget{.total_us = 1e3 * kSweepMilliseconds};
  return measured_us(sweep_at(runtime, candidates, explanation.size, budget), places);
}

// Measuring needs the GPU itself; a target's name only makes sure of its architecture.
Target target_of(const ExplainOptions& options, Runtime& runtime) {
  if (!options.measure) return choose_target(options.target, runtime);
  require_device(&runtime, options.target);
  return runtime.device_target();
}

// The smallest M of each kernel, or the first launch that it was chosen by.
std::vector<LaunchSize> first_of_kernels(const Plan& plan) {
  std::vector<LaunchSize> sizes;
  for (const PlannedKernel& kernel : plan.kernels) {
    const Operation& operation = operation_of(plan.spec);
    if (operation.size_kind() == SizeKind::kRows) {
      sizes.push_back({kernel.size_min});
    } else {
      sizes.push_back(operation.usual_launches({kernel.size_min, kernel.size_max}).front());
    }
  }
  return sizes;
}

int run(const ExplainOptions& options) {
  const Spec spec = read_spec(options.spec);
  std::vector<LaunchSize> sizes = launch_sizes(spec, options.m, options.loads);
  if (options.measure) check_has_candidates(spec, "--measure");
  Runtime runtime(runtime_options(options.compile));
  const Plan plan = resolve(spec, target_of(options, runtime), runtime.tuned_tables());
  const TunedTable* const table = runtime.tuned_tables().of(plan.target);
  const std::vector<std::string> unused = unused_entries(plan, runtime.tuned_tables());
  if (sizes.empty()) sizes = first_of_kernels(plan);
  std::string text;
  auto documents = nlohmann::ordered_json::array();
  for (const LaunchSize& size : sizes) {
    const Explanation explanation = explain_choice(plan, size, table);
    const MeasuredUs measured =
        options.measure ? measure(runtime, explanation, options.most) : MeasuredUs{};
    text += (text.empty() ? "" : "\n") + explain_text(explanation, options.most, measured);
    documents.push_back(explain_json(explanation, options.most, measured));
  }
  if (options.json) {
    nlohmann::ordered_json document = {
        {"target", plan.target.name}, {"explanations", std::move(documents)}, {"unused", unused}};
    if (options.costs) document["costs"] = costs_json(plan);
    print_json(document);
  } else {
    print(options.costs ? text + "\n" + costs_text(plan) : text);
  }
  flush_output();
  print_unused(unused);
  return kExitDone;
}

}  // namespace

void add_explain_command(CLI::App& app, Action* action) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = app.add_subcommand("explain", "Show the kernels that a plan was chosen from");
  command->add_option("SPEC", options->spec, kSpecHelp)->required();
  add_m_list_option(*command, &options->m,
                    "numbers of tokens to explain; default the smallest of each kernel");
  command
      ->add_option("--loads", options->loads,
                   "of decode_attention: sequences and their length, as 64x8192; default one for "
                   "each kernel")
      ->type_name("BxL,BxL...")
      ->delimiter(',');
  command
      ->add_option(
          "--most", options->most,
          "show so many candidates for each M or load, the fastest by prediction, and the plan's; "
          "default 12")
      ->type_name("N")
      ->check(CLI::Range(1, 100000));
  command->add_flag("--measure", options->measure,
                    "also time those that are shown, on the GPU of this machine");
  command->add_flag("--costs", options->costs,
                    "also the parameters that predicted times are made of, and where each value is "
                    "from");
  add_target_option(*command, &options->target);
  add_tuned_option(*command, &options->compile);
  add_compile_options(*command, &options->compile);
  add_json_option(*command, &options->json);
  command->footer(
      "The predicted time, us, is in microseconds. Behind the grid is the size of clusters, where\n"
      "blocks have them. SHARED is in bytes of a block; REGISTERS is how many of them the "
      "compiler\n"
      "may give to a thread.\n"
      "Kernels are chosen for the last M of each step of tokens, those of decode_attention for "
      "the\n"
      "average of usual loads; one that takes at most 3 % more "
      "than\n"
      "the fastest serves the neighbouring step, too, and saves a kernel. --measure makes --target "
      "stop\n"
      "unless the GPU is of that architecture; --strict and --jobs matter with it alone.\n"
      "Example:\n"
      "  heddle explain examples/specs/symmetric-g128.json --target h200 --m 16");
  command->callback([=] { *action = [options] { return run(*options); }; });
}

}  // namespace heddle

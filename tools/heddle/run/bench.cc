// heddle bench: how long a spec's kernels take on the GPU, beside what the memory and cuBLAS allow.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "generator/operations/operation.h"
#include "generator/planner/candidates.h"
#include "heddle/error.h"
#include "heddle/runtime.h"
#include "tools/gpu_harness/operations/gemm/report.h"
#include "tools/heddle/run/attention_loads.h"
#include "tools/heddle/run/device_check.h"
#include "tools/heddle/run/launch_sizes.h"
#include "tools/heddle/run/row_behind.h"
#include "tools/heddle/run/rows.h"
#include "tools/heddle/run/step.h"
#include "tools/heddle/run/sweep.h"
#include "tools/heddle/shared/commands.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/launch_text.h"
#include "tools/heddle/shared/model_input.h"
#include "tools/heddle/shared/model_remarks.h"
#include "tools/heddle/shared/options.h"
#include "tools/heddle/shared/output.h"
#include "tools/heddle/shared/progress.h"

namespace heddle {
namespace {

constexpr std::size_t kSweepRows = 10;

struct BenchCommand {
  std::string input;
  std::string target;
  CompileOptions compile;
  std::vector<std::int64_t> m = {1, 16, 64};
  bool has_m = false;  // on the command line
  std::string baseline;
  std::vector<std::string> loads;
  std::string behind;
  StepOptions step;
  bool chain = false;
  bool skewed = false;
  bool sweep = false;
  std::size_t most = 0;     // candidates of a sweep; 0: all
  double milliseconds = 0;  // 0: as long as is usual
  double rest = 0;          // times each replay
  bool json = false;
};

TimingBudget budget_of(const BenchCommand& options, TimingBudget usual) {
  if (options.milliseconds > 0) usual.total_us = 1e3 * options.milliseconds;
  usual.rest = options.rest;
  return usual;
}

std::vector<Spec> read_specs(const BenchCommand& options) {
  std::vector<Spec> specs;
  Runtime probe(runtime_options(options.compile));  // inputs are judged before GPUs
  const Model model = read_model(options.input, arch_of_target(options.target, probe));
  print_unserved(model);
  for (const ModelKernel& kernel : model.kernels) specs.push_back(kernel.spec);
  return specs;
}

void check_gemms(const std::vector<Spec>& specs, const std::vector<std::int64_t>& m_list) {
  for (const Spec& spec : specs) {
    if (is_gemm(spec)) continue;
    throw Error(ErrorCategory::kUsage, "tool.bench_list",
                fmt::format("a list to time is of gemms, one of these is a {}; time it alone",
                            to_string(spec.op())));
  }
  for (const Spec& spec : specs) {
    for (const std::int64_t m : m_list) check_m_option(spec.m_range(), m);
  }
}

// The planner's own, the half that is predicted to be fastest, and as many evenly of the others.
std::vector<CandidatePlan> sample(std::vector<CandidatePlan> all, std::size_t most) {
  if (most == 0 || all.size() <= most) return all;
  const std::size_t fastest = most / 2;
  std::vector<CandidatePlan> some(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(fastest));
  const std::size_t others = most - fastest;
  for (std::size_t i = 0; i < others; ++i) {
    some.push_back(std::move(all[fastest + i * (all.size() - fastest) / others]));
  }
  return some;
}

int run_sweep(const BenchCommand& options, const Spec& spec) {
  check_has_candidates(spec, "--sweep");
  const bool has_m = options.has_m || is_gemm(spec);
  std::vector<LaunchSize> sizes =
      launch_sizes(spec, has_m ? options.m : std::vector<std::int64_t>(), options.loads);
  const Operation& operation = operation_of(spec);
  if (sizes.empty()) sizes = operation.usual_launches(operation.sizes(spec.fields()));
  Runtime runtime(runtime_options(options.compile));
  require_device(&runtime, options.target);
  auto documents = nlohmann::ordered_json::array();
  for (const LaunchSize& size : sizes) {
    const Plan plan = resolve(spec, runtime.device_target(), runtime.tuned_tables());
    const std::vector<CandidatePlan> candidates = sample(candidate_plans(plan, size), options.most);
    const Sweep sweep =
        sweep_at(runtime, candidates, size,
                 budget_of(options, {.total_us = 1e3 * kSweepMilliseconds}), options.skewed);
    if (options.json) {
      documents.push_back(sweep_json(sweep, launch_json(spec, size)));
    } else {
      print(sweep_text(sweep, kSweepRows));
      flush_output();
    }
  }
  if (options.json) {
    print_json({{"device", runtime.device_target().name}, {"sweeps", std::move(documents)}});
  }
  return kExitDone;
}

int run_behind(const BenchCommand& options, const std::vector<Spec>& specs) {
  const std::vector<std::int64_t> m = options.has_m ? options.m : std::vector<std::int64_t>{1};
  const Spec gemm = read_gemm_behind(specs, options.behind, m);
  Runtime runtime(runtime_options(options.compile));
  require_device(&runtime, options.target);
  return bench_row_behind(runtime, specs.front(), gemm, m, budget_of(options, {}), options.json);
}

void refuse_skewed(const BenchCommand& options, const std::vector<Spec>& specs) {
  if (!options.skewed || (specs.size() == 1 && specs.front().op() == Op::kMoe)) return;
  throw Error(ErrorCategory::kUsage, "tool.skewed", "--skewed is of one moe");
}

// What the options mean for a list of gemms, and for one spec of another operation.
BenchOptions gemm_bench(const BenchCommand& options, const std::vector<Spec>& specs) {
  if (!options.loads.empty()) {
    throw Error(ErrorCategory::kUsage, "tool.loads", "--loads is of decode_attention");
  }
  check_gemms(specs, options.m);
  BenchOptions bench;
  bench.m = options.m;
  bench.budget = budget_of(options, {});
  bench.cublas = !options.baseline.empty();
  bench.chain = options.chain;
  return bench;
}
BenchOptions other_bench(const BenchCommand& options, const std::vector<Spec>& specs) {
  const Spec& spec = specs.front();
  if (options.chain) refuse_gemm_option("--chain", spec);
  if (!options.baseline.empty()) refuse_gemm_option("--baseline", spec);
  BenchOptions bench;
  if (options.has_m) bench.m = options.m;
  check_m_list(spec, bench.m);
  check_loads(spec, options.loads);
  bench.loads = parse_attention_loads(options.loads);
  bench.skewed = options.skewed;
  bench.budget = budget_of(options, {});
  return bench;
}

int bench_specs(const BenchCommand& options, const std::vector<Spec>& specs, BenchOptions bench,
                Runtime& runtime) {
  // A single spec is done before anyone asks.
  Progress progress(specs.size() > 1);
  std::vector<std::string> names;
  for (const Spec& spec : specs) {
    if (is_gemm(spec)) names.push_back(bench_name(spec));
  }
  show_bench_progress(&progress, names, &bench);
  const BenchReport report = harness_of(specs.front()).bench(runtime, specs, bench);
  if (!report.missing.empty()) print_problem("no baseline: " + report.missing);
  if (options.json) {
    print_json(bench_json(report, runtime.device_target().name));
  } else {
    print(bench_text(report));
  }
  return kExitDone;
}

int run(const BenchCommand& options) {
  if (options.step.step) {
    return bench_step(options.step, {options.input, options.target, options.compile,
                                     budget_of(options, {}), options.json});
  }
  const std::vector<Spec> specs = read_specs(options);
  refuse_skewed(options, specs);
  if (!options.behind.empty()) return run_behind(options, specs);
  if (options.sweep && specs.size() != 1) {
    throw Error(ErrorCategory::kUsage, "tool.sweep_list", "--sweep takes one spec, not a list");
  }
  if (options.sweep) return run_sweep(options, specs.front());
  const bool of_gemms = specs.size() != 1 || is_gemm(specs.front());
  const BenchOptions bench = of_gemms ? gemm_bench(options, specs) : other_bench(options, specs);
  Runtime runtime(runtime_options(options.compile));
  require_device(&runtime, options.target);
  return bench_specs(options, specs, bench, runtime);
}

}  // namespace

void add_bench_command(CLI::App& app, Action* action) {
  auto options = std::make_shared<BenchCommand>();
  CLI::App* command = app.add_subcommand("bench", "Time kernels on the GPU");
  command
      ->add_option("SPEC", options->input,
                   "a JSON spec, a list of them or a model's config.json: a file, - for standard "
                   "input, or the JSON of one spec itself")
      ->required();
  CLI::Option* m = add_m_list_option(*command, &options->m,
                                     "numbers of tokens to time; default 1,16,64, of row_transform "
                                     "1,16,256,4096, with --behind 1");
  add_baseline_option(*command, &options->baseline);
  command
      ->add_option("--loads", options->loads,
                   "of decode_attention: sequences and their length, or a range that lengths are "
                   "drawn from, as 64x8192,64x1-16384")
      ->type_name("BxL,BxL...")
      ->delimiter(',');
  command->add_flag("--chain", options->chain,
                    "also the specs one after another in one graph, as a model's layers are");
  CLI::Option* skewed = command->add_flag(
      "--skewed", options->skewed,
      "of moe: of the experts in some order the i-th is chosen in proportion to 1 / i; else all "
      "alike");
  CLI::Option* sweep = command->add_flag(
      "--sweep", options->sweep,
      "every kernel that the planner could have chosen for each M or load, and how far its choice "
      "is from the fastest");
  sweep->excludes("--baseline")->excludes("--chain");
  command
      ->add_option("--behind", options->behind,
                   "of row_transform: by how much a GEMM with the rows behind it takes longer than "
                   "the GEMM alone; the GEMM's spec, as SPEC")
      ->type_name("SPEC")
      ->check([](const std::string& text) { return text.empty() ? "is empty" : ""; })
      ->excludes("--baseline")
      ->excludes("--loads")
      ->excludes("--chain")
      ->excludes("--sweep");
  command
      ->add_option("--most", options->most,
                   "of a sweep: at most so many candidates, half of them those that are predicted "
                   "to be the fastest, the others from all over the list")
      ->type_name("N")
      ->check(CLI::Range(2, 100000))
      ->needs(sweep);
  command
      ->add_option(
          "--ms", options->milliseconds,
          "how long to measure each kernel, at each M or load; default 50, with --sweep 10")
      ->type_name("MS")
      ->check(CLI::Range(1.0, 10000.0));
  command
      ->add_option("--rest", options->rest,
                   "leave the GPU idle for so many times as long after each replay, so that it "
                   "keeps below its limit of power; default 0")
      ->type_name("TIMES")
      ->check(CLI::Range(0.0, 100.0));
  add_step_options(*command, &options->step)
      ->excludes(m)
      ->excludes("--baseline")
      ->excludes("--loads")
      ->excludes("--chain")
      ->excludes("--sweep")
      ->excludes("--behind")
      ->excludes(skewed);
  add_device_target_option(*command, &options->target);
  add_tuned_option(*command, &options->compile);
  add_compile_options(*command, &options->compile);
  add_json_option(*command, &options->json);
  command->footer(
      "Medians of CUDA graphs over weights that rotate through more memory than the caches hold.\n"
      "FLOOR is the time of moving the bytes at the streaming rate of this run; on an H100 or H200 "
      "also\n"
      "that of a launch, and at least the time of the tensor cores. Without cuBLAS the baseline is "
      "left\n"
      "out with a line on stderr. Dequantising is timed beside a plain kernel that reads and\n"
      "writes the same numbers of bytes.\n"
      "A step's FLOOR is its bytes at that rate alone. IN STEP is by how much a step without the\n"
      "kernel's launches is faster, per launch; ALONE is a launch in a graph of these launches.\n"
      "Example:\n"
      "  heddle bench examples/specs/symmetric-g128.json --m 1,16,64 --baseline cublas\n"
      "  heddle bench examples/models/llama-3-8b-awq/config.json --m 1 --chain\n"
      "  heddle bench examples/models/llama-3-8b-awq/config.json --step --batch 1,8 --gated");
  command->callback([=] {
    options->has_m = m->count() > 0;
    *action = [options] { return run(*options); };
  });
}

}  // namespace heddle

// heddle tune: the kernels of gemms that this machine's GPU runs fastest, as a tuned table.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "generator/planner/tuned_choice.h"
#include "generator/tuned/format.h"
#include "heddle/error.h"
#include "heddle/tuned.h"
#include "tools/gpu_harness/operations/gemm/report.h"
#include "tools/heddle/run/tune_calibrate.h"
#include "tools/heddle/run/tune_options.h"
#include "tools/heddle/run/tune_report.h"
#include "tools/heddle/run/tune_run.h"
#include "tools/heddle/shared/commands.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/model_input.h"
#include "tools/heddle/shared/model_remarks.h"
#include "tools/heddle/shared/options.h"
#include "tools/heddle/shared/output.h"
#include "tools/tune/tuner.h"

namespace heddle {
namespace {

struct TuneCommandOptions {
  std::string input;
  std::string m = "1-4096";
  std::size_t most = 12;
  bool calibrate = false;
  TuneRunOptions run;
};

// A table is not used for specs that set these.
void refuse_settled(const Spec& spec) {
  const char* const set = what_no_table_has(spec.gemm());
  if (set == nullptr) return;
  throw Error(ErrorCategory::kUnsupported, "tool.tune_settled",
              fmt::format("{} sets {}: no tuned table is used for it", bench_name(spec), set));
}

// The gemms of a model, a list or one spec; of those that one entry would serve the first.
std::vector<Spec> read_gemms(const std::string& input, int arch) {
  const Model model = read_model(input, arch);
  print_unserved(model);
  std::vector<Spec> gemms;
  for (const ModelKernel& kernel : model.kernels) {
    if (!is_gemm(kernel.spec)) continue;
    refuse_settled(kernel.spec);
    const GemmSpec& one = kernel.spec.gemm();
    const bool known = std::any_of(gemms.begin(), gemms.end(), [&one](const Spec& other) {
      const GemmSpec& gemm = other.gemm();
      return gemm.shape.n == one.shape.n && gemm.shape.k == one.shape.k && same_format(gemm, one);
    });
    if (!known) gemms.push_back(kernel.spec);
  }
  if (gemms.empty()) {
    throw Error(ErrorCategory::kUnsupported, "tool.tune_nothing",
                "there is no gemm to tune: kernels of other operations are not chosen by tables");
  }
  return gemms;
}

// The kernels that are measured are the fastest by the costs in use, whatever entries say.
TunedTables costs_in_use(const TuneRun& run) {
  TunedTables tables;
  const TunedTable* const table = run.runtime().tuned_tables().of(run.target());
  if (table != nullptr) tables.add(TunedTable::from_entries(run.gpu(), {}, table->costs()));
  return tables;
}

std::vector<TuneJob> jobs_of(const std::vector<Spec>& specs, const TuneRun& run, const MRange& m) {
  const TunedTables tables = costs_in_use(run);
  std::vector<TuneJob> jobs;
  for (const Spec& spec : specs) {
    if (steps_in(spec.gemm().shape, m).empty()) {
      throw Error(ErrorCategory::kUsage, "tool.tune_m",
                  fmt::format("--m {}-{} is outside of the M of {}, {} to {}", m.min, m.max,
                              bench_name(spec), spec.gemm().shape.m_min, spec.gemm().shape.m_max));
    }
    jobs.push_back({bench_name(spec), resolve(spec, run.target(), tables)});
  }
  return jobs;
}

int run_tuning(const TuneCommandOptions& command) {
  TuneOptions options;
  options.m = parse_m_range(command.m);
  options.most = command.most;
  Runtime probe(runtime_options(command.run.compile));  // inputs are judged before GPUs
  const std::vector<Spec> specs = read_gemms(command.input, arch_of_target("", probe));
  const TuneRun run(command.run);
  options.seconds = run.seconds();
  options.from = run.origin();
  const std::vector<TuneJob> jobs = jobs_of(specs, run, options.m);
  TuneReport report;
  run.measure([&](TuneDevice& device, const TuneHooks& hooks) {
    report = tune(device, jobs, options, hooks);
  });
  const TunedTable table = run.write(TunedTable::from_entries(run.gpu(), report.entries));
  if (run.json()) {
    print_json(tune_json(report, table));
  } else {
    print(run.has_file() ? tune_text(report) : table.to_json());
  }
  flush_output();
  return report_tuning(report);
}

int run(const TuneCommandOptions& command) {
  if (command.calibrate) return run_calibration(TuneRun(command.run));
  if (command.input.empty()) {
    throw Error(ErrorCategory::kUsage, "tool.tune_model",
                "heddle tune wants a MODEL, or --calibrate, which measures problems of its own");
  }
  return run_tuning(command);
}

}  // namespace

void add_tune_command(CLI::App& app, Action* action) {
  auto options = std::make_shared<TuneCommandOptions>();
  CLI::App* command =
      app.add_subcommand("tune", "Measure which kernels of gemms are the fastest on the GPU");
  CLI::Option* const model = command->add_option("MODEL", options->input, kModelHelp);
  CLI::Option* const calibrate = command->add_flag(
      "--calibrate", options->calibrate,
      "measure what predicted times are made of on this GPU instead, with problems of its own");
  calibrate->excludes(model);
  command
      ->add_option(
          "--m", options->m,
          "numbers of tokens to find kernels for; default 1-4096, as far as a spec has them")
      ->type_name("M-M")
      ->check(m_range_problem)
      ->excludes(calibrate);
  command
      ->add_option("--budget", options->run.budget,
                   "how long to measure and compile in all, in s, m or h; default 60s")
      ->type_name("TIME")
      ->check(seconds_problem);
  command
      ->add_option("--most", options->most,
                   "candidates to time for each step of tokens, fewer where the budget is short; "
                   "default 12")
      ->type_name("N")
      ->check(CLI::Range(1, 1000))
      ->excludes(calibrate);
  command
      ->add_option("-o,--out", options->run.out,
                   "file of the table; one that is there is merged with what is measured")
      ->type_name("FILE");
  add_tuned_option(*command, &options->run.compile);
  add_compile_options(*command, &options->run.compile);
  add_json_option(*command, &options->run.json);
  command->footer(
      "The kernels that are predicted to be the fastest are compiled, checked once against FP64\n"
      "and timed in rounds; those that are clearly slower drop out. One kernel serves "
      "neighbouring\n"
      "steps of tokens where it takes at most 3 % more than the fastest of each.\n"
      "PREDICTED is the measured time of the kernel that was predicted to be the fastest. Without\n"
      "--out the table itself is printed.\n"
      "SIGINT (Ctrl-C) ends the measuring: what was measured until then is written, and the exit\n"
      "code is 130. It is 1 where the budget did not reach every step or a kernel is wrong.\n"
      "--calibrate times kernels of every family for a fixed set of problems and fits the costs "
      "of\n"
      "predicted times to them: the table then serves every gemm on this GPU. One cell in four is\n"
      "held out; costs that predict these worse than the current ones are not written.\n"
      "Example:\n"
      "  heddle tune examples/specs/symmetric-g128.json --m 1-64 --budget 60s --out tuned.json\n"
      "  heddle tune --calibrate --out tuned.json");
  command->callback([=] { *action = [options] { return run(*options); }; });
}

}  // namespace heddle

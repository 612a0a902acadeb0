// heddle tune: the kernels of gemms that this machine's GPU runs fastest, as a tuned table.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "generator/planner/tuned_choice.h"
#include "generator/tuned/format.h"
#include "heddle/error.h"
#include "heddle/runtime.h"
#include "heddle/tuned.h"
#include "heddle/version.h"
#include "tools/heddle/bench_report.h"
#include "tools/heddle/commands.h"
#include "tools/heddle/device_check.h"
#include "tools/heddle/errors.h"
#include "tools/heddle/interrupt.h"
#include "tools/heddle/model_input.h"
#include "tools/heddle/options.h"
#include "tools/heddle/output.h"
#include "tools/heddle/progress.h"
#include "tools/heddle/tune_device.h"
#include "tools/heddle/tune_options.h"
#include "tools/heddle/tune_report.h"
#include "tools/heddle/tuned_file.h"
#include "tools/tune/tuner.h"

namespace heddle {
namespace {

struct TuneCommandOptions {
  std::string input;
  std::string m = "1-4096";
  std::string budget = "60s";
  std::size_t most = 12;
  std::string out;
  CompileOptions compile;
  bool json = false;
};

// A table is not used for specs that set these.
void refuse_settled(const Spec& spec) {
  const char* const set = sets_tile_or_path(spec.gemm());
  if (set == nullptr) return;
  throw Error(ErrorCategory::kUnsupported, "tool.tune_settled",
              fmt::format("{} sets a {}: no tuned table is used for it", bench_name(spec), set));
}

// The gemms of a model, a list or one spec; of those that one entry would serve the first.
std::vector<Spec> read_gemms(const std::string& input) {
  const Model model = read_model(input);
  print_unserved(model);
  std::vector<Spec> gemms;
  for (const ModelKernel& kernel : model.kernels) {
    if (kernel.spec.op() != Op::kGemm) continue;
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

std::vector<TuneJob> jobs_of(const std::vector<Spec>& specs, const Target& target,
                             const MRange& m) {
  std::vector<TuneJob> jobs;
  for (const Spec& spec : specs) {
    if (steps_in(spec.gemm().shape, m).empty()) {
      throw Error(ErrorCategory::kUsage, "tool.tune_m",
                  fmt::format("--m {}-{} is outside of the M of {}, {} to {}", m.min, m.max,
                              bench_name(spec), spec.gemm().shape.m_min, spec.gemm().shape.m_max));
    }
    jobs.push_back({bench_name(spec), resolve(spec, target, TunedTables())});
  }
  return jobs;
}

// "heddle 0.1.0 tune, 2026-01-31"
std::string origin() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("heddle {} tune, {:04}-{:02}-{:02}", HEDDLE_VERSION, utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday);
}

// The table that is already in the file; its GPU must be this one.
std::optional<TunedTable> table_before(const std::string& path, const std::string& gpu) {
  std::optional<TunedTable> before;
  if (!path.empty()) before = read_tuned_file(path);
  if (before && before->gpu() != gpu) {
    throw Error(
        ErrorCategory::kUsage, "tuned.other_gpu",
        fmt::format("{} is a table of {}, and the GPU here is {}", path, before->gpu(), gpu));
  }
  return before;
}

int run(const TuneCommandOptions& command) {
  TuneOptions options;
  options.m = parse_m_range(command.m);
  options.seconds = parse_seconds(command.budget);
  options.most = command.most;
  options.from = origin();
  const std::vector<Spec> specs = read_gemms(command.input);
  Runtime runtime(runtime_options(command.compile));
  require_device(&runtime, "");
  const Target target = runtime.device_target();
  const std::string gpu = tuned_gpu(target);
  TunedTable::from_entries(gpu, {});  // refuses a GPU that has no tables, before any work is done
  const std::optional<TunedTable> before = table_before(command.out, gpu);
  const std::vector<TuneJob> jobs = jobs_of(specs, target, options.m);

  TuneReport report;
  {
    const InterruptGuard guard;
    Progress progress(!command.json);
    TuneHooks hooks;
    hooks.seconds = [] {
      const auto now = std::chrono::steady_clock::now().time_since_epoch();
      return std::chrono::duration<double>(now).count();
    };
    hooks.interrupted = InterruptGuard::interrupted;
    hooks.show = [&progress](const std::string& line, bool is_result) {
      progress.show(line, !is_result);
    };
    GpuTuneDevice device(runtime);
    report = tune(device, jobs, options, hooks);
  }
  TunedTable table = TunedTable::from_entries(gpu, report.entries);
  if (before) {
    TunedTable merged = *before;
    merged.merge(table);
    table = std::move(merged);
  }
  if (!command.out.empty() && !report.entries.empty()) write_tuned_file(command.out, table);
  if (command.json) {
    print_json(tune_json(report, table));
  } else {
    print(command.out.empty() ? table.to_json() : tune_text(report));
  }
  flush_output();
  return report_tuning(report);
}

}  // namespace

void add_tune_command(CLI::App& app, Action* action) {
  auto options = std::make_shared<TuneCommandOptions>();
  CLI::App* command =
      app.add_subcommand("tune", "Measure which kernels of gemms are the fastest on the GPU");
  command->add_option("MODEL", options->input, kModelHelp)->required();
  command
      ->add_option(
          "--m", options->m,
          "numbers of tokens to find kernels for; default 1-4096, as far as a spec has them")
      ->type_name("M-M")
      ->check(m_range_problem);
  command
      ->add_option("--budget", options->budget,
                   "how long to measure and compile in all, in s, m or h; default 60s")
      ->type_name("TIME")
      ->check(seconds_problem);
  command
      ->add_option("--most", options->most,
                   "candidates to time for each step of tokens, fewer where the budget is short; "
                   "default 12")
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  command
      ->add_option("-o,--out", options->out,
                   "file of the table; one that is there is merged with what is measured")
      ->type_name("FILE");
  add_compile_options(*command, &options->compile);
  add_json_option(*command, &options->json);
  command->footer(
      "The kernels that are predicted to be the fastest are compiled, checked once against FP64\n"
      "and timed in rounds; those that are clearly slower drop out. One kernel serves "
      "neighbouring\n"
      "steps of tokens where it takes at most 3 % more than the fastest of each.\n"
      "PREDICTED is the measured time of the kernel that was predicted to be the fastest. Without\n"
      "--out the table itself is printed.\n"
      "SIGINT (Ctrl-C) ends the measuring: what was measured until then is written, and the exit\n"
      "code is 130. It is 1 where the budget did not reach every step or a kernel is wrong.\n"
      "Example:\n"
      "  heddle tune examples/specs/symmetric-g128.json --m 1-64 --budget 60s --out tuned.json");
  command->callback([=] { *action = [options] { return run(*options); }; });
}

}  // namespace heddle

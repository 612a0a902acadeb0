// heddle run: a spec's kernels on the GPU, with random data against an FP64 reference.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "heddle/runtime.h"
#include "tools/heddle/run/device_check.h"
#include "tools/heddle/run/rows.h"
#include "tools/heddle/shared/commands.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/input.h"
#include "tools/heddle/shared/options.h"
#include "tools/heddle/shared/output.h"

namespace heddle {
namespace {

struct RunOptions {
  std::string spec;
  std::string target;
  CompileOptions compile;
  std::vector<std::int64_t> m;
  std::uint32_t seed = 1;
  std::string baseline;
  bool json = false;
};

int run(const RunOptions& options) {
  const Spec spec = read_spec(options.spec);
  check_m_list(spec, options.m);
  if (!options.baseline.empty()) refuse_gemm_option("--baseline", spec);
  Runtime runtime(runtime_options(options.compile));
  require_device(&runtime, options.target);
  const Harness& harness = harness_of(spec);
  const Kernel kernel = runtime.kernel(spec);
  const Plan& plan = kernel.plan();
  const std::vector<Check> checks =
      harness.check(kernel, {options.m, options.seed, !options.baseline.empty()});
  const std::vector<Cells> rows = rows_of(harness, checks, plan);
  if (options.json) {
    print_json({{"device", plan.target.name}, {"runs", rows_json(rows)}});
  } else {
    print(rows_text(rows));
  }
  flush_output();
  int code = kExitDone;
  for (const Check& check : checks) {
    if (check.passed()) continue;
    print_problem(check.m == 0 ? check.fault() : fmt::format("M = {}: {}", check.m, check.fault()));
    code = kExitFailed;
  }
  return code;
}

}  // namespace

void add_run_command(CLI::App& app, Action* action) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Run kernels on the GPU and check the results");
  command->add_option("SPEC", options->spec, kSpecHelp)->required();
  add_m_list_option(*command, &options->m,
                    "numbers of tokens to run with; default the smallest of each kernel");
  command->add_option("--seed", options->seed, "of the random data; default 1")->type_name("N");
  add_baseline_option(*command, &options->baseline);
  add_device_target_option(*command, &options->target);
  add_tuned_option(*command, &options->compile);
  add_compile_options(*command, &options->compile);
  add_json_option(*command, &options->json);
  command->footer(
      "Random data. A gemm is compared with FP64 on the dequantised weights; ERROR is the "
      "relative\n"
      "Frobenius norm. The exit code is 1 if a result is wrong, a byte outside of the output was\n"
      "written, or a second launch gave other bits. Dequantised weights must have the bits of a\n"
      "computation on the CPU.\n"
      "Example:\n"
      "  heddle run examples/specs/symmetric-g128.json --m 1,7,64");
  command->callback([=] { *action = [options] { return run(*options); }; });
}

}  // namespace heddle

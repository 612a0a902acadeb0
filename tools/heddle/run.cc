// heddle run: a spec's kernels on the GPU, with random data against an FP64 reference.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/runtime.h"
#include "tools/gpu_harness/gemm_check.h"
#include "tools/heddle/commands.h"
#include "tools/heddle/device_check.h"
#include "tools/heddle/errors.h"
#include "tools/heddle/faults.h"
#include "tools/heddle/input.h"
#include "tools/heddle/operation.h"
#include "tools/heddle/options.h"
#include "tools/heddle/output.h"
#include "tools/heddle/table.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

struct RunOptions {
  std::string spec;
  std::string target;
  CompileOptions compile;
  std::vector<std::int64_t> m;
  std::uint32_t seed = 1;
  std::string baseline;
  bool json = false;
};

ordered_json to_json(const GemmCheck& check, const PlannedKernel& kernel) {
  ordered_json json = {{"m", check.m},
                       {"kernel", kernel.name},
                       {"error", check.error},
                       {"limit", check.limit},
                       {"guards_intact", check.guards_intact},
                       {"repeatable", check.repeatable},
                       {"passed", check.passed()}};
  if (check.cublas_error) json["cublas_error"] = *check.cublas_error;
  return json;
}

std::string to_text(const std::vector<GemmCheck>& checks, const Plan& plan) {
  Table table({{"M", Align::kRight},
               {"KERNEL FOR M"},
               {"TILE"},
               {"ERROR", Align::kRight},
               {"LIMIT", Align::kRight},
               {"CUBLAS", Align::kRight},
               {"RESULT"}});
  for (const GemmCheck& check : checks) {
    const PlannedKernel& kernel = plan.kernels[check.kernel];
    const std::string fault = fault_of(check);
    table.add_row({fmt::format("{}", check.m), m_text(kernel), tile_text(kernel),
                   fmt::format("{:.3e}", check.error), fmt::format("{:.1e}", check.limit),
                   check.cublas_error ? fmt::format("{:.3e}", *check.cublas_error) : "-",
                   fault.empty() ? "ok" : fault});
  }
  return table.text();
}

int run(const RunOptions& options) {
  const Spec spec = read_spec(options.spec);
  if (!is_gemm(spec)) {
    return run_operation(spec,
                         {options.target, options.compile, options.m, options.seed, options.json});
  }
  for (const std::int64_t m : options.m) check_m_option(spec.m_range(), m);
  Runtime runtime(runtime_options(options.compile));
  require_device(&runtime, options.target);
  const auto kernel = runtime.kernel<GemmKernel>(spec);
  const Plan& plan = kernel.plan();
  std::vector<std::int64_t> m_list = options.m;
  if (m_list.empty()) {
    for (const PlannedKernel& kernel : plan.kernels) m_list.push_back(kernel.size_min);
  }
  GemmCheckOptions check_options;
  check_options.cublas = !options.baseline.empty();
  check_options.seed = options.seed;
  const std::vector<GemmCheck> checks = run_gemm(kernel, m_list, check_options);

  if (options.json) {
    auto rows = ordered_json::array();
    for (const GemmCheck& check : checks) {
      rows.push_back(to_json(check, plan.kernels[check.kernel]));
    }
    print_json({{"device", plan.target.name}, {"runs", std::move(rows)}});
  } else {
    print(to_text(checks, plan));
  }
  flush_output();
  int code = kExitDone;
  for (const GemmCheck& check : checks) {
    if (check.passed()) continue;
    print_problem(fmt::format("M = {}: {}", check.m, fault_of(check)));
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

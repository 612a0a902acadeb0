// heddle bench: how long a spec's kernels take on the GPU, beside what the memory and cuBLAS allow.
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
#include "heddle/target.h"
#include "tools/gpu_harness/gemm_bench.h"
#include "tools/heddle/commands.h"
#include "tools/heddle/device_check.h"
#include "tools/heddle/errors.h"
#include "tools/heddle/input.h"
#include "tools/heddle/options.h"
#include "tools/heddle/output.h"
#include "tools/heddle/table.h"
#include "tools/heddle/weight_op.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

struct BenchOptions {
  std::string spec;
  std::string target;
  CompileOptions compile;
  std::vector<std::int64_t> m = {1, 16, 64};
  bool has_m = false;  // on the command line
  std::string baseline;
  bool json = false;
};

ordered_json to_json(const GemmTiming& row) {
  ordered_json json = {{"m", row.m},
                       {"us", row.us},
                       {"gb_per_s", row.gb_per_s},
                       {"floor_us", row.floor_us},
                       {"times_floor", row.us / row.floor_us}};
  if (row.cublas_us) {
    json["cublas_us"] = *row.cublas_us;
    json["cublas_ratio"] = *row.cublas_us / row.us;
  }
  return json;
}

ordered_json to_json(const GemmBenchReport& report, const Target& device) {
  auto rows = ordered_json::array();
  for (const GemmTiming& row : report.rows) rows.push_back(to_json(row));
  return {{"device", device.name},
          {"read_tb_per_s", report.read_tb_per_s},
          {"launch_us", report.launch_us},
          {"bare_launch_us", report.bare_launch_us},
          {"benches", std::move(rows)}};
}

std::string to_text(const GemmBenchReport& report, const Target& device) {
  Table table({{"M", Align::kRight},
               {"us", Align::kRight},
               {"GB/s", Align::kRight},
               {"FLOOR us", Align::kRight},
               {"x FLOOR", Align::kRight},
               {"CUBLAS us", Align::kRight},
               {"x FASTER", Align::kRight}});
  for (const GemmTiming& row : report.rows) {
    const bool baseline = row.cublas_us.has_value();
    table.add_row({fmt::format("{}", row.m), fmt::format("{:.1f}", row.us),
                   fmt::format("{:.0f}", row.gb_per_s), fmt::format("{:.1f}", row.floor_us),
                   fmt::format("{:.2f}", row.us / row.floor_us),
                   baseline ? fmt::format("{:.1f}", *row.cublas_us) : "-",
                   baseline ? fmt::format("{:.2f}", *row.cublas_us / row.us) : "-"});
  }
  return table.text() +
         fmt::format(
             "{}: streaming read {:.2f} TB/s, launch {:.2f} us on the host, {:.2f} us bare\n",
             device.name, report.read_tb_per_s, report.launch_us, report.bare_launch_us);
}

int run(const BenchOptions& options) {
  const Spec spec = read_spec(options.spec);
  if (spec.op() != Op::kGemm) {
    return bench_weight_op(spec, {options.target, options.compile, options.has_m, 1, options.json});
  }
  for (const std::int64_t m : options.m) check_m(spec.gemm().shape, m);
  Runtime runtime(runtime_options(options.compile));
  require_device(&runtime, options.target);
  const Target device = runtime.device_target();
  GemmBenchOptions bench_options;
  bench_options.cublas = !options.baseline.empty();
  // The harness knows the tensor cores' rate of this architecture only.
  if (device.arch() != 90) bench_options.tensor_tflops = 0;
  const GemmBenchReport report = bench_gemm(runtime, spec, options.m, bench_options);
  if (!report.cublas_missing.empty()) print_problem("no baseline: " + report.cublas_missing);
  if (options.json) {
    print_json(to_json(report, device));
  } else {
    print(to_text(report, device));
  }
  return kExitDone;
}

}  // namespace

void add_bench_command(CLI::App& app, Action* action) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "Time kernels on the GPU");
  command->add_option("SPEC", options->spec, kSpecHelp)->required();
  const CLI::Option* m =
      add_m_list_option(*command, &options->m, "numbers of tokens to time; default 1,16,64");
  add_baseline_option(*command, &options->baseline);
  add_device_target_option(*command, &options->target);
  add_compile_options(*command, &options->compile);
  add_json_option(*command, &options->json);
  command->footer(
      "Medians of CUDA graphs over weights that rotate through more memory than the caches hold.\n"
      "FLOOR is the time of a launch and of moving the bytes at the streaming rate of this run, "
      "on\n"
      "an H100 or H200 at least the time of the tensor cores. Without cuBLAS the baseline is left\n"
      "out with a line on stderr. Dequantising is timed beside a plain kernel that reads and\n"
      "writes the same numbers of bytes.\n"
      "Example:\n"
      "  heddle bench examples/specs/symmetric-g128.json --m 1,16,64 --baseline cublas");
  command->callback([=] {
    options->has_m = m->count() > 0;
    *action = [options] { return run(*options); };
  });
}

}  // namespace heddle

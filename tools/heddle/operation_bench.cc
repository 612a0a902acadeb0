// heddle bench for operations that are no gemm: beside a streaming kernel that moves the same
// bytes.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "heddle/error.h"
#include "heddle/runtime.h"
#include "tools/gpu_harness/dequantize_bench.h"
#include "tools/heddle/device_check.h"
#include "tools/heddle/errors.h"
#include "tools/heddle/operation.h"
#include "tools/heddle/operation_commands.h"
#include "tools/heddle/output.h"
#include "tools/heddle/table.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const DequantizeTiming& timing, const Plan& plan) {
  return {{"kernel", plan.kernels.front().name},
          {"read_bytes", timing.read_bytes},
          {"written_bytes", timing.written_bytes},
          {"us", timing.us},
          {"gb_per_s", timing.gb_per_s()},
          {"stream_us", timing.stream.us},
          {"stream_gb_per_s", timing.stream_gb_per_s()},
          {"stream_words", timing.stream.shape.words},
          {"stream_blocks_per_sm", timing.stream.shape.blocks_per_sm},
          {"ratio", timing.ratio()}};
}

std::string to_text(const DequantizeTiming& timing, const Plan& plan) {
  Table table({{"KERNEL"},
               {"MB READ", Align::kRight},
               {"MB WRITTEN", Align::kRight},
               {"us", Align::kRight},
               {"GB/s", Align::kRight},
               {"STREAM us", Align::kRight},
               {"STREAM GB/s", Align::kRight},
               {"% OF STREAM", Align::kRight}});
  table.add_row({plan.kernels.front().name,
                 fmt::format("{:.1f}", static_cast<double>(timing.read_bytes) * 1e-6),
                 fmt::format("{:.1f}", static_cast<double>(timing.written_bytes) * 1e-6),
                 fmt::format("{:.1f}", timing.us), fmt::format("{:.0f}", timing.gb_per_s()),
                 fmt::format("{:.1f}", timing.stream.us),
                 fmt::format("{:.0f}", timing.stream_gb_per_s()),
                 fmt::format("{:.1f}", 100 * timing.ratio())});
  return table.text();
}

}  // namespace

int bench_dequantize_op(Runtime& runtime, const Spec& spec, const OperationOptions& options) {
  const Plan plan = resolve(spec, runtime.device_target(), runtime.tuned_tables());
  const DequantizeTiming timing = bench_dequantize(runtime, spec, options.budget);
  if (options.json) {
    auto rows = ordered_json::array();
    rows.push_back(to_json(timing, plan));
    print_json({{"device", plan.target.name}, {"benches", std::move(rows)}});
  } else {
    print(to_text(timing, plan));
  }
  return kExitDone;
}

int bench_operation(const Spec& spec, const OperationOptions& options) {
  check_m_list(spec, options.m);
  const OperationCommands& commands = commands_of(spec);
  if (!options.loads.empty() && !commands.takes_loads) {
    throw Error(ErrorCategory::kUsage, "tool.loads",
                fmt::format("--loads is of decode_attention; this is a {}", to_string(spec.op())));
  }
  Runtime runtime(runtime_options(options.compile));
  require_device(&runtime, options.target);
  return commands.bench(runtime, spec, options);
}

}  // namespace heddle

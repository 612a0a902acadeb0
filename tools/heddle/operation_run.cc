// heddle run for operations that are no gemm: random data, compared with the host.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "heddle/error.h"
#include "heddle/runtime.h"
#include "tools/gpu_harness/dequantize_check.h"
#include "tools/heddle/build_report.h"
#include "tools/heddle/device_check.h"
#include "tools/heddle/errors.h"
#include "tools/heddle/faults.h"
#include "tools/heddle/operation.h"
#include "tools/heddle/operation_commands.h"
#include "tools/heddle/output.h"
#include "tools/heddle/table.h"

namespace heddle {

using nlohmann::ordered_json;

int run_dequantize_op(Runtime& runtime, const Spec& spec, const OperationOptions& options) {
  const Kernel kernel = runtime.kernel(spec);
  const Plan& plan = kernel.plan();
  const DequantizeCheck check = run_dequantize(kernel, options.seed);
  const std::string fault = fault_of(check);
  if (options.json) {
    auto rows = ordered_json::array();
    rows.push_back({{"kernel", plan.kernels.front().name},
                    {"weights", check.weights},
                    {"mismatches", check.mismatches},
                    {"guards_intact", check.guards_intact},
                    {"passed", check.passed()}});
    print_json({{"device", plan.target.name}, {"runs", std::move(rows)}});
  } else {
    Table table(
        {{"KERNEL"}, {"TILE"}, {"WEIGHTS", Align::kRight}, {"WRONG", Align::kRight}, {"RESULT"}});
    table.add_row({plan.kernels.front().name, tile_text(plan, 0), fmt::format("{}", check.weights),
                   fmt::format("{}", check.mismatches), fault.empty() ? "ok" : "WRONG"});
    print(table.text());
  }
  flush_output();
  if (fault.empty()) return kExitDone;
  print_problem(fault);
  return kExitFailed;
}

int run_operation(const Spec& spec, const OperationOptions& options) {
  check_m_list(spec, options.m);
  Runtime runtime(runtime_options(options.compile));
  require_device(&runtime, options.target);
  return commands_of(spec).run(runtime, spec, options);
}

}  // namespace heddle

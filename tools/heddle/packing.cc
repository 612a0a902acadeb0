#include "tools/heddle/packing.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/gpu_harness/packing_bench.h"
#include "tools/gpu_harness/quantize_check.h"
#include "tools/gpu_harness/repack_check.h"
#include "tools/heddle/errors.h"
#include "tools/heddle/output.h"
#include "tools/heddle/packing_timing.h"
#include "tools/heddle/table.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const ByteCheck& check, const PlannedKernel& kernel) {
  ordered_json json = {{"kernel", kernel.name},
                       {"bytes", check.bytes},
                       {"mismatches", check.mismatches},
                       {"guards_intact", check.guards_intact},
                       {"passed", check.passed()}};
  if (check.mismatches != 0) json["first_mismatch"] = check.first_mismatch;
  return json;
}

std::string to_text(const ByteCheck& check, const PlannedKernel& kernel) {
  Table table({{"KERNEL"}, {"BYTES", Align::kRight}, {"MISMATCHES", Align::kRight}, {"RESULT"}});
  table.add_row({kernel.name, fmt::format("{}", check.bytes), fmt::format("{}", check.mismatches),
                 check.passed() ? "ok" : check.fault()});
  return table.text();
}

ordered_json to_json(const PackingTiming& timing, const Target& device) {
  ordered_json bench;
  add_timing(timing, &bench);
  return {{"device", device.name}, {"benches", ordered_json::array({std::move(bench)})}};
}

std::string to_text(const PackingTiming& timing, const Target& device) {
  Table table({{"us", Align::kRight},
               {"GB/s", Align::kRight},
               {"READ", Align::kRight},
               {"WRITTEN", Align::kRight},
               {"STREAM us", Align::kRight},
               {"OF STREAM", Align::kRight}});
  table.add_row({fmt::format("{:.1f}", timing.us), fmt::format("{:.0f}", timing.gb_per_s),
                 fmt::format("{}", timing.read_bytes), fmt::format("{}", timing.written_bytes),
                 fmt::format("{:.1f}", timing.stream_us),
                 fmt::format("{:.1f} %", 100 * timing.stream_ratio())});
  return table.text() + stream_legend(device);
}

}  // namespace

int report(const Kernel& kernel, const ByteCheck& check, bool json) {
  const Plan& plan = kernel.plan();
  const PlannedKernel& planned = plan.kernels.front();
  if (json) {
    print_json({{"device", plan.target.name}, {"runs", {to_json(check, planned)}}});
  } else {
    print(to_text(check, planned));
  }
  flush_output();
  if (check.passed()) return kExitDone;
  print_problem(check.fault());
  return kExitFailed;
}

int bench_packing(Runtime& runtime, const Spec& spec, const TimingBudget& budget, bool json) {
  const PackingTiming timing = bench_packing(runtime, spec, budget);
  const Target device = runtime.device_target();
  if (json) {
    print_json(to_json(timing, device));
  } else {
    print(to_text(timing, device));
  }
  return kExitDone;
}

}  // namespace heddle

#include "tools/heddle/decode_attention.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tools/gpu_harness/attention_check.h"
#include "tools/heddle/errors.h"
#include "tools/heddle/output.h"
#include "tools/heddle/table.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const AttentionTiming& timing) {
  return {{"sequences", timing.load.sequences},
          {"length", timing.load.length},
          {"shortest", timing.load.shortest > 0 ? timing.load.shortest : timing.load.length},
          {"bytes", timing.bytes},
          {"us", timing.us},
          {"gb_per_s", timing.gb_per_s()},
          {"floor_us", timing.floor_us},
          {"ratio", timing.ratio()},
          {"sm_mhz", timing.sm_mhz}};
}

std::string length_text(const AttentionLoad& load) {
  if (load.shortest == 0) return fmt::format("{}", load.length);
  return fmt::format("{}-{}", load.shortest, load.length);
}

}  // namespace

int run_decode_attention(Runtime& runtime, const Spec& spec, std::uint32_t seed, bool json) {
  const Kernel kernel = runtime.kernel(spec);
  const AttentionCheck check = check_attention(kernel, seed);
  const Plan& plan = kernel.plan();
  const std::string& name = plan.kernels.front().name;
  const std::string fault = check.fault();
  if (json) {
    auto rows = ordered_json::array();
    rows.push_back({{"kernel", name},
                    {"error", check.error},
                    {"limit", check.limit},
                    {"guards_intact", check.guards_intact},
                    {"repeatable", check.repeatable},
                    {"passed", check.passed()}});
    print_json({{"device", plan.target.name}, {"runs", std::move(rows)}});
  } else {
    Table table({{"KERNEL"}, {"ERROR", Align::kRight}, {"LIMIT", Align::kRight}, {"RESULT"}});
    table.add_row({name, fmt::format("{:.3e}", check.error), fmt::format("{:.1e}", check.limit),
                   fault.empty() ? "ok" : fault});
    print(table.text());
  }
  flush_output();
  if (fault.empty()) return kExitDone;
  print_problem(fault);
  return kExitFailed;
}

int bench_decode_attention(Runtime& runtime, const Spec& spec,
                           const std::vector<AttentionLoad>& loads, const TimingBudget& budget,
                           bool json) {
  const AttentionBenchReport report =
      bench_attention(runtime, spec, loads.empty() ? usual_attention_loads() : loads, budget);
  Table table({{"SEQUENCES", Align::kRight},
               {"LENGTH", Align::kRight},
               {"MB READ", Align::kRight},
               {"us", Align::kRight},
               {"GB/s", Align::kRight},
               {"FLOOR us", Align::kRight},
               {"OVER FLOOR", Align::kRight},
               {"SM MHz", Align::kRight}});
  auto rows = ordered_json::array();
  for (const AttentionTiming& timing : report.rows) {
    rows.push_back(to_json(timing));
    table.add_row({fmt::format("{}", timing.load.sequences), length_text(timing.load),
                   fmt::format("{:.1f}", timing.bytes * 1e-6), fmt::format("{:.1f}", timing.us),
                   fmt::format("{:.0f}", timing.gb_per_s()), fmt::format("{:.1f}", timing.floor_us),
                   fmt::format("{:.2f}", timing.ratio()), fmt::format("{:.0f}", timing.sm_mhz)});
  }
  const Target device = runtime.device_target();
  if (json) {
    print_json({{"device", device.name},
                {"read_tb_per_s", report.read_tb_per_s},
                {"benches", std::move(rows)}});
  } else {
    print(table.text() + fmt::format("{}: {:.2f} TB/s streaming read in this run\n", device.name,
                                     report.read_tb_per_s));
  }
  return kExitDone;
}

}  // namespace heddle

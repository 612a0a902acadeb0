#include "tools/heddle/row_transform.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "tools/gpu_harness/row_bench.h"
#include "tools/gpu_harness/row_check.h"
#include "tools/heddle/build_report.h"
#include "tools/heddle/errors.h"
#include "tools/heddle/output.h"
#include "tools/heddle/packing_timing.h"
#include "tools/heddle/table.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kUsualRows[] = {1, 16, 256, 4096};

ordered_json to_json(const RowCheck& check, const Plan& plan) {
  return {{"m", check.m},
          {"kernel", plan.kernels[check.kernel].name},
          {"worst", check.worst},
          {"guards_intact", check.guards_intact},
          {"repeatable", check.repeatable},
          {"passed", check.passed()}};
}

ordered_json to_json(const RowTiming& timing, std::int64_t m, const std::string& kernel) {
  ordered_json json = {{"m", m}, {"kernel", kernel}};
  add_timing(timing, &json);
  json["floor_us"] = timing.floor_us;
  json["times_floor"] = timing.times_floor();
  return json;
}

}  // namespace

int run_row_transform(Runtime& runtime, const Spec& spec, const std::vector<std::int64_t>& m_list,
                      std::uint32_t seed, bool json) {
  const auto kernel = runtime.kernel<RowTransformKernel>(spec);
  const Plan& plan = kernel.plan();
  std::vector<std::int64_t> wanted = m_list;
  if (wanted.empty()) {
    for (const PlannedKernel& one : plan.kernels) wanted.push_back(one.size_min);
  }
  Table table(
      {{"M", Align::kRight},
       {"KERNEL FOR M"},
       {"TILE"},
       {spec.row_transform().output.is_quantized() ? "CODES AWAY" : "OF TOLERANCE", Align::kRight},
       {"RESULT"}});
  auto rows = ordered_json::array();
  std::vector<RowCheck> checks;
  for (const std::int64_t m : wanted) {
    const RowCheck check = check_rows(kernel, m, seed);
    rows.push_back(to_json(check, plan));
    table.add_row({fmt::format("{}", m), m_text(plan.kernels[check.kernel]),
                   tile_text(plan.kernels[check.kernel]), fmt::format("{:.3f}", check.worst),
                   check.passed() ? "ok" : "WRONG"});
    checks.push_back(check);
  }
  if (json) {
    print_json({{"device", plan.target.name}, {"runs", std::move(rows)}});
  } else {
    print(table.text());
  }
  flush_output();
  int code = kExitDone;
  for (const RowCheck& check : checks) {
    if (check.passed()) continue;
    print_problem(fmt::format("M = {}: {}", check.m, check.fault()));
    code = kExitFailed;
  }
  return code;
}

int bench_row_transform(Runtime& runtime, const Spec& spec, const std::vector<std::int64_t>& m_list,
                        const TimingBudget& budget, bool json) {
  const auto kernel = runtime.kernel<RowTransformKernel>(spec);
  const Plan& plan = kernel.plan();
  const MRange range = spec.m_range();
  std::vector<std::int64_t> wanted = m_list;
  if (wanted.empty()) {
    for (const std::int64_t m : kUsualRows) {
      if (m >= range.min && m <= range.max) wanted.push_back(m);
    }
    if (wanted.empty()) wanted = {range.min};
  }
  Table table({{"M", Align::kRight},
               {"TILE"},
               {"us", Align::kRight},
               {"GB/s", Align::kRight},
               {"MB READ", Align::kRight},
               {"MB WRITTEN", Align::kRight},
               {"STREAM us", Align::kRight},
               {"OF STREAM", Align::kRight},
               {"FLOOR us", Align::kRight},
               {"TIMES FLOOR", Align::kRight}});
  auto rows = ordered_json::array();
  const RowBenchReport report = bench_rows(kernel, wanted, budget);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::int64_t m = wanted[i];
    const RowTiming& timing = report.rows[i];
    const PlannedKernel& planned = plan.kernels[plan.kernel_for(m)];
    rows.push_back(to_json(timing, m, planned.name));
    table.add_row({fmt::format("{}", m), tile_text(planned), fmt::format("{:.2f}", timing.us),
                   fmt::format("{:.0f}", timing.gb_per_s),
                   fmt::format("{:.2f}", static_cast<double>(timing.read_bytes) * 1e-6),
                   fmt::format("{:.2f}", static_cast<double>(timing.written_bytes) * 1e-6),
                   fmt::format("{:.2f}", timing.stream_us),
                   fmt::format("{:.1f} %", 100 * timing.stream_ratio()),
                   fmt::format("{:.2f}", timing.floor_us),
                   fmt::format("{:.2f}", timing.times_floor())});
  }
  if (json) {
    print_json({{"device", plan.target.name},
                {"read_tb_per_s", report.read_tb_per_s},
                {"benches", std::move(rows)}});
  } else {
    print(table.text() + stream_legend(plan.target) +
          fmt::format("FLOOR is a launch and the bytes at {:.2f} TB/s, a streaming read in this "
                      "run\n",
                      report.read_tb_per_s));
  }
  return kExitDone;
}

}  // namespace heddle

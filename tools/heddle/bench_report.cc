#include "tools/heddle/bench_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "generator/families/family.h"
#include "tools/heddle/table.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

ordered_json row_json(const GemmTiming& row, const Spec& spec) {
  ordered_json json = {{"spec", row.spec},
                       {"name", bench_name(spec)},
                       {"m", row.m},
                       {"kernel", row.kernel.name},
                       {"family", row.kernel.family->name()},
                       {"us", row.us},
                       {"bytes", row.bytes},
                       {"gb_per_s", row.gb_per_s()},
                       {"floor_us", row.floor_us},
                       {"times_floor", row.us / row.floor_us},
                       {"sm_mhz", row.sm_mhz}};
  if (row.cublas_us) {
    json["cublas_us"] = *row.cublas_us;
    json["cublas_ratio"] = *row.cublas_us / row.us;
  }
  return json;
}

// What the bytes of the whole chain take at the streaming rate.
double stream_us(const ChainTiming& row, const GemmBenchReport& report) {
  return row.bytes / report.read_tb_per_s * 1e-6;
}

Table row_table(const GemmBenchReport& report, const std::vector<Spec>& specs) {
  Table table({{"SPEC"},
               {"M", Align::kRight},
               {"FAMILY"},
               {"us", Align::kRight},
               {"GB/s", Align::kRight},
               {"FLOOR us", Align::kRight},
               {"x FLOOR", Align::kRight},
               {"SM MHz", Align::kRight},
               {"CUBLAS us", Align::kRight},
               {"x FASTER", Align::kRight}});
  for (const GemmTiming& row : report.rows) {
    const bool baseline = row.cublas_us.has_value();
    table.add_row({bench_name(specs[row.spec]), fmt::format("{}", row.m),
                   std::string(row.kernel.family->name()), fmt::format("{:.1f}", row.us),
                   fmt::format("{:.0f}", row.gb_per_s()), fmt::format("{:.1f}", row.floor_us),
                   fmt::format("{:.2f}", row.us / row.floor_us), fmt::format("{:.0f}", row.sm_mhz),
                   baseline ? fmt::format("{:.1f}", *row.cublas_us) : "-",
                   baseline ? fmt::format("{:.2f}", *row.cublas_us / row.us) : "-"});
  }
  return table;
}

}  // namespace

std::string bench_name(const Spec& spec) {
  if (!spec.name().empty()) return spec.name();
  return fmt::format("{} x {}", spec.weight_shape().n, spec.weight_shape().k);
}

ordered_json bench_json(const GemmBenchReport& report, const std::vector<Spec>& specs) {
  auto rows = ordered_json::array();
  for (const GemmTiming& row : report.rows) rows.push_back(row_json(row, specs[row.spec]));
  ordered_json json = {{"device", report.device.name},
                       {"read_tb_per_s", report.read_tb_per_s},
                       {"floor_launch_us", report.device.launch_us},
                       {"floor_tflops", report.device.tensor_tflops},
                       {"launch_us", report.launch_us},
                       {"bare_launch_us", report.bare_launch_us},
                       {"benches", std::move(rows)}};
  if (report.chain.empty()) return json;
  json["chain"] = ordered_json::array();
  for (const ChainTiming& row : report.chain) {
    json["chain"].push_back({{"m", row.m},
                             {"us", row.us},
                             {"bytes", row.bytes},
                             {"stream_us", stream_us(row, report)}});
  }
  return json;
}

std::string bench_text(const GemmBenchReport& report, const std::vector<Spec>& specs) {
  std::string text = row_table(report, specs).text();
  for (const ChainTiming& row : report.chain) {
    text += fmt::format(
        "all {} back to back, M = {}: {:.1f} us, {:.2f} times their bytes at the streaming rate\n",
        specs.size(), row.m, row.us, row.us / stream_us(row, report));
  }
  return text +
         fmt::format(
             "{}: streaming read {:.2f} TB/s, launch {:.2f} us on the host, {:.2f} us bare\n",
             report.device.name, report.read_tb_per_s, report.launch_us, report.bare_launch_us);
}

}  // namespace heddle

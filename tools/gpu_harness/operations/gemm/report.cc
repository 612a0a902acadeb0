#include "tools/gpu_harness/operations/gemm/report.h"

#include <fmt/format.h>

#include "generator/families/family.h"

namespace heddle {
namespace {

Cells row_cells(const GemmTiming& row, const Spec& spec) {
  Cells cells = {fact("spec", row.spec),
                 word("name", "SPEC", bench_name(spec)),
                 number("m", "M", row.m, fmt::format("{}", row.m)),
                 fact("kernel", row.kernel.name),
                 word("family", "FAMILY", std::string(row.kernel.family->name())),
                 number("us", "us", row.us, 1),
                 fact("bytes", row.bytes),
                 number("gb_per_s", "GB/s", row.gb_per_s(), 0),
                 number("floor_us", "FLOOR us", row.floor_us, 1),
                 number("times_floor", "x FLOOR", row.us / row.floor_us, 2),
                 number("sm_mhz", "SM MHz", row.sm_mhz, 0)};
  if (row.cublas_us) {
    cells.push_back(number("cublas_us", "CUBLAS us", *row.cublas_us, 1));
    cells.push_back(number("cublas_ratio", "x FASTER", *row.cublas_us / row.us, 2));
  } else {
    cells.push_back(number("", "CUBLAS us", nullptr, "-"));
    cells.push_back(number("", "x FASTER", nullptr, "-"));
  }
  return cells;
}

}  // namespace

std::string bench_name(const Spec& spec) {
  if (!spec.name().empty()) return spec.name();
  return fmt::format("{} x {}", spec.weight_shape().n, spec.weight_shape().k);
}

BenchReport gemm_report(const GemmBenchReport& report, const std::vector<Spec>& specs) {
  BenchReport shown;
  shown.missing = report.cublas_missing;
  shown.facts = {{"read_tb_per_s", report.read_tb_per_s},
                 {"floor_launch_us", report.device.launch_us},
                 {"floor_tflops", report.device.tensor_tflops},
                 {"launch_us", report.launch_us},
                 {"bare_launch_us", report.bare_launch_us}};
  for (const GemmTiming& row : report.rows) {
    shown.rows.push_back(row_cells(row, specs[row.spec]));
  }
  for (const ChainTiming& row : report.chain) {
    // What the bytes of the whole chain take at the streaming rate.
    const double stream_us = row.bytes / report.read_tb_per_s * 1e-6;
    shown.more["chain"].push_back(
        {{"m", row.m}, {"us", row.us}, {"bytes", row.bytes}, {"stream_us", stream_us}});
    shown.legend += fmt::format(
        "all {} back to back, M = {}: {:.1f} us, {:.2f} times their bytes at the streaming rate\n",
        specs.size(), row.m, row.us, row.us / stream_us);
  }
  shown.legend += fmt::format(
      "{}: streaming read {:.2f} TB/s, launch {:.2f} us on the host, {:.2f} us bare\n",
      report.device.name, report.read_tb_per_s, report.launch_us, report.bare_launch_us);
  return shown;
}

}  // namespace heddle

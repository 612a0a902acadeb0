#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "heddle/target.h"
#include "tests/planned_kernel.h"
#include "tools/gpu_harness/operations/gemm/report.h"
#include "tools/heddle/run/rows.h"

namespace heddle {
namespace {

GemmSpec spec_of(std::int64_t n, std::int64_t k) {
  GemmSpec spec;
  spec.shape.n = n;
  spec.shape.k = k;
  return spec;
}

std::vector<Spec> two_specs() {
  return {Spec::from_gemm(spec_of(4096, 2048)), Spec::from_gemm(spec_of(6144, 4096), "qkv_proj")};
}

PlannedKernel some_kernel() {
  PlannedKernel kernel = tiles_kernel(64);
  kernel.name = "heddle_gemm_some";
  return kernel;
}

GemmTiming timing(std::size_t spec, std::int64_t m, double us) {
  GemmTiming row;
  row.spec = spec;
  row.m = m;
  row.kernel = some_kernel();
  row.us = us;
  row.bytes = 8e6;
  row.floor_us = 2;
  row.sm_mhz = 1755.4;
  return row;
}

GemmBenchReport report() {
  GemmBenchReport report;
  report.device = target_from_name("h200");
  report.read_tb_per_s = 4;
  report.launch_us = 3;
  report.bare_launch_us = 2.5;
  report.rows = {timing(0, 1, 4), timing(1, 16, 5)};
  report.rows[1].cublas_us = 10;
  return report;
}

TEST(BenchReport, RowsNameTheirSpecAndCompareWithTheFloorAndTheBaseline) {
  const nlohmann::ordered_json json = bench_json(gemm_report(report(), two_specs()), "h200");
  EXPECT_EQ(json["device"], "h200");
  EXPECT_EQ(json["floor_launch_us"], 1.5);
  EXPECT_EQ(json["floor_tflops"], 790);
  ASSERT_EQ(json["benches"].size(), 2U);
  const auto& first = json["benches"][0];
  EXPECT_EQ(first["spec"], 0);
  EXPECT_EQ(first["name"], "4096 x 2048");
  EXPECT_EQ(first["family"], "tiles");
  EXPECT_EQ(first["kernel"], "heddle_gemm_some");
  EXPECT_EQ(first["gb_per_s"], 2000);
  EXPECT_EQ(first["times_floor"], 2);
  EXPECT_EQ(first["sm_mhz"], 1755.4);
  EXPECT_FALSE(first.contains("cublas_us"));
  const auto& second = json["benches"][1];
  EXPECT_EQ(second["name"], "qkv_proj");
  EXPECT_EQ(second["cublas_us"], 10);
  EXPECT_EQ(second["cublas_ratio"], 2);
  EXPECT_FALSE(json.contains("chain"));
}

TEST(BenchReport, AChainIsComparedWithTheStreamOfItsBytes) {
  GemmBenchReport chained = report();
  chained.chain = {{1, 30, 100e6}};
  const nlohmann::ordered_json json = bench_json(gemm_report(chained, two_specs()), "h200");
  ASSERT_EQ(json["chain"].size(), 1U);
  EXPECT_EQ(json["chain"][0]["m"], 1);
  EXPECT_EQ(json["chain"][0]["us"], 30);
  EXPECT_DOUBLE_EQ(json["chain"][0]["stream_us"].get<double>(), 25);
  EXPECT_NE(bench_text(gemm_report(chained, two_specs()))
                .find("all 2 back to back, M = 1: 30.0 us, 1.20 times"),
            std::string::npos);
}

TEST(BenchReport, TheTableHasALineForEachRow) {
  const std::string text = bench_text(gemm_report(report(), two_specs()));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
  EXPECT_NE(text.find("4096 x 2048   1  tiles   4.0  2000       2.0     2.00    1755          -"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace heddle

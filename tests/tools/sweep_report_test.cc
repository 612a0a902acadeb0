#include "tools/heddle/sweep_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace heddle {
namespace {

// The planner's kernel takes the first time.
GemmBenchReport report(const std::vector<double>& times) {
  GemmBenchReport report;
  report.read_tb_per_s = 4.5;
  for (std::size_t i = 0; i < times.size(); ++i) {
    GemmTiming row;
    row.spec = i;
    row.m = 16;
    row.us = times[i];
    row.floor_us = 8;
    row.variant.path = Path::kAmpere;
    row.variant.tile_n = 16 << i;
    report.rows.push_back(row);
  }
  return report;
}

TEST(SweepReport, TheChoiceIsHeldAgainstTheFastest) {
  const Sweep sweep = sweep_of(report({12, 15, 10}));
  EXPECT_EQ(sweep.m, 16);
  EXPECT_DOUBLE_EQ(sweep.times_best(), 1.2);
  EXPECT_EQ(sweep.rows.front().variant.tile_n, 64);
  EXPECT_EQ(sweep.rows.back().variant.tile_n, 32);
  EXPECT_DOUBLE_EQ(sweep_of(report({9, 15, 10})).times_best(), 1);
}

TEST(SweepReport, Json) {
  const nlohmann::ordered_json json = sweep_json(sweep_of(report({12, 15, 10})));
  EXPECT_EQ(json["m"], 16);
  EXPECT_EQ(json["candidates"], 3);
  EXPECT_DOUBLE_EQ(json["times_best"].get<double>(), 1.2);
  EXPECT_EQ(json["chosen"]["tile"]["n"], 16);
  EXPECT_EQ(json["chosen"]["times_floor"], 1.5);
  ASSERT_EQ(json["rows"].size(), 3U);
  EXPECT_EQ(json["rows"][0]["us"], 10);
  EXPECT_EQ(json["rows"][0]["path"], "ampere");
  EXPECT_EQ(json["rows"][0]["kernel"], "tiles");
}

TEST(SweepReport, TheTableHasTheFastestAndTheChoiceWhereverItIs) {
  const std::string text = sweep_text(sweep_of(report({20, 15, 10, 12})), 2);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5) << text;
  EXPECT_NE(
      text.find("    4  ampere  tiles   8x16x64   1x1x1       2      1  20.00     2.50   2.000  "
                "the planner's\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("M = 16: of 4 kernels the planner's takes 100.0 % more than the fastest\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace heddle

#include "tools/heddle/run/sweep_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/planned_kernel.h"

namespace heddle {
namespace {

// The planner's kernel takes the first time.
PlanTimes report_of_times(const std::vector<double>& times) {
  PlanTimes report;
  report.read_tb_per_s = 4.5;
  for (std::size_t i = 0; i < times.size(); ++i) {
    PlanTime row;
    row.plan = i;
    row.us = times[i];
    row.floor_us = 8;
    row.kernel = tiles_kernel(16 << i);
    report.rows.push_back(row);
  }
  return report;
}

int tile_n(const PlanTime& row) { return config_of<device::TilesConfig>(row.kernel).tile_n; }

TEST(SweepReport, TheChoiceIsHeldAgainstTheFastest) {
  const Sweep sweep = sweep_of(report_of_times({12, 15, 10}));
  EXPECT_DOUBLE_EQ(sweep.times_best(), 1.2);
  EXPECT_EQ(tile_n(sweep.rows.front()), 64);
  EXPECT_EQ(tile_n(sweep.rows.back()), 32);
  EXPECT_DOUBLE_EQ(sweep_of(report_of_times({9, 15, 10})).times_best(), 1);
}

TEST(SweepReport, TheBestAreTimedAgainInTurns) {
  Sweep sweep = sweep_of(report_of_times({20, 15, 10, 12}));
  const std::vector<std::size_t> best = finalists(sweep, 3);
  ASSERT_EQ(best, (std::vector<std::size_t>{0, 2, 3}));
  // Three rounds; what was slow because it was the first is the fastest of the three.
  settle(best, report_of_times({11, 13, 16, 12, 14, 40, 11, 14, 15}), &sweep);
  EXPECT_EQ(sweep.chosen.us, 11);
  EXPECT_DOUBLE_EQ(sweep.times_best(), 1);
  ASSERT_EQ(sweep.rows.size(), 4U);
  EXPECT_EQ(sweep.rows[1].plan, 2U);
  EXPECT_EQ(sweep.rows[1].us, 14);
  EXPECT_EQ(sweep.rows[2].us, 16);
  // Not one of them: it keeps its place behind them.
  EXPECT_EQ(sweep.rows[3].plan, 1U);
  EXPECT_EQ(sweep.rows[3].us, 15);
}

TEST(SweepReport, OfFewCandidatesAllAreFinalists) {
  EXPECT_EQ(finalists(sweep_of(report_of_times({20})), 8), (std::vector<std::size_t>{0}));
  EXPECT_EQ(finalists(sweep_of(report_of_times({20, 10})), 8), (std::vector<std::size_t>{0, 1}));
}

TEST(SweepReport, Json) {
  Sweep sweep = sweep_of(report_of_times({12, 15, 10}));
  sweep.predicted_us = {11, 16, 9};
  sweep.labels = {"first", "second", "third"};
  const nlohmann::ordered_json json = sweep_json(sweep, {{"m", 16}});
  EXPECT_EQ(json["m"], 16);
  EXPECT_EQ(json["candidates"], 3);
  EXPECT_DOUBLE_EQ(json["times_best"].get<double>(), 1.2);
  EXPECT_EQ(json["chosen"]["configuration"]["tile_n"], 16);
  EXPECT_EQ(json["chosen"]["times_floor"], 1.5);
  EXPECT_EQ(json["chosen"]["predicted_us"], 11);
  EXPECT_EQ(json["chosen"]["kernel"], "first");
  ASSERT_EQ(json["rows"].size(), 3U);
  EXPECT_EQ(json["rows"][0]["us"], 10);
  EXPECT_EQ(json["rows"][0]["predicted_us"], 9);
  EXPECT_EQ(json["rows"][0]["kernel"], "third");
  EXPECT_EQ(json["rows"][0]["family"], "tiles");
}

TEST(SweepReport, TheTableHasTheFastestAndTheChoiceWhereverItIs) {
  Sweep sweep = sweep_of(report_of_times({20, 15, 10, 12}));
  sweep.launch = "M = 16";
  const std::string text = sweep_text(sweep, 2);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5) << text;
  const std::string slowest = text.substr(text.find("\n    4  tiles  "));
  EXPECT_NE(slowest.find("tile 8 tokens x 16 rows"), std::string::npos) << text;
  EXPECT_NE(slowest.find("20.00     2.50   2.000  the planner's\n"), std::string::npos) << text;
  EXPECT_NE(text.find("M = 16: of 4 kernels the planner's takes 100.0 % more than the fastest\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace heddle

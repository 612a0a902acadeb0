#include "tools/heddle/run/step_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/tools/step_model.h"

namespace heddle {
namespace {

DecodeStep some_step() { return decode_step(testing::step_model(testing::small_llama()), 2); }

// Each launch takes 2 us in the step, 3 us alone, and moves 4 MB.
StepBenchReport some_report(const DecodeStep& step) {
  StepBenchReport report;
  report.device = target_from_name("h200");
  report.read_tb_per_s = 4;
  StepTiming row;
  row.load = {8, 1024};
  row.us = 50;
  row.sm_mhz = 1700;
  for (std::size_t i = 0; i < step.kernels.size(); ++i) {
    row.kernels.push_back({step.count(i), 3, 2, 4e6});
  }
  report.rows = {row};
  return report;
}

TEST(StepReport, TheWholeStandsBesideTheSumOfItsParts) {
  const DecodeStep step = some_step();
  const nlohmann::ordered_json json = step_json(some_report(step), step);
  EXPECT_EQ(json["layers"], 2);
  EXPECT_EQ(json["model_layers"], 3);
  EXPECT_EQ(json["launches"], 20);
  ASSERT_EQ(json["steps"].size(), 1U);
  const auto& row = json["steps"][0];
  EXPECT_EQ(row["batch"], 8);
  EXPECT_EQ(row["tokens_per_s"], 160000);
  EXPECT_EQ(row["bytes"], 20 * 4e6);
  EXPECT_EQ(row["floor_us"], 20);
  EXPECT_EQ(row["times_floor"], 2.5);
  EXPECT_EQ(row["sum_in_step_us"], 40);
  EXPECT_EQ(row["sum_alone_us"], 60);
  ASSERT_EQ(row["kernels"].size(), step.kernels.size());
  EXPECT_EQ(row["kernels"][0]["name"], "norm");
  EXPECT_EQ(row["kernels"][0]["launches"], 1);
  EXPECT_EQ(row["kernels"][0]["floor_us"], 1);
  EXPECT_EQ(row["kernels"][0]["times_floor"], 2);
}

TEST(StepReport, TextHasATableForEachLoad) {
  const DecodeStep step = some_step();
  const std::string text = step_text(some_report(step), step);
  EXPECT_NE(text.find("\nbatch 8, context 1024:\n"), std::string::npos) << text;
  EXPECT_NE(text.find("sum of 20 launches: 0.040 ms in the step, 0.060 ms alone; the step: 0.050 "
                      "ms\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("note: 2 of 3 decoder layers\n"), std::string::npos) << text;
  for (const Spec& spec : step.kernels) EXPECT_NE(text.find(spec.name()), std::string::npos);
}

}  // namespace
}  // namespace heddle

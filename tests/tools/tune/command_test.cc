// The parts of `heddle tune` around the measuring: its options, its file, its report, SIGINT.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "heddle/error.h"
#include "tests/generator/tuned/tables.h"
#include "tests/temporary_folder.h"
#include "tools/heddle/run/calibrate_report.h"
#include "tools/heddle/run/tune_options.h"
#include "tools/heddle/run/tune_report.h"
#include "tools/heddle/run/tuned_file.h"
#include "tools/heddle/shared/interrupt.h"

namespace heddle {
namespace {

TEST(TuneOptions, RangesOfTokens) {
  for (const char* wrong : {"", "-", "1-", "-4", "4-1", "0-4", "1-4-8", "x", "1.5", " 1", "1,4",
                            "99999999999999999999"}) {
    EXPECT_NE(m_range_problem(wrong), "") << wrong;
  }
  EXPECT_EQ(m_range_problem("1-4096"), "");
  EXPECT_EQ(parse_m_range("3-17").min, 3);
  EXPECT_EQ(parse_m_range("3-17").max, 17);
  EXPECT_EQ(parse_m_range("16").min, 16);
  EXPECT_EQ(parse_m_range("16").max, 16);
}

TEST(TuneOptions, Times) {
  for (const char* wrong :
       {"", "s", "0", "60", "0s", "-1s", "1d", "60 s", "nan", "inf", "25h", "1e9", "1s s"}) {
    EXPECT_NE(seconds_problem(wrong), "") << wrong;
  }
  EXPECT_EQ(parse_seconds("60s"), 60);
  EXPECT_EQ(parse_seconds("1.5m"), 90);
  EXPECT_EQ(parse_seconds("24h"), 86400);
}

TunedEntry entry(std::int64_t first, std::int64_t last) {
  TunedEntry one;
  one.n = 4096;
  one.k = 4096;
  one.m_first = first;
  one.m_last = last;
  one.family = "tiles";
  one.kernel = "a label";
  return one;
}

TEST(TunedFile, IsReadAsItWasWritten) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "table.json").string();
  EXPECT_FALSE(read_tuned_file(path));
  const TunedTable table = TunedTable::from_entries("h100", {entry(1, 8), entry(9, 16)});
  write_tuned_file(path, table);
  EXPECT_EQ(read_tuned_file(path)->to_json(), table.to_json());
  // Nothing else is left in the folder.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(TunedFile, AnythingElseIsRefusedWithItsName) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "table.json").string();
  std::ofstream(path) << "{\"heddle\": 1}\n";
  try {
    read_tuned_file(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
  }
  EXPECT_THROW(read_tuned_file(folder.path().string()), Error);
  EXPECT_THROW(write_tuned_file(folder.path().string(), TunedTable::from_entries("h100", {})),
               Error);
}

TuneReport report_of_one_step() {
  TuneReport report;
  report.entries = {entry(1, 1)};
  report.steps = {{"qkv_proj", {1, 1}, "tiles", "a label", 9.5, 0.05, 10.25, 12}};
  return report;
}

TEST(TuneReport, TheExitCodeSaysWhetherAllWasDone) {
  testing::internal::CaptureStderr();
  TuneReport report = report_of_one_step();
  EXPECT_EQ(report_tuning(report), 0);
  report.not_measured = {"qkv_proj, M 2"};
  EXPECT_EQ(report_tuning(report), 1);
  report.interrupted = true;
  EXPECT_EQ(report_tuning(report), 130);
  report = report_of_one_step();
  report.faults = {"qkv_proj, M 1: tiles b: wrong results"};
  EXPECT_EQ(report_tuning(report), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "heddle: not measured: qkv_proj, M 2\nheddle: not measured: qkv_proj, M 2\n"
            "heddle: qkv_proj, M 1: tiles b: wrong results\n");
}

TEST(TuneReport, TextAndDocumentSayTheSame) {
  const TuneReport report = report_of_one_step();
  const std::string text = tune_text(report);
  EXPECT_NE(text.find("qkv_proj   1..1  tiles   a label  9.50  0.05      10.25     12\n"),
            text.npos)
      << text;
  EXPECT_NE(text.find("1 steps of M measured, 0 not; 1 entries of the table\n"), text.npos);
  const auto json = tune_json(report, TunedTable::from_entries("h100", report.entries));
  EXPECT_EQ(json["gpu"], "h100");
  EXPECT_EQ(json["steps"][0]["us"], 9.5);
  EXPECT_EQ(json["steps"][0]["predicted_first_us"], 10.25);
  EXPECT_EQ(json["table"]["entries"].size(), 1U);
  EXPECT_EQ(json["interrupted"], false);
}

FamilyCalibration calibrated(const char* name, CalibrationVerdict verdict) {
  FamilyCalibration one;
  one.family = &family_named(name);
  one.verdict = verdict;
  one.current = values_of(one.family->cost_parameters());
  one.fitted = 5;
  one.held_out = 3;
  if (verdict == CalibrationVerdict::kTooLittle) return one;
  one.fitted = 60;
  one.held_out = 20;
  one.values = one.current;
  one.values.front() = 1234;
  one.before = {20, 0.081, 0.2};
  one.after = {20, 0.032, 0.1};
  return one;
}

TEST(CalibrateReport, TextAndDocumentSayTheSame) {
  const std::vector<FamilyCalibration> families{
      calibrated("tiles", CalibrationVerdict::kBetter),
      calibrated("stream", CalibrationVerdict::kNotBetter),
      calibrated("gemv", CalibrationVerdict::kTooLittle)};
  const std::string text = calibration_text(families);
  for (const char* line :
       {"tiles          60        20          8.1 %  3.2 %      20.0 %  10.0 %  measured\n",
        "gemv            5         3              -      -           -       -  current, too few "
        "kernels\n",
        "tiles   start           2106      1234  clocks\n",
        "The measured values of stream are not written: "}) {
    EXPECT_NE(text.find(line), text.npos) << text;
  }
  CalibrationMeasurement measured;
  measured.cells.resize(3);
  const std::vector<TunedCosts> costs = costs_to_write(families, "a test");
  ASSERT_EQ(costs.size(), 1U);
  const TunedTable table = TunedTable::from_entries("h100", {}, costs);
  const auto json = calibration_json(measured, families, table);
  EXPECT_EQ(json["cells"], 3);
  EXPECT_EQ(json["families"][0]["after"]["median"], 0.032);
  EXPECT_EQ(json["families"][0]["costs"][0]["measured"], 1234);
  EXPECT_EQ(json["families"][1]["values_are"], "current");
  EXPECT_FALSE(json["families"][2].contains("after"));
  EXPECT_FALSE(json["families"][2]["costs"][0].contains("measured"));
  EXPECT_EQ(json["table"]["costs"]["tiles"]["values"]["start"], 1234);
  EXPECT_FALSE(json["table"]["costs"].contains("stream"));
}

TEST(CalibrateReport, TheExitCodeSaysWhetherAllWasDone) {
  testing::internal::CaptureStderr();
  const CalibrationMeasurement measured;
  const std::vector<FamilyCalibration> done{calibrated("tiles", CalibrationVerdict::kBetter),
                                            calibrated("stream", CalibrationVerdict::kNotBetter)};
  EXPECT_EQ(report_calibration(measured, done), 0);
  EXPECT_EQ(report_calibration(measured, {calibrated("gemv", CalibrationVerdict::kTooLittle)}), 1);
  EXPECT_EQ(report_calibration(measured, {}), 1);
  CalibrationMeasurement interrupted;
  interrupted.interrupted = true;
  EXPECT_EQ(report_calibration(interrupted, done), 130);
  CalibrationMeasurement part;
  part.not_measured = {"W4 4096 x 4096, M = 16"};
  EXPECT_EQ(report_calibration(part, done), 1);
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "heddle: too few kernels of gemv were measured for its costs, which stay as they are: 5 "
      "to fit them to and 3 held out, of at least 16 and 4\n"
      "heddle: nothing was measured, so nothing is written\n"
      "heddle: not measured: W4 4096 x 4096, M = 16\n");
}

TEST(InterruptGuard, TheFirstSignalAsksTheSecondEnds) {
  EXPECT_EXIT(
      {
        const InterruptGuard guard;
        if (InterruptGuard::interrupted()) std::exit(3);
        std::raise(SIGINT);
        if (!InterruptGuard::interrupted()) std::exit(4);
        std::raise(SIGINT);
        std::exit(5);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(InterruptGuard, LeavesTheHandlerAsItWas) {
  { const InterruptGuard guard; }
  EXPECT_EXIT(
      {
        std::signal(SIGINT, SIG_IGN);
        {
          const InterruptGuard guard;
          std::raise(SIGINT);  // ignored, as a shell has it for commands in the background
          if (InterruptGuard::interrupted()) std::exit(1);
        }
        std::raise(SIGINT);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace heddle

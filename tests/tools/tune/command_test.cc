// The parts of `heddle tune` around the measuring: its options, its file, its report, SIGINT.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "heddle/error.h"
#include "tests/runtime/temporary_folder.h"
#include "tools/heddle/interrupt.h"
#include "tools/heddle/tune_options.h"
#include "tools/heddle/tune_report.h"
#include "tools/heddle/tuned_file.h"

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
       {"", "s", "0", "0s", "-1s", "1d", "60 s", "nan", "inf", "25h", "1e9", "1s s"}) {
    EXPECT_NE(seconds_problem(wrong), "") << wrong;
  }
  EXPECT_EQ(parse_seconds("60s"), 60);
  EXPECT_EQ(parse_seconds("60"), 60);
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

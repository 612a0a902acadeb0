#include "tools/heddle/run/tune_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/table.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostLines = 50;

std::string m_text(const MRange& m) { return fmt::format("{}..{}", m.min, m.max); }

ordered_json step_json(const TunedStep& step) {
  ordered_json json = {{"name", step.name},
                       {"m", {step.m.min, step.m.max}},
                       {"family", step.family},
                       {"kernel", step.kernel},
                       {"us", step.us},
                       {"error_us", step.error},
                       {"candidates", step.candidates}};
  if (step.first_us > 0) json["predicted_first_us"] = step.first_us;
  return json;
}

}  // namespace

std::string tune_text(const TuneReport& report) {
  Table table({{"KERNEL OF"},
               {"M", Align::kRight},
               {"FAMILY"},
               {"KERNEL"},
               {"us", Align::kRight},
               {"+-", Align::kRight},
               {"PREDICTED", Align::kRight},
               {"TIMED", Align::kRight}});
  for (const TunedStep& step : report.steps) {
    table.add_row({step.name, m_text(step.m), step.family, step.kernel,
                   fmt::format("{:.2f}", step.us), fmt::format("{:.2f}", step.error),
                   step.first_us > 0 ? fmt::format("{:.2f}", step.first_us) : "-",
                   fmt::format("{}", step.candidates)});
  }
  return table.text() + fmt::format("{} steps of M measured, {} not; {} entries of the table\n",
                                    report.steps.size(), report.not_measured.size(),
                                    report.entries.size());
}

ordered_json tune_json(const TuneReport& report, const TunedTable& table) {
  auto steps = ordered_json::array();
  for (const TunedStep& step : report.steps) steps.push_back(step_json(step));
  return {{"gpu", table.gpu()},
          {"steps", std::move(steps)},
          {"not_measured", report.not_measured},
          {"faults", report.faults},
          {"interrupted", report.interrupted},
          {"table", ordered_json::parse(table.to_json())}};
}

int report_tuning(const TuneReport& report) {
  std::size_t lines = 0;
  const auto say = [&lines](const std::string& line) {
    if (lines++ < kMostLines) print_problem(line);
  };
  for (const std::string& fault : report.faults) say(fault);
  for (const std::string& step : report.not_measured) say("not measured: " + step);
  if (lines > kMostLines) print_problem(fmt::format("and {} more", lines - kMostLines));
  if (report.interrupted) return kExitInterrupted;
  return lines == 0 ? kExitDone : kExitFailed;
}

}  // namespace heddle

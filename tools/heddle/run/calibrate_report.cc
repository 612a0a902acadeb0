#include "tools/heddle/run/calibrate_report.h"

#include <fmt/format.h>

#include "tools/heddle/run/tune_report.h"
#include "tools/heddle/shared/errors.h"
#include "tools/heddle/shared/table.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

std::string verdict_text(CalibrationVerdict verdict) {
  switch (verdict) {
    case CalibrationVerdict::kBetter:
      return "measured";
    case CalibrationVerdict::kNotBetter:
      return "current";
    case CalibrationVerdict::kTooLittle:
      return "current, too few kernels";
  }
  return "";
}

std::string percent(double part) { return fmt::format("{:.1f} %", 100 * part); }

ordered_json errors_json(const CostErrors& errors) {
  return {{"median", errors.median}, {"p90", errors.p90}};
}

ordered_json family_json(const FamilyCalibration& one) {
  ordered_json json = {{"family", one.family->name()},
                       {"values_are", verdict_text(one.verdict)},
                       {"fitted_kernels", one.fitted},
                       {"held_out_kernels", one.held_out}};
  if (one.verdict != CalibrationVerdict::kTooLittle) {
    json["before"] = errors_json(one.before);
    json["after"] = errors_json(one.after);
  }
  auto costs = ordered_json::array();
  const std::vector<CostParameter>& parameters = one.family->cost_parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    ordered_json cost = {
        {"name", parameters[i].name}, {"unit", parameters[i].unit}, {"current", one.current[i]}};
    if (!one.values.empty()) cost["measured"] = one.values[i];
    costs.push_back(std::move(cost));
  }
  json["costs"] = std::move(costs);
  return json;
}

std::string errors_text(const std::vector<FamilyCalibration>& families) {
  Table table({{"FAMILY"},
               {"FITTED TO", Align::kRight},
               {"HELD OUT", Align::kRight},
               {"MEDIAN BEFORE", Align::kRight},
               {"AFTER", Align::kRight},
               {"P90 BEFORE", Align::kRight},
               {"AFTER", Align::kRight},
               {"VALUES"}});
  for (const FamilyCalibration& one : families) {
    const auto shown = [&one](double part) {
      return one.verdict == CalibrationVerdict::kTooLittle ? "-" : percent(part);
    };
    table.add_row({std::string(one.family->name()), fmt::format("{}", one.fitted),
                   fmt::format("{}", one.held_out), shown(one.before.median),
                   shown(one.after.median), shown(one.before.p90), shown(one.after.p90),
                   verdict_text(one.verdict)});
  }
  return table.text();
}

std::string values_text(const std::vector<FamilyCalibration>& families) {
  Table table(
      {{"FAMILY"}, {"COST"}, {"CURRENT", Align::kRight}, {"MEASURED", Align::kRight}, {"UNIT"}});
  for (const FamilyCalibration& one : families) {
    const std::vector<CostParameter>& parameters = one.family->cost_parameters();
    for (std::size_t i = 0; i < one.values.size(); ++i) {
      table.add_row({std::string(one.family->name()), std::string(parameters[i].name),
                     fmt::format("{:g}", one.current[i]), fmt::format("{:g}", one.values[i]),
                     std::string(parameters[i].unit)});
    }
  }
  return table.text();
}

}  // namespace

std::string calibration_text(const std::vector<FamilyCalibration>& families) {
  std::string text = errors_text(families) + "\n" + values_text(families);
  for (const FamilyCalibration& one : families) {
    if (one.verdict != CalibrationVerdict::kNotBetter) continue;
    text += fmt::format(
        "The measured values of {} are not written: with them predicted times of held-out kernels "
        "are further off.\n",
        one.family->name());
  }
  return text;
}

ordered_json calibration_json(const CalibrationMeasurement& measured,
                              const std::vector<FamilyCalibration>& families,
                              const TunedTable& table) {
  auto rows = ordered_json::array();
  for (const FamilyCalibration& one : families) rows.push_back(family_json(one));
  return {{"gpu", table.gpu()},
          {"cells", measured.cells.size()},
          {"families", std::move(rows)},
          {"not_measured", measured.not_measured},
          {"faults", measured.faults},
          {"interrupted", measured.interrupted},
          {"table", ordered_json::parse(table.to_json())}};
}

int report_calibration(const CalibrationMeasurement& measured,
                       const std::vector<FamilyCalibration>& families) {
  TuneReport report;
  report.faults = measured.faults;
  report.not_measured = measured.not_measured;
  report.interrupted = measured.interrupted;
  for (const FamilyCalibration& one : families) {
    if (one.verdict != CalibrationVerdict::kTooLittle) continue;
    report.faults.push_back(fmt::format(
        "too few kernels of {} were measured for its costs, which stay as they are: {} to fit them "
        "to and {} held out, of at least {} and {}",
        one.family->name(), one.fitted, one.held_out, kFewestFitted, kFewestHeldOut));
  }
  if (families.empty()) report.faults.emplace_back("nothing was measured, so nothing is written");
  return report_tuning(report);
}

}  // namespace heddle

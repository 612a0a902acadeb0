#include "tools/heddle/run/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "generator/families/family.h"
#include "tools/gpu_harness/timing/median.h"
#include "tools/heddle/shared/table.h"

namespace heddle {
namespace {

nlohmann::ordered_json row_json(const Sweep& sweep, const PlanTime& row) {
  return {{"us", row.us},
          {"predicted_us", sweep.predicted_us.at(row.plan)},
          {"times_floor", row.us / row.floor_us},
          {"family", row.kernel.family->name()},
          {"kernel", sweep.labels.at(row.plan)},
          {"configuration", row.kernel.family->json(row.kernel)}};
}

}  // namespace

Sweep sweep_of(const PlanTimes& report) {
  Sweep sweep;
  sweep.read_tb_per_s = report.read_tb_per_s;
  sweep.chosen = report.rows.front();
  sweep.rows = report.rows;
  std::stable_sort(sweep.rows.begin(), sweep.rows.end(),
                   [](const PlanTime& a, const PlanTime& b) { return a.us < b.us; });
  return sweep;
}

std::vector<std::size_t> finalists(const Sweep& sweep, std::size_t count) {
  std::vector<std::size_t> places{sweep.chosen.plan};
  for (const PlanTime& row : sweep.rows) {
    if (places.size() >= count) break;
    if (row.plan != sweep.chosen.plan) places.push_back(row.plan);
  }
  return places;
}

void settle(const std::vector<std::size_t>& finalists, const PlanTimes& report, Sweep* sweep) {
  std::vector<std::vector<double>> times(finalists.size());
  for (const PlanTime& row : report.rows) {
    times[row.plan % finalists.size()].push_back(row.us);
  }
  std::map<std::size_t, double> final_us;
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    final_us[finalists[i]] = median(std::move(times[i]));
  }
  const auto settle_row = [&final_us](PlanTime& row) {
    const auto found = final_us.find(row.plan);
    if (found != final_us.end()) row.us = found->second;
  };
  for (PlanTime& row : sweep->rows) settle_row(row);
  settle_row(sweep->chosen);
  std::stable_sort(sweep->rows.begin(), sweep->rows.end(),
                   [&final_us](const PlanTime& a, const PlanTime& b) {
                     const bool is_final = final_us.contains(a.plan);
                     if (is_final != final_us.contains(b.plan)) return is_final;
                     return a.us < b.us;
                   });
}

nlohmann::ordered_json sweep_json(const Sweep& sweep, const nlohmann::ordered_json& launch) {
  auto rows = nlohmann::ordered_json::array();
  for (const PlanTime& row : sweep.rows) rows.push_back(row_json(sweep, row));
  nlohmann::ordered_json json = launch;
  json["read_tb_per_s"] = sweep.read_tb_per_s;
  json["candidates"] = sweep.rows.size();
  json["times_best"] = sweep.times_best();
  json["chosen"] = row_json(sweep, sweep.chosen);
  json["rows"] = std::move(rows);
  return json;
}

std::string sweep_text(const Sweep& sweep, std::size_t top) {
  Table table({{"PLACE", Align::kRight},
               {"FAMILY"},
               {"CONFIGURATION"},
               {"us", Align::kRight},
               {"x FLOOR", Align::kRight},
               {"x BEST", Align::kRight},
               {""}});
  for (std::size_t i = 0; i < sweep.rows.size(); ++i) {
    const PlanTime& row = sweep.rows[i];
    const bool chosen = row.plan == sweep.chosen.plan;
    if (i >= top && !chosen) continue;
    table.add_row({fmt::format("{}", i + 1), std::string(row.kernel.family->name()),
                   row.kernel.family->describe(row.kernel), fmt::format("{:.2f}", row.us),
                   fmt::format("{:.2f}", row.us / row.floor_us),
                   fmt::format("{:.3f}", row.us / sweep.rows.front().us),
                   chosen ? "the planner's" : ""});
  }
  return table.text() +
         fmt::format("{}: of {} kernels the planner's takes {:.1f} % more than the fastest\n",
                     sweep.launch, sweep.rows.size(), 100 * (sweep.times_best() - 1));
}

}  // namespace heddle

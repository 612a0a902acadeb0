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

nlohmann::ordered_json row_json(const Sweep& sweep, const GemmTiming& row) {
  return {{"us", row.us},
          {"predicted_us", sweep.predicted_us.at(row.spec)},
          {"times_floor", row.us / row.floor_us},
          {"family", row.kernel.family->name()},
          {"kernel", sweep.labels.at(row.spec)},
          {"configuration", row.kernel.family->json(row.kernel)}};
}

}  // namespace

Sweep sweep_of(const GemmBenchReport& report) {
  Sweep sweep;
  sweep.m = report.rows.front().m;
  sweep.read_tb_per_s = report.read_tb_per_s;
  sweep.chosen = report.rows.front();
  sweep.rows = report.rows;
  std::stable_sort(sweep.rows.begin(), sweep.rows.end(),
                   [](const GemmTiming& a, const GemmTiming& b) { return a.us < b.us; });
  return sweep;
}

std::vector<std::size_t> finalists(const Sweep& sweep, std::size_t count) {
  std::vector<std::size_t> places{sweep.chosen.spec};
  for (const GemmTiming& row : sweep.rows) {
    if (places.size() >= count) break;
    if (row.spec != sweep.chosen.spec) places.push_back(row.spec);
  }
  return places;
}

void settle(const std::vector<std::size_t>& finalists, const GemmBenchReport& report,
            Sweep* sweep) {
  std::vector<std::vector<double>> times(finalists.size());
  for (const GemmTiming& row : report.rows) {
    times[row.spec % finalists.size()].push_back(row.us);
  }
  std::map<std::size_t, double> final_us;
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    final_us[finalists[i]] = median(std::move(times[i]));
  }
  const auto settle_row = [&final_us](GemmTiming& row) {
    const auto found = final_us.find(row.spec);
    if (found != final_us.end()) row.us = found->second;
  };
  for (GemmTiming& row : sweep->rows) settle_row(row);
  settle_row(sweep->chosen);
  std::stable_sort(sweep->rows.begin(), sweep->rows.end(),
                   [&final_us](const GemmTiming& a, const GemmTiming& b) {
                     const bool is_final = final_us.contains(a.spec);
                     if (is_final != final_us.contains(b.spec)) return is_final;
                     return a.us < b.us;
                   });
}

nlohmann::ordered_json sweep_json(const Sweep& sweep) {
  auto rows = nlohmann::ordered_json::array();
  for (const GemmTiming& row : sweep.rows) rows.push_back(row_json(sweep, row));
  return {{"m", sweep.m},
          {"read_tb_per_s", sweep.read_tb_per_s},
          {"candidates", sweep.rows.size()},
          {"times_best", sweep.times_best()},
          {"chosen", row_json(sweep, sweep.chosen)},
          {"rows", std::move(rows)}};
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
    const GemmTiming& row = sweep.rows[i];
    const bool chosen = row.spec == sweep.chosen.spec;
    if (i >= top && !chosen) continue;
    table.add_row({fmt::format("{}", i + 1), std::string(row.kernel.family->name()),
                   row.kernel.family->describe(row.kernel), fmt::format("{:.2f}", row.us),
                   fmt::format("{:.2f}", row.us / row.floor_us),
                   fmt::format("{:.3f}", row.us / sweep.rows.front().us),
                   chosen ? "the planner's" : ""});
  }
  return table.text() +
         fmt::format("M = {}: of {} kernels the planner's takes {:.1f} % more than the fastest\n",
                     sweep.m, sweep.rows.size(), 100 * (sweep.times_best() - 1));
}

}  // namespace heddle

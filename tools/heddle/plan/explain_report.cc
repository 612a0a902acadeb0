#include "tools/heddle/plan/explain_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "generator/families/registry.h"
#include "generator/operations/operation.h"
#include "generator/planner/candidates.h"
#include "generator/planner/choose.h"
#include "generator/planner/measured_costs.h"
#include "tools/heddle/shared/launch_text.h"
#include "tools/heddle/shared/table.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

const PlannedKernel& kernel_of(const CandidatePlan& candidate) {
  return candidate.plan.kernels.front();
}

const Spec& spec_of(const Explanation& one) { return one.candidates.front().plan.spec; }

// Whether times are predicted for its kernels.
bool has_costs(const PlannedKernel& kernel) { return !kernel.family->cost_parameters().empty(); }

// What tells the row from others: the plan's own, or the same configuration for fewer tokens.
std::string mark_of(const Explanation& one, std::size_t place) {
  if (place == one.chosen) return "the plan's";
  const PlannedKernel& kernel = kernel_of(one.candidates[place]);
  if (!is_same_configuration(kernel, kernel_of(one.candidates[one.chosen]))) return "";
  return fmt::format("the same for {} alone",
                     range_text(spec_of(one), {kernel.size_min, kernel.size_max}));
}

// Each phase of the candidate's launch of this size.
std::vector<KernelLaunch> launches_of(const CandidatePlan& candidate, LaunchSize size) {
  std::vector<KernelLaunch> launches;
  for (size.phase = 0; size.phase < kernel_of(candidate).phases; ++size.phase) {
    launches.push_back(candidate.plan.launch(0, size));
  }
  return launches;
}

std::string grids_text(const std::vector<KernelLaunch>& launches) {
  std::string text;
  for (const KernelLaunch& launch : launches) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} x {} x {}", launch.grid_x, launch.grid_y, launch.grid_z);
    if (launch.cluster > 1) text += fmt::format(" by {}", launch.cluster);
  }
  return text;
}

// One grid, or of a kernel with several launches a list of them.
ordered_json grids_json(const std::vector<KernelLaunch>& launches) {
  auto grids = ordered_json::array();
  for (const KernelLaunch& launch : launches) {
    grids.push_back({launch.grid_x, launch.grid_y, launch.grid_z});
  }
  return grids.size() == 1 ? grids.front() : grids;
}

std::vector<std::string> row_of(const Explanation& one, std::size_t place,
                                const MeasuredUs& measured) {
  const CandidatePlan& candidate = one.candidates[place];
  const PlannedKernel& kernel = kernel_of(candidate);
  std::vector<std::string> cells{fmt::format("{}", place + 1), std::string(kernel.family->name()),
                                 kernel_label(kernel),
                                 has_costs(kernel) ? fmt::format("{:.2f}", candidate.us) : "-"};
  if (!measured.empty()) {
    const auto found = measured.find(place);
    cells.push_back(found == measured.end() ? "-" : fmt::format("{:.2f}", found->second));
  }
  cells.push_back(grids_text(launches_of(candidate, one.size)));
  cells.push_back(fmt::format("{}", kernel.threads));
  cells.push_back(fmt::format("{}", kernel.shared_bytes));
  cells.push_back(fmt::format("{}", register_budget(kernel, candidate.plan.target)));
  cells.push_back(mark_of(one, place));
  return cells;
}

// Of the sizes that a kernel serves.
const char* size_key(const Spec& spec) {
  return operation_of(spec).size_kind() == SizeKind::kRows ? "m" : "sizes";
}

ordered_json row_json(const Explanation& one, std::size_t place, const MeasuredUs& measured) {
  const CandidatePlan& candidate = one.candidates[place];
  const PlannedKernel& kernel = kernel_of(candidate);
  const std::vector<KernelLaunch> launches = launches_of(candidate, one.size);
  ordered_json json = {{"place", place + 1},
                       {"family", kernel.family->name()},
                       {"kernel", kernel_label(kernel)},
                       {size_key(spec_of(one)), {kernel.size_min, kernel.size_max}}};
  if (has_costs(kernel)) json["predicted_us"] = candidate.us;
  const auto found = measured.find(place);
  if (found != measured.end()) json["measured_us"] = found->second;
  json["grid"] = grids_json(launches);
  json["cluster"] = launches.front().cluster;
  json["threads"] = kernel.threads;
  json["blocks_per_sm"] = kernel.blocks_per_sm;
  json["shared_bytes"] = kernel.shared_bytes;
  json["registers"] = register_budget(kernel, candidate.plan.target);
  json["chosen"] = place == one.chosen;
  return json;
}

std::string source_of_costs(const Plan& plan, const Family& family) {
  return has_measured_costs(plan, family) ? fmt::format("table {}", plan.costs->gpu) : "built in";
}

// How far the plan's kernel is from the fastest that was measured.
std::string measured_text(const Explanation& one, const MeasuredUs& measured) {
  if (measured.empty()) return "";
  const auto best =
      std::min_element(measured.begin(), measured.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (best->first == one.chosen) return "Of those measured the plan's is the fastest.\n";
  const double more = 100 * (measured.at(one.chosen) / best->second - 1);
  return fmt::format("Of those measured place {} is the fastest; the plan's takes {:.1f} % more.\n",
                     best->first + 1, more);
}

}  // namespace

std::vector<std::size_t> shown_places(const Explanation& explanation, std::size_t most) {
  std::vector<std::size_t> places(std::min(most, explanation.candidates.size()));
  std::iota(places.begin(), places.end(), std::size_t{0});
  if (explanation.chosen >= places.size()) places.push_back(explanation.chosen);
  return places;
}

MeasuredUs measured_us(const Sweep& sweep, const std::vector<std::size_t>& places) {
  MeasuredUs measured;
  for (const PlanTime& row : sweep.rows) measured[places.at(row.plan)] = row.us;
  return measured;
}

std::string explain_text(const Explanation& one, std::size_t most, const MeasuredUs& measured) {
  std::vector<Column> columns{
      {"PLACE", Align::kRight}, {"FAMILY"}, {"KERNEL"}, {"us", Align::kRight}};
  if (!measured.empty()) columns.push_back({"MEASURED", Align::kRight});
  columns.push_back({"GRID"});
  columns.push_back({"THREADS", Align::kRight});
  columns.push_back({"SHARED", Align::kRight});
  columns.push_back({"REGISTERS", Align::kRight});
  columns.push_back({""});
  Table table(columns);
  const std::vector<std::size_t> places = shown_places(one, most);
  for (const std::size_t place : places) table.add_row(row_of(one, place, measured));
  std::string text = fmt::format("{}: {} of {} candidates\n{}", launch_text(spec_of(one), one.size),
                                 places.size(), one.candidates.size(), table.text());
  const PlannedKernel& chosen = kernel_of(one.candidates[one.chosen]);
  text += fmt::format("The plan has {} {} for {}: {}.\n", chosen.family->name(),
                      kernel_label(chosen), range_text(spec_of(one), one.chosen_range), one.why);
  text += measured_text(one, measured);
  for (const AbsentFamily& absent : one.absent) {
    text += fmt::format("The family {} has no candidate: {}.\n", absent.family->name(), absent.why);
  }
  return text;
}

ordered_json explain_json(const Explanation& one, std::size_t most, const MeasuredUs& measured) {
  auto rows = ordered_json::array();
  for (const std::size_t place : shown_places(one, most)) {
    rows.push_back(row_json(one, place, measured));
  }
  auto absent = ordered_json::array();
  for (const AbsentFamily& family : one.absent) {
    absent.push_back({{"family", family.family->name()}, {"why", family.why}});
  }
  ordered_json json = launch_json(spec_of(one), one.size);
  json["step"] = {one.step.min, one.step.max};
  json["candidates"] = one.candidates.size();
  json["rows"] = std::move(rows);
  json["chosen"] = row_json(one, one.chosen, measured);
  json[std::string("chosen_") + size_key(spec_of(one))] = {one.chosen_range.min,
                                                           one.chosen_range.max};
  json["why"] = one.why;
  json["absent"] = std::move(absent);
  return json;
}

std::string costs_text(const Plan& plan) {
  Table table({{"FAMILY"}, {"COST"}, {"VALUE", Align::kRight}, {"UNIT"}, {"FROM"}, {"MEANING"}});
  for (const Family* family : families_of(plan.spec.op())) {
    const Costs values = costs_of(plan, *family);
    const std::string from = source_of_costs(plan, *family);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const CostParameter& cost = family->cost_parameters()[i];
      table.add_row({std::string(family->name()), std::string(cost.name),
                     fmt::format("{:g}", values[i]), std::string(cost.unit), from,
                     std::string(cost.meaning)});
    }
  }
  return table.text();
}

ordered_json costs_json(const Plan& plan) {
  ordered_json json = ordered_json::object();
  for (const Family* family : families_of(plan.spec.op())) {
    const Costs values = costs_of(plan, *family);
    const std::string from = source_of_costs(plan, *family);
    auto costs = ordered_json::array();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const CostParameter& cost = family->cost_parameters()[i];
      costs.push_back({{"name", cost.name},
                       {"value", values[i]},
                       {"built_in", cost.value},
                       {"from", from},
                       {"unit", cost.unit},
                       {"meaning", cost.meaning}});
    }
    json[std::string(family->name())] = std::move(costs);
  }
  return json;
}

}  // namespace heddle

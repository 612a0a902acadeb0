#include "generator/planner/measured_costs.h"

#include <fmt/format.h>

#include "generator/families/registry.h"
#include "generator/operations/operation.h"

namespace heddle {
namespace {

const TunedCosts* costs_in(const TunedTable* table, const Family& family) {
  if (table == nullptr) return nullptr;
  for (const TunedCosts& costs : table->costs()) {
    if (costs.family == family.name()) return &costs;
  }
  return nullptr;
}

// The values are asked for with every predicted time.
const std::vector<double>& built_in(const Family& family) {
  static const auto all = [] {
    std::map<const Family*, std::vector<double>> values;
    for (const Operation* operation : every_operation()) {
      for (const Family* one : families_of(operation->fields().op)) {
        values[one] = values_of(one->cost_parameters());
      }
    }
    return values;
  }();
  return all.at(&family);
}

}  // namespace

std::shared_ptr<const MeasuredCosts> measured_costs(const TunedTable* table) {
  MeasuredCosts measured;
  for (const GemmFamily* family : gemm_families()) {
    const TunedCosts* const costs = costs_in(table, *family);
    if (costs == nullptr || costs->version != family->cost_version()) continue;
    std::vector<double>& values = measured.values[family];
    // A table has every parameter of this version: parsing makes sure of that.
    for (const CostParameter& one : family->cost_parameters()) {
      values.push_back(costs->values.at(std::string(one.name)));
    }
  }
  if (measured.values.empty()) return nullptr;
  measured.gpu = table->gpu();
  return std::make_shared<const MeasuredCosts>(std::move(measured));
}

CostReasons cost_reasons(const Plan& plan, const TunedTable* table) {
  CostReasons reasons;
  std::string used;
  for (const Family* family : families_of(plan.spec.op())) {
    if (!has_measured_costs(plan, *family)) continue;
    used += fmt::format("{}{}", used.empty() ? "" : ", ", family->name());
  }
  if (!used.empty()) {
    reasons.used.push_back(
        fmt::format("predicted with the costs that table {} has of {}", plan.costs->gpu, used));
  }
  for (const Family* family : families_of(plan.spec.op())) {
    const TunedCosts* const costs = costs_in(table, *family);
    if (costs == nullptr || costs->version == family->cost_version()) continue;
    reasons.unused.push_back(
        fmt::format("predicted with the built-in costs of {}: table {} has them of version {}, "
                    "this is version {}",
                    family->name(), table->gpu(), costs->version, family->cost_version()));
  }
  return reasons;
}

bool has_measured_costs(const Plan& plan, const Family& family) {
  return plan.costs != nullptr && plan.costs->values.contains(&family);
}

Costs costs_of(const Plan& plan, const Family& family) {
  return has_measured_costs(plan, family) ? plan.costs->values.at(&family) : built_in(family);
}

}  // namespace heddle

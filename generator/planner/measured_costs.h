// The cost parameters that a plan's predicted times are made with: the built-in values, or what a
// tuned table has of the plan's GPU.
#ifndef HEDDLE_GENERATOR_PLANNER_MEASURED_COSTS_H_
#define HEDDLE_GENERATOR_PLANNER_MEASURED_COSTS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "generator/families/costs.h"
#include "generator/families/family.h"
#include "heddle/inspect/plan.h"
#include "heddle/tuned.h"

namespace heddle {

// Immutable; copies of a plan share it.
struct MeasuredCosts {
  std::string gpu;  // the table's
  // In the order of the family's parameters. A family that is missing has its built-in values.
  std::map<const Family*, std::vector<double>> values;
};

// The costs of the table that are of this library's version; null where there are none, and for a
// null table.
std::shared_ptr<const MeasuredCosts> measured_costs(const TunedTable* table);

struct CostReasons {
  std::vector<std::string> used;    // a sentence on the costs of the table that are used
  std::vector<std::string> unused;  // one on each family's that are not
};
CostReasons cost_reasons(const Plan& plan, const TunedTable* table);

// Whether the plan has the family's values from a table.
bool has_measured_costs(const Plan& plan, const Family& family);

// The values that the plan's predictions for the family are made with.
Costs costs_of(const Plan& plan, const Family& family);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLANNER_MEASURED_COSTS_H_

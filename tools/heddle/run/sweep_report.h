// What `heddle bench --sweep` says: how far the planner's kernel is from the fastest one.
#ifndef HEDDLE_TOOLS_HEDDLE_RUN_SWEEP_REPORT_H_
#define HEDDLE_TOOLS_HEDDLE_RUN_SWEEP_REPORT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/gpu_harness/harness.h"

namespace heddle {

// All candidates for one launch.
struct Sweep {
  std::string launch;  // "M = 16"
  double read_tb_per_s = 0;
  PlanTime chosen;             // by the planner
  std::vector<PlanTime> rows;  // the fastest first, the chosen one among them; see settle()
  // One for each plan:
  std::vector<double> predicted_us;
  std::vector<std::string> labels;

  double times_best() const noexcept { return chosen.us / rows.front().us; }
};

// Makes a sweep of a report whose first plan is the planner's own.
Sweep sweep_of(const PlanTimes& report);

// The GPU's clock is not the same for the first and the hundredth of them, so the best are timed
// again, in turns. Places in the list of plans: the planner's, then the fastest others.
std::vector<std::size_t> finalists(const Sweep& sweep, std::size_t count);
// `report` is of several rounds of all `finalists`, each round in their order. Each gets the median
// of its times; they come first in `rows`, the fastest of them foremost.
void settle(const std::vector<std::size_t>& finalists, const PlanTimes& report, Sweep* sweep);

// `launch`: as launch_json() tells it.
nlohmann::ordered_json sweep_json(const Sweep& sweep, const nlohmann::ordered_json& launch);
// The `top` fastest and the chosen one.
std::string sweep_text(const Sweep& sweep, std::size_t top);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_RUN_SWEEP_REPORT_H_

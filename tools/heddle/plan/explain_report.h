// What `heddle explain` says of one number of tokens, and of the costs that predictions are made
// of.
#ifndef HEDDLE_TOOLS_HEDDLE_PLAN_EXPLAIN_REPORT_H_
#define HEDDLE_TOOLS_HEDDLE_PLAN_EXPLAIN_REPORT_H_

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "generator/planner/explain.h"
#include "tools/heddle/run/sweep_report.h"

namespace heddle {

// Places among the candidates that are shown: the fastest `most` by prediction, and the chosen one.
std::vector<std::size_t> shown_places(const Explanation& explanation, std::size_t most);

// Measured microseconds by place among the candidates; empty if nothing was measured.
using MeasuredUs = std::map<std::size_t, double>;
// `places`: of the candidates that the sweep is of, in its order.
MeasuredUs measured_us(const Sweep& sweep, const std::vector<std::size_t>& places);

std::string explain_text(const Explanation& explanation, std::size_t most,
                         const MeasuredUs& measured);
nlohmann::ordered_json explain_json(const Explanation& explanation, std::size_t most,
                                    const MeasuredUs& measured);

// The cost parameters of every family, with the values that the plan was made with and where each
// comes from.
std::string costs_text(const Plan& plan);
nlohmann::ordered_json costs_json(const Plan& plan);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_PLAN_EXPLAIN_REPORT_H_

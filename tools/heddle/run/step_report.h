// What heddle bench --step prints.
#ifndef HEDDLE_TOOLS_HEDDLE_RUN_STEP_REPORT_H_
#define HEDDLE_TOOLS_HEDDLE_RUN_STEP_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/gpu_harness/step/step_bench.h"

namespace heddle {

nlohmann::ordered_json step_json(const StepBenchReport& report, const DecodeStep& step);
// A line for each load, then a table of kernels for each.
std::string step_text(const StepBenchReport& report, const DecodeStep& step);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_RUN_STEP_REPORT_H_

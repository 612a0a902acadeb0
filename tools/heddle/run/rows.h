// What was checked and timed on the GPU, as a table and as JSON.
#ifndef HEDDLE_TOOLS_HEDDLE_RUN_ROWS_H_
#define HEDDLE_TOOLS_HEDDLE_RUN_ROWS_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/gpu_harness/harness.h"

namespace heddle {

// Each check with its outcome.
std::vector<Cells> rows_of(const Harness& harness, const std::vector<Check>& checks,
                           const Plan& plan);

// Precondition: all rows have the same headings.
std::string rows_text(const std::vector<Cells>& rows);
nlohmann::ordered_json rows_json(const std::vector<Cells>& rows);

std::string bench_text(const BenchReport& report);
nlohmann::ordered_json bench_json(const BenchReport& report, const std::string& device);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_RUN_ROWS_H_

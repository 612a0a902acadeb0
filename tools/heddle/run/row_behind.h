// heddle bench SPEC --behind GEMM: what a row_transform costs behind a GEMM.
#ifndef HEDDLE_TOOLS_HEDDLE_RUN_ROW_BEHIND_H_
#define HEDDLE_TOOLS_HEDDLE_RUN_ROW_BEHIND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/runtime.h"
#include "tools/gpu_harness/timing/graph_timer.h"

namespace heddle {

// `behind` is as SPEC on the command line. Throws Error(kUsage, "tool.behind") unless `spec` is one
// row_transform and `behind` one gemm; Error(kUsage) for an M outside of either's range.
Spec read_gemm_behind(const std::vector<Spec>& specs, const std::string& behind,
                      const std::vector<std::int64_t>& m_list);
// Prints a row for each M. Returns the exit code; throws Error.
int bench_row_behind(Runtime& runtime, const Spec& rows, const Spec& gemm,
                     const std::vector<std::int64_t>& m_list, const TimingBudget& budget,
                     bool json);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_RUN_ROW_BEHIND_H_

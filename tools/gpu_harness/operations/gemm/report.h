// What was measured of gemms, as rows.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_REPORT_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_REPORT_H_

#include <string>
#include <vector>

#include "tools/gpu_harness/operations/gemm/bench.h"

namespace heddle {

// Its name or, without one, its shape: "4096 x 11008".
std::string bench_name(const Spec& spec);

// `specs` are those that were timed.
BenchReport gemm_report(const GemmBenchReport& report, const std::vector<Spec>& specs);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_REPORT_H_

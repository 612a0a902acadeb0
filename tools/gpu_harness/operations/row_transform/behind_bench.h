// Times row_transform between GEMMs, as a model has it.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_ROW_TRANSFORM_BEHIND_BENCH_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_ROW_TRANSFORM_BEHIND_BENCH_H_

#include <cstdint>

#include "heddle/operations.h"
#include "tools/gpu_harness/timing/graph_timer.h"

namespace heddle {

struct RowBehindTiming {
  double gemm_us = 0;  // of a GEMM in a graph of GEMMs
  double pair_us = 0;  // of a GEMM and the rows behind it, in a graph of such pairs

  double added_us() const noexcept { return pair_us - gemm_us; }
};

// Replays of the two graphs take turns. The rows are what the GEMM has just written; its weights
// rotate through more memory than the caches hold. In the current context. Throws Error(kUsage,
// "harness.behind") where the GEMM's output is not what the rows are made of, in columns or type.
// Precondition: M is in the range of both.
RowBehindTiming bench_rows_behind(const GemmKernel& gemm, const RowTransformKernel& rows,
                                  std::int64_t m, const TimingBudget& budget = {});

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_ROW_TRANSFORM_BEHIND_BENCH_H_

// Times row_transform beside a plain streaming kernel that moves the same bytes.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_ROW_BENCH_H_
#define HEDDLE_TOOLS_GPU_HARNESS_ROW_BENCH_H_

#include <cstdint>

#include "heddle/row_transform.h"
#include "tools/gpu_harness/packing_bench.h"

namespace heddle {

// In the current context, in CUDA graphs, over buffers that no cache holds, rotating. Weight and
// bias are the same in every launch, as in a model's layers they nearly are. Precondition: M is in
// the spec's range.
PackingTiming bench_rows(const RowTransformKernel& kernel, std::int64_t m,
                         const TimingBudget& budget = {});

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_ROW_BENCH_H_

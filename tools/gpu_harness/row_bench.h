// Times row_transform beside a plain streaming kernel that moves the same bytes.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_ROW_BENCH_H_
#define HEDDLE_TOOLS_GPU_HARNESS_ROW_BENCH_H_

#include <cstdint>
#include <vector>

#include "heddle/row_transform.h"
#include "tools/gpu_harness/packing_bench.h"

namespace heddle {

struct RowTiming : PackingTiming {
  // A launch, and all bytes once at the rate of a streaming read.
  double floor_us = 0;

  double times_floor() const noexcept { return us / floor_us; }
};

struct RowBenchReport {
  double read_tb_per_s = 0;  // streaming read, measured in this run
  std::vector<RowTiming> rows;
};

// For each number of rows. In the current context, in CUDA graphs, over buffers that no cache
// holds, rotating. Weight and bias are the same in every launch, as in a model's layers they nearly
// are. Precondition: all are in the spec's range.
RowBenchReport bench_rows(const RowTransformKernel& kernel, const std::vector<std::int64_t>& m_list,
                          const TimingBudget& budget = {});

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_ROW_BENCH_H_

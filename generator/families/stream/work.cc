#include "generator/families/stream/work.h"

#include <algorithm>
#include <cmath>

#include "generator/families/gemm_work.h"
#include "generator/families/gpu_rates.h"
#include "generator/families/shared_memory.h"

namespace heddle {

StreamWork stream_work(const device::StreamConfig& c) {
  const double row_blocks = ceil_div(c.shape.row_blocks, c.workers / c.split_k);
  const double stages = row_blocks * ceil_div(c.most_chunks(), c.stage_chunks);
  return {row_blocks, stages, stages * c.stage_chunks};
}

double issue_clocks(double instructions, double warps, double of_sm, double of_warp) {
  return std::max(instructions * warps / of_sm, instructions / of_warp);
}

double stream_us(const Plan& plan, const device::StreamConfig& c, double work_clocks,
                 const StreamAround& around) {
  const GpuRates gpu(plan.target);
  const double memory = weight_clocks(plan, c.stage_bytes(), gpu.memory_bytes);
  const double exchange = around.exchange * std::log2(c.split_k);
  const double clocks = around.start + side_by_side(work_clocks, memory, around.overlap) + exchange;
  return clocks / gpu.clocks_per_us;
}

}  // namespace heddle

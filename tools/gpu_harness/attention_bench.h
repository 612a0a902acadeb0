// Times a decode_attention kernel beside what the memory allows.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_ATTENTION_BENCH_H_
#define HEDDLE_TOOLS_GPU_HARNESS_ATTENTION_BENCH_H_

#include <cstdint>
#include <vector>

#include "heddle/runtime.h"
#include "tools/gpu_harness/graph_timer.h"

namespace heddle {

struct AttentionLoad {
  int sequences = 0;
  int length = 0;
  int shortest = 0;  // not 0: lengths are drawn from `shortest` to `length`, each as likely
};
// From one short sequence to many long ones.
std::vector<AttentionLoad> usual_attention_loads();

struct AttentionTiming {
  AttentionLoad load;
  double bytes = 0;  // of K, V and their scales, once
  double us = 0;     // per launch, median
  double floor_us = 0;
  double sm_mhz = 0;  // the SMs' clock meanwhile

  double gb_per_s() const noexcept { return bytes / us * 1e-3; }
  double ratio() const noexcept { return us / floor_us; }
};

struct AttentionBenchReport {
  double read_tb_per_s = 0;  // streaming read, measured in this run
  std::vector<AttentionTiming> rows;
};

// In CUDA graphs, over pages in a random order, rotating through more of them than the caches hold.
// Makes the kernel in the current context, else in device 0's primary one. Throws Error.
AttentionBenchReport bench_attention(Runtime& runtime, const Spec& spec,
                                     const std::vector<AttentionLoad>& loads,
                                     const TimingBudget& budget = {});

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_ATTENTION_BENCH_H_

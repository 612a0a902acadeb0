// Times a dequantize kernel beside a plain streaming kernel that moves the same bytes.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_DEQUANTIZE_BENCH_H_
#define HEDDLE_TOOLS_GPU_HARNESS_DEQUANTIZE_BENCH_H_

#include <cstdint>

#include "heddle/runtime.h"
#include "tools/gpu_harness/graph_timer.h"
#include "tools/gpu_harness/stream_bench.h"

namespace heddle {

struct DequantizeTiming {
  std::uint64_t read_bytes = 0;     // the tensors, once
  std::uint64_t written_bytes = 0;  // W
  double us = 0;                    // per launch, median
  StreamTiming stream;              // the same bytes, buffers and protocol, in the same run

  double gb_per_s() const noexcept {
    return static_cast<double>(read_bytes + written_bytes) / us * 1e-3;
  }
  double stream_gb_per_s() const noexcept { return gb_per_s() * us / stream.us; }
  // Part of the streaming kernel's rate.
  double ratio() const noexcept { return stream.us / us; }
};

// Makes the kernel in the current context, else in device 0's primary one. Throws Error.
DequantizeTiming bench_dequantize(Runtime& runtime, const Spec& spec,
                                  const TimingBudget& budget = {});

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_DEQUANTIZE_BENCH_H_

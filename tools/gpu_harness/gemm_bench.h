// Times GEMM kernels in CUDA graphs over rotating weights.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_GEMM_BENCH_H_
#define HEDDLE_TOOLS_GPU_HARNESS_GEMM_BENCH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heddle/runtime.h"
#include "heddle/spec.h"

namespace heddle {

struct GemmTiming {
  std::int64_t m = 0;
  std::size_t variant = 0;          // of the plan
  double us = 0;                    // per launch, median
  double gb_per_s = 0;              // weights, scales, activations and output over the time
  double floor_us = 0;              // what the memory and the tensor cores allow at best
  std::optional<double> cublas_us;  // 16-bit weights, same protocol, same run
};

struct GemmBenchReport {
  double read_tb_per_s = 0;    // streaming read, measured in this run
  double launch_us = 0;        // host time of Kernel::launch, median, for the first M
  double bare_launch_us = 0;   // host time of cuLaunchKernelEx alone, same kernel, grid, arguments
  std::string cublas_missing;  // why there is no baseline although one was asked for
  std::vector<GemmTiming> rows;
};

struct GemmBenchOptions {
  bool cublas = false;
  int replays = 21;
  double launch_floor_us = 1.5;  // of a plain launch in a graph
  double tensor_tflops = 790;    // best 16-bit rate seen on an H200; 0: no such bound
};

// One row for each M, in order. Makes the kernel in the current context, else in device 0's primary
// one. Throws Error; Error(kUsage) for an M outside of the spec's range.
GemmBenchReport bench_gemm(Runtime& runtime, const Spec& spec,
                           const std::vector<std::int64_t>& m_list,
                           const GemmBenchOptions& options = {});

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_GEMM_BENCH_H_

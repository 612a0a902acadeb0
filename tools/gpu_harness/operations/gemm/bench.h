// Times GEMM kernels in CUDA graphs over rotating weights.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_BENCH_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_BENCH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/runtime.h"
#include "heddle/spec.h"
#include "tools/gpu_harness/harness.h"

namespace heddle {

struct GemmTiming {
  std::size_t spec = 0;  // its place in the list
  std::int64_t m = 0;
  PlannedKernel kernel;             // that ran
  double us = 0;                    // per launch, median
  double bytes = 0;                 // weights, scales, activations and output, each once
  double floor_us = 0;              // what the memory and the tensor cores allow at best
  double sm_mhz = 0;                // the SMs' clock meanwhile, the baseline's launches included
  std::optional<double> cublas_us;  // 16-bit weights, same protocol, same run

  double gb_per_s() const noexcept { return bytes / us * 1e-3; }
};

// All specs of the list one after another, as the layers of a model follow each other.
struct ChainTiming {
  std::int64_t m = 0;
  double us = 0;  // of all of them
  double bytes = 0;
};

struct GemmBenchReport {
  Target device;
  double read_tb_per_s = 0;    // streaming read, measured in this run
  double launch_us = 0;        // host time of GemmKernel::launch, median, for the first spec and M
  double bare_launch_us = 0;   // host time of cuLaunchKernelEx alone, same kernel, grid, arguments
  std::string cublas_missing;  // why there is no baseline although one was asked for
  std::vector<GemmTiming> rows;
  std::vector<ChainTiming> chain;
};

// The list of M is an argument of its own.
using GemmBenchOptions = BenchOptions;

// Rows of one spec after another, each with every M in order; kernels of all specs are compiled
// first, in parallel. In the current context, else in device 0's primary one. Throws Error;
// Error(kUsage) for an M outside of a spec's range. Precondition: the specs are GEMMs, one at
// least.
GemmBenchReport bench_gemm(Runtime& runtime, const std::vector<Spec>& specs,
                           const std::vector<std::int64_t>& m_list,
                           const GemmBenchOptions& options = {});

// As above, of plans that were made for the runtime's device.
GemmBenchReport bench_gemm_plans(Runtime& runtime, const std::vector<Plan>& plans,
                                 const std::vector<std::int64_t>& m_list,
                                 const GemmBenchOptions& options = {});

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_GEMM_BENCH_H_

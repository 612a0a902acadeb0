#include "tools/gpu_harness/gemm_bench.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "heddle/error.h"
#include "runtime/context.h"
#include "tools/gpu_harness/cublas.h"
#include "tools/gpu_harness/gemm_problem.h"
#include "tools/gpu_harness/graph_timer.h"
#include "tools/gpu_harness/launch_overhead.h"

namespace heddle {
namespace {

constexpr std::size_t kRotationBytes = std::size_t{260} << 20;  // several times any L2 cache
constexpr std::size_t kReadBytes = std::size_t{2} << 30;
constexpr int kReadReplays = 9;

// Copies of a buffer that together are larger than the caches.
std::vector<DeviceBuffer> copies_of(const DeviceBuffer& original, const OwnedStream& stream) {
  std::vector<DeviceBuffer> copies;
  for (std::size_t bytes = 0; bytes <= kRotationBytes; bytes += original.bytes()) {
    copies.emplace_back(original.bytes());
    copies.back().copy_from(original, stream);
  }
  stream.synchronize();
  return copies;
}

// Whole rounds over the buffers, some thirty launches at least, so that the graph's own start
// weighs little.
int launches_for(std::size_t buffers) {
  constexpr std::size_t kLeast = 32;
  return static_cast<int>(buffers * std::max<std::size_t>(1, (kLeast + buffers - 1) / buffers));
}

double read_ceiling(const GemmProblem& problem) {
  DeviceBuffer data(kReadBytes);
  DeviceBuffer out(16);
  data.fill(1, problem.stream());
  const double us = time_in_graph(problem.stream(), 4, kReadReplays, [&](int) {
    problem.helpers().stream_read(data.get(), kReadBytes, out.get(), problem.stream());
  });
  return static_cast<double>(kReadBytes) / us * 1e-6;
}

double floor_us(const GemmProblem& problem, std::int64_t m, double read_tb_per_s,
                const GemmBenchOptions& options) {
  const GemmShape& shape = problem.spec().shape;
  const double memory = options.launch_floor_us + problem.traffic_bytes(m) / read_tb_per_s * 1e-6;
  if (options.tensor_tflops <= 0) return memory;
  const double flops =
      2.0 * static_cast<double>(m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
  return std::max(memory, flops / options.tensor_tflops * 1e-6);
}

double time_heddle(const Kernel& kernel, const GemmProblem& problem,
                   const std::vector<DeviceBuffer>& weights, std::int64_t m, int replays) {
  return time_in_graph(problem.stream(), launches_for(weights.size()), replays, [&](int i) {
    GemmArgs args = problem.args(m);
    args.weights = weights[static_cast<std::size_t>(i) % weights.size()].get();
    kernel.launch(args, problem.stream().get());
  });
}

double time_cublas(const Cublas& cublas, const GemmProblem& problem,
                   const std::vector<DeviceBuffer>& weights, std::int64_t m, int replays) {
  const GemmArgs args = problem.args(m);
  const GemmShape& shape = problem.spec().shape;
  const auto launch = [&](int i) {
    cublas.gemm(args.x, weights[static_cast<std::size_t>(i) % weights.size()].get(), args.y,
                static_cast<int>(m), static_cast<int>(shape.n), static_cast<int>(shape.k),
                problem.bf16());
  };
  launch(0);  // outside of the capture, so that cuBLAS may load its kernel
  problem.stream().synchronize();
  return time_in_graph(problem.stream(), launches_for(weights.size()), replays, launch);
}

void check_m_list(const GemmShape& shape, const std::vector<std::int64_t>& m_list) {
  for (const std::int64_t m : m_list) {
    if (m >= shape.m_min && m <= shape.m_max) continue;
    throw Error(
        ErrorCategory::kUsage, "harness.m",
        fmt::format("M = {} is outside the spec's range [{}, {}]", m, shape.m_min, shape.m_max));
  }
  if (m_list.empty()) throw Error(ErrorCategory::kUsage, "harness.m", "no M is given");
}

void add_cublas(const GemmProblem& problem, int replays, GemmBenchReport* report) {
  const std::unique_ptr<Cublas> cublas = Cublas::open(problem.stream(), &report->cublas_missing);
  if (!cublas) return;
  const std::vector<DeviceBuffer> weights = copies_of(problem.rounded_weights(), problem.stream());
  for (GemmTiming& row : report->rows) {
    row.cublas_us = time_cublas(*cublas, problem, weights, row.m, replays);
  }
}

}  // namespace

GemmBenchReport bench_gemm(Runtime& runtime, const Spec& spec,
                           const std::vector<std::int64_t>& m_list,
                           const GemmBenchOptions& options) {
  check_m_list(spec.gemm().shape, m_list);
  const cuda::CurrentContext context;
  const Kernel kernel = runtime.kernel(spec);
  const GemmProblem problem(kernel, *std::max_element(m_list.begin(), m_list.end()));
  GemmBenchReport report;
  report.read_tb_per_s = read_ceiling(problem);
  const LaunchOverhead overhead = measure_launch_overhead(runtime, kernel, problem, m_list.front());
  report.launch_us = overhead.launch_us;
  report.bare_launch_us = overhead.bare_launch_us;
  {
    const std::vector<DeviceBuffer> weights = copies_of(problem.packed(), problem.stream());
    for (const std::int64_t m : m_list) {
      GemmTiming row;
      row.m = m;
      row.variant = kernel.plan().variant_for(m);
      row.us = time_heddle(kernel, problem, weights, m, options.replays);
      row.gb_per_s = problem.traffic_bytes(m) / row.us * 1e-3;
      row.floor_us = floor_us(problem, m, report.read_tb_per_s, options);
      report.rows.push_back(row);
    }
  }
  if (options.cublas) add_cublas(problem, options.replays, &report);
  return report;
}

}  // namespace heddle

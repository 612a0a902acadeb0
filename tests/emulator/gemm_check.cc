#include "tests/emulator/gemm_check.h"

#include <gtest/gtest.h>

#include <vector>

#include "runtime/launch/gemm_launch.h"
#include "tests/emulator/device.h"
#include "tests/emulator/interleavings.h"
#include "tests/emulator/machine.h"
#include "tests/planned_kernel.h"

namespace heddle {

std::vector<std::uint8_t> run_gemm(const Plan& plan, const GemmProblem& problem,
                                   const GemmThread& thread, std::int64_t m, unsigned seed) {
  const PlannedKernel& kernel = plan.kernels[0];
  const KernelLaunch planned = plan.launch(0, {m});
  emulator::GlobalMemory memory;
  const GemmProblem::Buffers b = problem.allocate(memory, m);
  const std::vector<std::uint8_t> zeros(plan.workspace_bytes(m));
  std::uint8_t* workspace =
      zeros.empty() ? nullptr
                    : memory.allocate(zeros.data(), zeros.size(), emulator::Access::kWrite);
  emulator::Launch launch{static_cast<int>(planned.grid_x * planned.grid_y * planned.grid_z),
                          static_cast<int>(planned.cluster), kernel.threads, kernel.shared_bytes,
                          seed};
  launch.grid_x = static_cast<int>(planned.grid_x);
  launch.grid_y = static_cast<int>(planned.grid_y);
  launch.copies_keep_lines = is_bulk(kernel);
  launch.together = planned.grid_z > 1 || is_wgmma(kernel);
  emulator::run(launch, memory, [&] { thread(b, workspace, static_cast<int>(m)); });
  EXPECT_TRUE(memory.guards_intact());
  return problem.written(b, m);
}

GemmThread thread_of(GemmOnCpu* kernel) {
  return [kernel](const GemmProblem::Buffers& b, std::uint8_t* workspace, int m) {
    kernel(b.x, b.weights, b.y, b.bias, b.residual, b.pre_scale, workspace, m);
  };
}

void check_gemm(const Plan& plan, const GemmProblem& problem, const GemmThread& thread,
                std::int64_t m, unsigned seeds) {
  const std::vector<std::uint8_t> y = run_gemm(plan, problem, thread, m, 0);
  const std::size_t y_bytes = problem.output_bytes(m);
  const std::uint8_t* scales = y.size() > y_bytes ? y.data() + y_bytes : nullptr;
  ASSERT_LE(problem.errors(y.data(), m, scales).root_mean_square, error_limit(plan.spec.gemm()))
      << "M " << m;
  // Sums are added in one order, whoever comes first.
  for (unsigned seed = 1; seed < seeds; ++seed) {
    ASSERT_EQ(run_gemm(plan, problem, thread, m, seed), y) << "M " << m << ", seed " << seed;
  }
}

void check_ends(const Plan& plan, const GemmThread& thread) {
  const GemmSpec& spec = plan.spec.gemm();
  const GemmProblem problem(spec);
  check_gemm(plan, problem, thread, spec.shape.m_min, interleavings());
  if (spec.shape.m_max == spec.shape.m_min) return;
  check_gemm(plan, problem, thread, spec.shape.m_max, interleavings());
}

}  // namespace heddle

#include "tests/emulator/wgmma_run.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "generator/families/gemm_config.h"
#include "generator/operations/kernel_argument.h"
#include "heddle/kernel.h"
#include "runtime/launch/group_scales.h"
#include "tests/emulator/interleavings.h"
#include "tests/emulator/machine.h"
#include "tests/planned_kernel.h"

namespace heddle {
namespace {

using emulator::Access;

// The largest of a hundred thousand errors is some ten times their root mean square. An error is in
// proportion to its output, and of products of two sums the largest is three times as far out.
double most_limit(const GemmSpec& spec) { return spec.epilogue.gated ? 30 : 10; }

std::int64_t ceil_of(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

WgmmaRun::WgmmaRun(const WgmmaCase& test_case, WgmmaThread thread)
    : case_(test_case),
      plan_(case_.plan()),
      problem_(plan_.spec.gemm()),
      thread_(std::move(thread)) {}

void WgmmaRun::launch(std::int64_t m, const WgmmaShares& shares,
                      std::vector<std::uint8_t>* y) const {
  const GemmSpec& spec = plan_.spec.gemm();
  emulator::GlobalMemory memory;
  const GemmProblem::Buffers buffers = problem_.allocate(memory, m);
  const PlannedKernel& kernel = plan_.kernels[0];
  const std::size_t partial_bytes =
      kernel.family->reserved_workspace_bytes(plan_, kernel, m) - kWorkspaceCounterBytes;
  std::uint8_t* workspace = nullptr;
  if (shares.needs_workspace()) {
    workspace = memory.allocate(kWorkspaceCounterBytes + partial_bytes, Access::kWrite);
    std::memset(workspace, 0, kWorkspaceCounterBytes);
  }
  const std::size_t y_bytes = problem_.output_bytes(m);
  std::vector<std::uint8_t> first;
  // All with one workspace.
  for (unsigned seed = 1; seed <= interleavings(); ++seed) {
    SCOPED_TRACE(fmt::format("M {}, seed {}", m, seed));
    // What a launch does not write itself is NaN.
    std::memset(buffers.y, 0xff, y_bytes);
    if (workspace != nullptr) std::memset(workspace + kWorkspaceCounterBytes, 0xff, partial_bytes);
    const int rows = static_cast<int>(m);
    // Codes of eight bits lie in the map in pairs.
    const auto columns = static_cast<int>(spec.shape.k) * bytes_of(spec.activation) / 2;
    const auto lines = static_cast<int>(group_scales(spec).lines());
    emulator::run({shares.workers, shares.cluster, kernel.threads, kernel.shared_bytes, seed, true},
                  memory, [&] {
                    thread_(buffers, {{buffers.x, rows, columns, kernel.tokens_of_box(m)},
                                      {buffers.x_scales, lines, rows, 1, kernel.box_tokens,
                                       buffers.x_scale_stride},
                                      workspace,
                                      weight_shape(spec, plan_.layout),
                                      rows,
                                      shares.shared_tiles});
                  });
    ASSERT_TRUE(memory.guards_intact());
    if (first.empty()) {
      first = problem_.written(buffers, m);
      const Errors errors = problem_.errors(buffers.y, m, buffers.y_scales);
      ASSERT_LE(errors.root_mean_square, error_limit(spec));
      ASSERT_LE(errors.most, most_limit(spec) * error_limit(spec));
    }
    ASSERT_TRUE(problem_.written(buffers, m) == first) << "other bits";
    if (y != nullptr) *y = first;
    if (workspace == nullptr) continue;
    ASSERT_TRUE(std::all_of(workspace, workspace + kWorkspaceCounterBytes, [](std::uint8_t byte) {
      return byte == 0;
    })) << "counters that are not zero";
  }
}

const WarpgroupKernel& WgmmaRun::config() const {
  return config_of<WarpgroupKernel>(plan_.kernels[0]);
}

int WgmmaRun::tiles(std::int64_t m) const {
  return static_cast<int>(ceil_of(m, config().tile_m) *
                          ceil_of(plan_.spec.gemm().shape.n, config().tile_n * config().cluster));
}

Sharing WgmmaRun::sharing_of(std::int64_t m, const WgmmaShares& shares) const {
  if (shares.shared_tiles == 0) return Sharing::kNone;
  if (shares.sums_in_cluster) return Sharing::kClusters;
  const bool all = shares.shared_tiles == tiles(m) && shares.workers % tiles(m) == 0;
  return all ? Sharing::kEqualParts : Sharing::kEqualShares;
}

void WgmmaRun::launch_all() const {
  for (const std::int64_t m : case_.tokens) {
    const WgmmaShares shares = case_.shares(plan_, m);
    if (m == case_.tokens.back()) {
      ASSERT_EQ(sharing_of(m, shares), case_.sharing);
    }
    ASSERT_NO_FATAL_FAILURE(launch(m, shares));
  }
}

void WgmmaRun::launch_other_shares() const {
  ASSERT_TRUE(config().shares_tiles());
  int launches = 0;
  const std::int64_t m = case_.tokens.front();
  const int stages =
      static_cast<int>(ceil_of(plan_.layout.chunks_per_row_block, config().stage_chunks));
  const int cluster = config().cluster;
  for (int clusters = 2; clusters <= config().workers / cluster; ++clusters) {
    const int left = tiles(m) % clusters;
    if (left == 0 || left * stages < clusters) continue;
    SCOPED_TRACE(fmt::format("{} clusters of {}", clusters, cluster));
    ASSERT_NO_FATAL_FAILURE(launch(m, {clusters * cluster, left, cluster}));
    ++launches;
  }
  EXPECT_GT(launches, 0);
}

WgmmaRun wgmma_bytes_run(const WgmmaCase& test_case, WgmmaBytesKernel* kernel) {
  return {test_case,
          [kernel](const GemmProblem::Buffers& buffers, const WgmmaArguments& arguments) {
            kernel(arguments.tokens, buffers.weights, buffers.x_scales, buffers.x_zero_points,
                   buffers.y, buffers.bias, buffers.residual, arguments.workspace, arguments.shape,
                   arguments.m, arguments.shared_tiles);
          }};
}

std::vector<std::size_t> cases_that_share(const std::vector<WgmmaCase>& cases) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (cases[i].sharing == Sharing::kNone) continue;
    const Plan plan = cases[i].plan();
    const auto& v = config_of<WarpgroupKernel>(plan.kernels[0]);
    if (!v.shares_in_pairs() || !v.has_one_token_tile()) numbers.push_back(i);
  }
  return numbers;
}

}  // namespace heddle

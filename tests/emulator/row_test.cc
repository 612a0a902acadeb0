// row_transform, run on the CPU, against FP64.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "runtime/row_transform_launch.h"
#include "tests/emulator/device.h"
#include "tests/emulator/machine.h"
#include "tests/emulator/row_cases.h"
#include "tests/emulator/row_kernels.h"
#include "tools/gpu_harness/row_problem.h"

namespace heddle {
namespace {

using emulator::Access;
using Halves = std::vector<std::uint16_t>;

constexpr std::uint16_t kNanElement = 0xFFFF;  // as emulated buffers begin

std::uint8_t* to_memory(const Halves& values, Access access, emulator::GlobalMemory& memory) {
  if (values.empty()) return nullptr;
  return memory.allocate(values.data(), 2 * values.size(), access);
}
Halves from_memory(const void* begin, std::size_t count) {
  Halves values(count);
  if (count > 0) std::memcpy(values.data(), begin, 2 * count);
  return values;
}

class EmulatedRows : public testing::TestWithParam<std::size_t> {
 protected:
  EmulatedRows() : plan_(row_cases()[GetParam()].plan()), spec_(plan_.spec.row_transform()) {}

  void launch(const RowTransformArgs& args, unsigned seed, const emulator::GlobalMemory& memory) {
    validate(plan_, args);
    const KernelLaunch planned = plan_.launch(0, {args.m});
    const RowTransformParameters parameters = row_transform_parameters(plan_, args);
    const PlannedKernel& kernel = plan_.kernels.front();
    emulator::Launch launch;
    launch.blocks = static_cast<int>(planned.grid_x * planned.grid_y);
    launch.grid_x = static_cast<int>(planned.grid_x);
    launch.grid_y = static_cast<int>(planned.grid_y);
    launch.threads = kernel.threads;
    launch.shared_bytes = kernel.shared_bytes;
    launch.seed = seed;
    emulator::run(launch, memory, [&] { row_kernels[GetParam()](parameters); });
    ASSERT_TRUE(memory.guards_intact());
  }

  // `in_place`: Y is X.
  void run(std::int64_t m, int spare, bool in_place) {
    SCOPED_TRACE(
        fmt::format("m = {}, {} spare elements{}", m, spare, in_place ? ", in place" : ""));
    RowProblem problem = make_row_problem(spec_, m, spare, static_cast<std::uint32_t>(GetParam()));
    if (in_place) problem.y_stride = problem.x_stride;
    const ExpectedRows expected = expected_rows(spec_, problem);
    emulator::GlobalMemory memory;
    RowTransformArgs args;
    args.m = m;
    std::uint8_t* const x = to_memory(problem.x, in_place ? Access::kWrite : Access::kRead, memory);
    const auto y_elements = static_cast<std::size_t>(m * problem.y_stride);
    std::uint8_t* const y =
        in_place ? x : to_memory(Halves(y_elements, kNanElement), Access::kWrite, memory);
    std::uint8_t* const residual = to_memory(problem.residual, Access::kWrite, memory);
    args.x = device_input(x, 2 * problem.x.size());
    args.y = device_output(y, 2 * y_elements);
    args.residual = device_output(residual, 2 * problem.residual.size());
    args.x_stride = problem.x_stride;
    args.y_stride = problem.y_stride;
    args.weight = device_input(to_memory(problem.weight, Access::kReadEarly, memory),
                               2 * problem.weight.size());
    args.bias =
        device_input(to_memory(problem.bias, Access::kReadEarly, memory), 2 * problem.bias.size());
    ASSERT_NO_FATAL_FAILURE(launch(args, static_cast<unsigned>(m + spare), memory));
    const Halves got = from_memory(y, y_elements);
    ASSERT_EQ(fault_of_rows(spec_, problem, expected, got,
                            from_memory(residual, problem.residual.size())),
              "");
    expect_spare_untouched(problem, got, in_place);
  }

  void expect_spare_untouched(const RowProblem& problem, const Halves& y, bool in_place) const {
    for (std::int64_t row = 0; row < problem.m; ++row) {
      for (std::int64_t i = spec_.shape.columns; i < problem.y_stride; ++i) {
        const auto at = static_cast<std::size_t>(row * problem.y_stride + i);
        ASSERT_EQ(y[at], in_place ? problem.x[at] : kNanElement) << "behind row " << row;
      }
    }
  }

  Plan plan_;
  const RowTransformSpec& spec_;
};

TEST_P(EmulatedRows, AreWhatFp64Says) {
  const std::int64_t columns = spec_.shape.columns;
  for (const std::int64_t m : {1, 2, 3, 17, 129}) {
    // Enough elements for every way through the kernel.
    if (m > 3 && m * columns > (1 << 18)) continue;
    ASSERT_NO_FATAL_FAILURE(run(m, m % 2 == 0 ? 24 : 0, false));
  }
}

// Y may be X, but where an element of it lies elsewhere than what it is made of.
TEST_P(EmulatedRows, MayReplaceX) {
  if (spec_.gate.order == GateOrder::kInterleaved) return;
  ASSERT_NO_FATAL_FAILURE(run(3, 8, true));
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedRows, testing::Range<std::size_t>(0, row_cases().size()),
                         [](const testing::TestParamInfo<std::size_t>& info) {
                           return fmt::format("{}_{}", info.param, row_cases()[info.param].name);
                         });

}  // namespace
}  // namespace heddle

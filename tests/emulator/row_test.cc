// row_transform, run on the CPU, against FP64, and codes of 8 bits against their definition.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "runtime/launch/row_transform_launch.h"
#include "tests/emulator/device.h"
#include "tests/emulator/machine.h"
#include "tests/emulator/row_cases.h"
#include "tests/emulator/row_kernels.h"
#include "tools/gpu_harness/operations/row_transform/codes.h"
#include "tools/gpu_harness/operations/row_transform/problem.h"

namespace heddle {
namespace {

using emulator::Access;

constexpr std::uint8_t kPoison = 0xFF;  // as emulated buffers begin

template <class Value>
DeviceOutput to_memory(const std::vector<Value>& values, Access access,
                       emulator::GlobalMemory& memory) {
  if (values.empty()) return {};
  const std::size_t bytes = sizeof(Value) * values.size();
  return device_output(memory.allocate(values.data(), bytes, access), bytes);
}
DeviceOutput poisoned(std::size_t bytes, emulator::GlobalMemory& memory) {
  if (bytes == 0) return {};
  return device_output(memory.allocate(bytes, Access::kWrite), bytes);
}
template <class Value>
std::vector<Value> from_memory(const DeviceOutput& memory) {
  std::vector<Value> values(memory.bytes / sizeof(Value));
  if (!values.empty()) std::memcpy(values.data(), memory.data, memory.bytes);
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
    RowProblem problem = make_row_problem(spec_, m, spare, static_cast<std::uint32_t>(GetParam()));
    if (in_place) problem.y_stride = problem.x_stride;
    SCOPED_TRACE(
        fmt::format("m = {}, {} spare elements{}", m, spare, in_place ? ", in place" : ""));
    run(problem, static_cast<unsigned>(m + spare), in_place);
  }

  void run(const RowProblem& problem, unsigned seed, bool in_place) {
    const ExpectedRows expected = expected_rows(spec_, problem);
    emulator::GlobalMemory memory;
    RowTransformArgs args;
    args.m = problem.m;
    const DeviceOutput x = to_memory(problem.x, in_place ? Access::kWrite : Access::kRead, memory);
    const auto y_elements = static_cast<std::size_t>(problem.m * problem.y_stride);
    args.x = x;
    args.y =
        in_place
            ? x
            : poisoned(y_elements * static_cast<std::size_t>(bytes_of(spec_.output.dtype)), memory);
    args.residual = to_memory(problem.residual, Access::kWrite, memory);
    args.x_stride = problem.x_stride;
    args.y_stride = problem.y_stride;
    args.weight = to_memory(problem.weight, Access::kReadEarly, memory);
    args.bias = to_memory(problem.bias, Access::kReadEarly, memory);
    args.pre_scale = to_memory(problem.pre_scale, Access::kReadEarly, memory);
    if (spec_.output.granularity == RowGranularity::kTensor) {
      args.tensor_scale =
          to_memory(std::vector<float>{problem.tensor_scale}, Access::kRead, memory);
    }
    args.scale_stride = problem.scale_stride;
    args.scales = poisoned(row_scale_bytes(spec_, problem.m, problem.scale_stride), memory);
    if (!spec_.output.symmetric) {
      args.zero_points =
          poisoned(static_cast<std::size_t>(problem.m) * sizeof(std::int32_t), memory);
    }
    ASSERT_NO_FATAL_FAILURE(launch(args, seed, memory));
    const WrittenRows written = {
        from_memory<std::uint8_t>(args.y), from_memory<std::uint16_t>(args.residual),
        from_memory<std::uint8_t>(args.scales), from_memory<std::int32_t>(args.zero_points)};
    ASSERT_EQ(fault_of_rows(spec_, problem, expected, written), "");
    expect_spare_untouched(problem, written, in_place);
  }

  void expect_spare_untouched(const RowProblem& problem, const WrittenRows& written,
                              bool in_place) const {
    const int element = bytes_of(spec_.output.dtype);
    const auto* const x = reinterpret_cast<const std::uint8_t*>(problem.x.data());
    for (std::int64_t row = 0; row < problem.m; ++row) {
      for (std::int64_t i = element * spec_.shape.columns; i < element * problem.y_stride; ++i) {
        const auto at = static_cast<std::size_t>(row * element * problem.y_stride + i);
        ASSERT_EQ(written.y[at], in_place ? x[at] : kPoison) << "behind row " << row;
      }
    }
    const std::vector<bool> are_written = written_scale_bytes(spec_, problem);
    ASSERT_EQ(are_written.size(), written.scales.size());
    for (std::size_t i = 0; i < are_written.size(); ++i) {
      if (are_written[i]) continue;
      ASSERT_EQ(written.scales[i], kPoison) << "byte " << i << " of scales";
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
  if (spec_.gate.order == GateOrder::kInterleaved || spec_.output.is_quantized()) return;
  ASSERT_NO_FATAL_FAILURE(run(3, 8, true));
}

// Every kind of row, one at a time: infinities, NaN, zeros, the largest and smallest numbers, and
// values between two codes.
TEST_P(EmulatedRows, OfEveryKindBecomeTheirCodes) {
  if (!spec_.output.is_quantized() || spec_.shape.columns > 9000) return;
  ASSERT_NO_FATAL_FAILURE(run(spec_.shape.columns > 2100 ? 16 : 33, 8, false));
}

// A given scale that values cannot be divided by makes all codes zero.
TEST_P(EmulatedRows, TakeNoScaleThatIsNone) {
  if (spec_.output.granularity != RowGranularity::kTensor) return;
  RowProblem problem = make_row_problem(spec_, 8, 0, static_cast<std::uint32_t>(GetParam()));
  for (const float scale :
       {0.0F, -1.0F, 0x1p-127F, 0x1p126F, std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()}) {
    SCOPED_TRACE(scale);
    problem.tensor_scale = scale;
    ASSERT_NO_FATAL_FAILURE(run(problem, 1, false));
  }
  for (const float scale : {0x1p-126F, 0x1.fffffep125F}) {
    SCOPED_TRACE(scale);
    problem.tensor_scale = scale;
    ASSERT_NO_FATAL_FAILURE(run(problem, 1, false));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedRows, testing::Range<std::size_t>(0, row_cases().size()),
                         [](const testing::TestParamInfo<std::size_t>& info) {
                           return fmt::format("{}_{}", info.param, row_cases()[info.param].name);
                         });

}  // namespace
}  // namespace heddle

// Launches of a layer of experts, on the fake driver.
#include <gtest/gtest.h>

#include "heddle/inspect/plan.h"
#include "heddle/operations.h"
#include "tests/runtime/allocation_counter.h"
#include "tests/runtime/fake_device.h"

namespace heddle {
namespace {

using testing::code_of;
using testing::EngineContext;
using testing::EngineStream;

class MoeKernelTest : public testing::FakeDevice {
 protected:
  static Spec layer(std::int64_t tokens_max) {
    MoeSpec spec;
    spec.shape = {
        .hidden = 256, .intermediate = 128, .experts = 8, .top_k = 2, .tokens_max = tokens_max};
    spec.epilogue = {.activation = Activation::kSilu, .gated = true};
    return Spec::from_moe(spec);
  }
  static MoeArgs args(std::int64_t tokens) {
    MoeArgs args;
    args.x = testing::memory(0x10000000);
    args.gate_up = testing::memory(0x20000000);
    args.down = testing::memory(0x30000000);
    args.ids = testing::memory(0x40000000);
    args.weights = testing::memory(0x50000000);
    args.y = testing::memory(0x60000000);
    args.workspace = testing::memory(0x70000000);
    args.tokens = tokens;
    return args;
  }
};

// One kernel, its phases one after the other, each of which is told which it is.
TEST_F(MoeKernelTest, LaunchesItsPhasesInOrder) {
  Runtime runtime(options_);
  const EngineContext context;
  const auto kernel = runtime.kernel<MoeKernel>(layer(1));
  const EngineStream stream;
  std::vector<int> phases;
  fake::state().work_of = [&](const fake::Launch&, void** parameters) {
    // The parameters, then the schedule.
    phases.push_back(*static_cast<const int*>(parameters[1]));
    return [] {};
  };
  kernel.launch(args(1), stream.get());
  fake::state().work_of = {};
  const Plan& plan = kernel.plan();
  const PlannedKernel& planned = plan.kernels[0];
  const auto launches = fake::launches();
  ASSERT_EQ(launches.size(), static_cast<std::size_t>(planned.phases));
  ASSERT_EQ(phases.size(), launches.size());
  for (std::size_t i = 0; i < launches.size(); ++i) {
    LaunchSize size{1};
    size.phase = static_cast<int>(i);
    const KernelLaunch wanted = plan.launch(0, size);
    EXPECT_EQ(phases[i], wanted.schedule);
    EXPECT_EQ(launches[i].kernel, planned.name);
    EXPECT_EQ(launches[i].config.hStream, stream.get());
    EXPECT_EQ(launches[i].config.gridDimX, wanted.grid_x);
    EXPECT_EQ(launches[i].config.blockDimX, static_cast<unsigned>(planned.threads));
    EXPECT_EQ(launches[i].config.sharedMemBytes, static_cast<unsigned>(wanted.shared_bytes));
    EXPECT_EQ(launches[i].config.numAttrs, planned.starts_early ? 1U : 0U);
  }
}

TEST_F(MoeKernelTest, NothingIsLaunchedOfNoTokens) {
  Runtime runtime(options_);
  const EngineContext context;
  const auto kernel = runtime.kernel<MoeKernel>(layer(1));
  kernel.launch(args(0), nullptr);
  kernel.launch({}, nullptr);
  EXPECT_EQ(fake::launches().size(), 0U);
  EXPECT_EQ(kernel.workspace_bytes(0), 0U);
}

TEST_F(MoeKernelTest, NothingIsLaunchedOfWhatIsRefused) {
  Runtime runtime(options_);
  const EngineContext context;
  const auto kernel = runtime.kernel<MoeKernel>(layer(1));
  EXPECT_EQ(code_of([&] { kernel.launch(args(2), nullptr); }), "launch.m");
  EXPECT_EQ(code_of([&] { kernel.workspace_bytes(2); }), "launch.m");
  MoeArgs no_ids = args(1);
  no_ids.ids = {};
  EXPECT_EQ(code_of([&] { kernel.launch(no_ids, nullptr); }), "launch.missing");
  MoeArgs little = args(1);
  little.workspace.bytes = kernel.workspace_bytes(1) - 1;
  EXPECT_EQ(code_of([&] { kernel.launch(little, nullptr); }), "launch.workspace");
  EXPECT_EQ(fake::launches().size(), 0U);
  ++little.workspace.bytes;
  EXPECT_NO_THROW(kernel.launch(little, nullptr));
}

TEST_F(MoeKernelTest, ALaunchAllocatesNothing) {
  Runtime runtime(options_);
  const EngineContext context;
  const auto kernel = runtime.kernel<MoeKernel>(layer(1));
  const int phases = kernel.plan().kernels[0].phases;
  kernel.launch(args(1), nullptr);
  const int before = fake::state().quiet_launches;
  fake::state().quiet = true;
  const long allocations = testing::allocations();
  for (int i = 0; i < 100; ++i) kernel.launch(args(1), nullptr);
  EXPECT_EQ(testing::allocations(), allocations);
  fake::state().quiet = false;
  EXPECT_EQ(fake::state().quiet_launches - before, 100 * phases);
}

}  // namespace
}  // namespace heddle

#include "tests/emulator/moe_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "config/workspace.h"
#include "experts/config.h"
#include "generator/families/experts/experts_family.h"
#include "tests/emulator/machine.h"

namespace heddle {

using emulator::Access;

MoeThread thread_of(MoeOnCpu* kernel) {
  return [kernel](std::int64_t, const MoeParameters& parameters, int schedule) {
    kernel(parameters, schedule);
  };
}

MoeThread thread_of(const Plan& plan, MoeByWgmmaOnCpu* kernel) {
  return [&plan, kernel](std::int64_t tokens, const MoeParameters& parameters, int schedule) {
    const PlannedKernel& planned = plan.kernels.front();
    const MoeRows rows = moe_rows(planned, tokens, schedule);
    const emulator::TensorMap map{parameters.workspace + rows.offset, static_cast<int>(rows.rows),
                                  static_cast<int>(rows.columns), planned.box_tokens};
    kernel(map, parameters, schedule);
  };
}

MoeRun::MoeRun(const Plan& plan, const EmulatedMoe& problem, MoeThread thread)
    : plan_(plan), spec_(plan.spec.moe()), problem_(problem), thread_(std::move(thread)) {}

std::vector<std::uint16_t> MoeRun::run(const EmulatedChoices& choices, unsigned seed,
                                       std::int64_t first, YIs y_is) const {
  const auto tokens = static_cast<std::int64_t>(choices.ids.size()) / spec_.shape.top_k;
  const auto skipped = static_cast<std::size_t>(first * spec_.shape.hidden);
  const auto elements = static_cast<std::size_t>(tokens * spec_.shape.hidden);
  emulator::GlobalMemory memory;
  const auto copy = [&](const auto& values, std::size_t begin, std::size_t count,
                        Access access) -> DeviceOutput {
    if (values.empty()) return {};
    const std::size_t bytes = count * sizeof values[0];
    return device_output(memory.allocate(values.data() + begin, bytes, access), bytes);
  };
  const auto all = [&](const auto& values, Access access) {
    return copy(values, 0, values.size(), access);
  };
  MoeArgs args;
  args.tokens = tokens;
  const DeviceOutput x =
      copy(problem_.x, skipped, elements, y_is == YIs::kX ? Access::kWrite : Access::kRead);
  const DeviceOutput residual = copy(problem_.residual, skipped, elements,
                                     y_is == YIs::kResidual ? Access::kWrite : Access::kRead);
  args.x = x;
  args.residual = residual;
  args.gate_up = all(problem_.gate_up, Access::kReadEarly);
  args.down = all(problem_.down, Access::kReadEarly);
  args.gate_up_bias = all(problem_.gate_up_bias, Access::kRead);
  args.down_bias = all(problem_.down_bias, Access::kRead);
  const bool tells = seed != 1 && spec_.router.chooses();
  if (spec_.router.chooses()) {
    args.logits = all(choices.logits, Access::kRead);
    args.correction_bias = all(problem_.router.correction_bias, Access::kRead);
    args.expert_scales = all(problem_.router.expert_scales, Access::kRead);
  } else {
    args.ids = all(choices.ids, Access::kRead);
    args.weights = all(choices.weights, Access::kRead);
  }
  args.permutation = all(problem_.permutation, Access::kRead);
  args.shared_gates = all(choices.shared_gates, Access::kRead);
  if (tells) {
    for (DeviceOutput* chosen : {&args.chosen_ids, &args.chosen_weights}) {
      const std::size_t bytes = 4 * choices.ids.size();
      *chosen = device_output(memory.allocate(bytes, Access::kWrite), bytes);
    }
  }
  args.y = y_is == YIs::kX ? x
           : y_is == YIs::kResidual
               ? residual
               : device_output(memory.allocate(2 * elements, Access::kWrite), 2 * elements);
  // Other kernels' counters, and what may be anything.
  const std::size_t workspace_bytes = plan_.workspace_bytes(tokens);
  args.workspace = device_output(memory.allocate(workspace_bytes, Access::kWrite), workspace_bytes);
  validate(plan_, workspace_bytes, args);
  launch(args, seed, memory);
  const auto* const counters = static_cast<const std::uint8_t*>(args.workspace.data);
  EXPECT_TRUE(std::all_of(counters, counters + device::Workspace::kCounterBytes,
                          [](std::uint8_t byte) { return byte == 0xFF; }))
      << "somebody else's counters";
  if (tells) {
    EXPECT_TRUE(std::equal(choices.ids.begin(), choices.ids.end(),
                           static_cast<const std::int32_t*>(args.chosen_ids.data)));
  }
  std::vector<std::uint16_t> y(elements);
  std::memcpy(y.data(), args.y.data, 2 * elements);
  return y;
}

// Behind the first product nothing writes the choices, nor what kRoute has made of them.
void MoeRun::settle(const MoeParameters& parameters, emulator::GlobalMemory& memory) const {
  const PlannedKernel& kernel = plan_.kernels.front();
  const auto& layer = dynamic_cast<const ExpertsFamily&>(*kernel.family).layer(kernel);
  const std::int64_t tokens = parameters.tokens;
  const auto choices = static_cast<std::size_t>(4 * tokens * layer.top_k);
  memory.settle(parameters.ids, choices);
  memory.settle(parameters.routing_weights, choices);
  if (spec_.shared_gate) {
    memory.settle(parameters.shared_gates, static_cast<std::size_t>(4 * tokens));
  }
  const std::string_view family = kernel.family->name();
  if (family == "few_experts" || family == "stream_experts") return;
  const auto begin = layer.tiles_offset(tokens);
  const auto end = layer.gathered_offset(tokens);
  memory.settle(parameters.workspace + begin, static_cast<std::size_t>(end - begin));
}

void MoeRun::launch(const MoeArgs& args, unsigned seed, emulator::GlobalMemory& memory) const {
  const MoeParameters parameters = moe_parameters(spec_, args);
  const PlannedKernel& kernel = plan_.kernels.front();
  for (int phase = 0; phase < kernel.phases; ++phase) {
    LaunchSize size{args.tokens};
    size.phase = phase;
    const KernelLaunch planned = plan_.launch(0, size);
    emulator::Launch launch;
    launch.cluster = static_cast<int>(planned.cluster);
    launch.blocks = static_cast<int>(planned.grid_x);
    launch.grid_x = static_cast<int>(planned.grid_x);
    launch.threads = kernel.threads;
    launch.shared_bytes = planned.shared_bytes < 0 ? kernel.shared_bytes : planned.shared_bytes;
    launch.seed = seed + static_cast<unsigned>(phase);
    if (static_cast<device::MoePhase>(planned.schedule) == device::MoePhase::kDown) {
      settle(parameters, memory);
    }
    emulator::run(launch, memory, [&] { thread_(args.tokens, parameters, planned.schedule); });
    ASSERT_TRUE(memory.guards_intact()) << "phase " << phase;
  }
}

}  // namespace heddle

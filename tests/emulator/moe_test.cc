// Layers of experts, run on the CPU, against FP64: their launches, one after the other.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "config/workspace.h"
#include "experts/config.h"
#include "generator/decode/float16.h"
#include "generator/families/experts/experts_family.h"
#include "tests/emulator/case_names.h"
#include "tests/emulator/interleavings.h"
#include "tests/emulator/machine.h"
#include "tests/emulator/moe_cases.h"
#include "tests/emulator/moe_kernels.h"
#include "tests/emulator/moe_problem.h"

namespace heddle {
namespace {

using emulator::Access;

// Choices of every kind, of as many tokens as the case has.
std::vector<EmulatedChoices> choices_of(const MoeCase& one) {
  if (!one.expert_tokens.empty()) return {uneven_choices(one.expert_tokens, 5)};
  std::vector<EmulatedChoices> all;
  unsigned seed = 0;
  for (const auto routing : {EmulatedRouting::kUniform, EmulatedRouting::kOne,
                             EmulatedRouting::kEveryOther, EmulatedRouting::kNoExperts}) {
    all.push_back(emulated_choices(one.spec, one.spec.shape.tokens_max, routing, ++seed));
  }
  if (!one.spec.router.chooses() && one.spec.shape.top_k > 1) {
    // Every other token names the expert of its first choice again.
    EmulatedChoices again = all.front();
    const auto top_k = static_cast<std::size_t>(one.spec.shape.top_k);
    for (std::size_t i = 0; i + 1 < again.ids.size(); i += 2 * top_k)
      again.ids[i + 1] = again.ids[i];
    all.push_back(std::move(again));
  }
  return all;
}

// Which other matrix Y is.
enum class YIs { kItself, kX, kResidual };

class EmulatedMoeLayer : public testing::TestWithParam<std::size_t> {
 protected:
  EmulatedMoeLayer()
      : plan_(all_moe_cases()[GetParam()].plan()), spec_(plan_.spec.moe()), problem_(spec_) {}

  // Y of the choices' tokens, the first one of which is `first` of the problem's. A layer that
  // chooses experts by logits keeps its choice to itself, but with seeds other than 1.
  std::vector<std::uint16_t> run(const EmulatedChoices& choices, unsigned seed,
                                 std::int64_t first = 0, YIs y_is = YIs::kItself) {
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
    args.workspace =
        device_output(memory.allocate(workspace_bytes, Access::kWrite), workspace_bytes);
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

  void expect_close(const std::vector<std::uint16_t>& y,
                    const std::vector<double>& expected) const {
    ASSERT_EQ(y.size(), expected.size());
    const Float16Format format = float16_format(spec_.activation);
    double wrong = 0;
    double size = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double difference = float16_to_double(format, y[i]) - expected[i];
      wrong += difference * difference;
      size += expected[i] * expected[i];
    }
    // Two roundings, and that of scaled weights in each product.
    const double limit = spec_.activation == DType::kBf16 ? 6e-3 : 8e-4;
    // Written so that a NaN fails.
    ASSERT_TRUE(std::sqrt(wrong) <= limit * std::sqrt(size))
        << std::sqrt(wrong) << " of " << std::sqrt(size);
  }

  Plan plan_;
  const MoeSpec& spec_;
  const EmulatedMoe problem_;

 private:
  // Behind the first product nothing writes the choices, nor what kRoute has made of them.
  void settle(const MoeParameters& parameters, emulator::GlobalMemory& memory) const {
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

  void launch(const MoeArgs& args, unsigned seed, emulator::GlobalMemory& memory) {
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
      emulator::run(launch, memory, [&] { run_thread(args, parameters, planned.schedule); });
      ASSERT_TRUE(memory.guards_intact()) << "phase " << phase;
    }
  }

  void run_thread(const MoeArgs& args, const MoeParameters& parameters, int schedule) const {
    const std::size_t by_mma = moe_kernels.size();
    const std::size_t few = by_mma + moe_wgmma_kernels.size();
    if (GetParam() < by_mma) return moe_kernels[GetParam()](parameters, schedule);
    const std::size_t stream = few + moe_few_kernels.size();
    if (GetParam() >= stream) return moe_stream_kernels[GetParam() - stream](parameters, schedule);
    if (GetParam() >= few) return moe_few_kernels[GetParam() - few](parameters, schedule);
    const PlannedKernel& kernel = plan_.kernels.front();
    const MoeRows rows = moe_rows(kernel, args.tokens, schedule);
    const emulator::TensorMap map{parameters.workspace + rows.offset, static_cast<int>(rows.rows),
                                  static_cast<int>(rows.columns), kernel.box_tokens};
    moe_wgmma_kernels[GetParam() - by_mma](map, parameters, schedule);
  }
};

TEST_P(EmulatedMoeLayer, IsWhatFp64Says) {
  for (const EmulatedChoices& choices : choices_of(all_moe_cases()[GetParam()])) {
    SCOPED_TRACE(fmt::format("first choice {}", choices.ids.front()));
    const std::vector<std::uint16_t> y = run(choices, 1);
    ASSERT_NO_FATAL_FAILURE(expect_close(y, problem_.expected(choices)));
    // In whatever order its threads run.
    for (unsigned seed = 1; seed < interleavings(); ++seed) {
      ASSERT_EQ(run(choices, 17 * seed), y) << "seed " << seed;
    }
  }
}

// Nothing is added by experts of other devices. A router chooses none but the model's.
TEST_P(EmulatedMoeLayer, WithoutItsExpertsIsTheResidual) {
  if (spec_.router.chooses() && spec_.local_experts() == spec_.shape.experts) return;
  if (spec_.shape.shared_experts > 0) return;  // which every token has
  const EmulatedChoices choices = emulated_choices(spec_, 1, EmulatedRouting::kElsewhere, 1);
  std::vector<std::uint16_t> expected(static_cast<std::size_t>(spec_.shape.hidden));
  if (!problem_.residual.empty()) {
    std::copy_n(problem_.residual.begin(), expected.size(), expected.begin());
  }
  EXPECT_EQ(run(choices, 1), expected);
}

// A token has the same bits whatever is launched with it.
TEST_P(EmulatedMoeLayer, IsTheSameForATokenAlone) {
  const std::int64_t tokens = std::min<std::int64_t>(spec_.shape.tokens_max, 9);
  const EmulatedChoices choices = emulated_choices(spec_, tokens, EmulatedRouting::kUniform, 3);
  const std::vector<std::uint16_t> y = run(choices, 1);
  for (const std::int64_t token : {std::int64_t{0}, tokens - 1}) {
    const EmulatedChoices own = choices.of_token(token, spec_);
    const auto begin = y.begin() + token * spec_.shape.hidden;
    EXPECT_EQ(run(own, 1, token), std::vector<std::uint16_t>(begin, begin + spec_.shape.hidden));
  }
}

TEST_P(EmulatedMoeLayer, MayReplaceXOrTheResidual) {
  const std::int64_t tokens = std::min<std::int64_t>(spec_.shape.tokens_max, 3);
  const EmulatedChoices choices = emulated_choices(spec_, tokens, EmulatedRouting::kUniform, 4);
  const std::vector<std::uint16_t> y = run(choices, 1);
  EXPECT_EQ(run(choices, 1, 0, YIs::kX), y);
  if (spec_.epilogue.residual) {
    EXPECT_EQ(run(choices, 1, 0, YIs::kResidual), y);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, EmulatedMoeLayer, numbers_of<all_moe_cases>(),
                         name_of<all_moe_cases>);

}  // namespace
}  // namespace heddle

// Layers of experts against FP64: choices of every kind.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "generator/decode/float16.h"
#include "heddle/inspect/plan.h"
#include "heddle/operations.h"
#include "runtime/driver/context.h"
#include "tools/gpu_harness/harness.h"
#include "tools/gpu_harness/operations/moe/bench.h"
#include "tools/gpu_harness/operations/moe/problem.h"

namespace heddle {

const StepPart& moe_step();  // step.cc
namespace {

class MoeLaunch : public CheckedLaunch {
 public:
  // tells_choice: the launch also writes ids and weights for its caller.
  MoeLaunch(const MoeKernel& kernel, const MoeProblem& problem, const MoeWeights& weights,
            const HelperKernels& helpers, bool tells_choice, const OwnedStream& stream)
      : kernel_(kernel),
        spec_(kernel.plan().spec.moe()),
        problem_(problem),
        weights_(weights),
        helpers_(helpers),
        tells_choice_(tells_choice),
        x_(to_device(problem.x, stream)),
        choices_(spec_, problem.choices, stream),
        gate_up_bias_(to_device(problem.gate_up_bias, stream)),
        down_bias_(to_device(problem.down_bias, stream)),
        residual_(to_device(problem.residual, stream)),
        permutation_(to_device(problem.permutation, stream)),
        y_(2 * problem.x.size()),
        workspace_(kernel.workspace_bytes(problem.tokens)),
        chosen_ids_(4 * problem.choices.ids.size()),
        chosen_weights_(4 * problem.choices.ids.size()) {}

  std::vector<Output> outputs() override {
    std::vector<Output> outputs = {{&y_, y_.bytes()}, {&workspace_, workspace_.bytes()}};
    if (tells_choice_) {
      outputs.push_back({&chosen_ids_, chosen_ids_.bytes()});
      outputs.push_back({&chosen_weights_, chosen_weights_.bytes()});
    }
    return outputs;
  }
  std::vector<unsigned char> poisons() const override { return {kNanByte, kGuardByte}; }
  void restore(const OwnedStream&) override {}
  void launch(const OwnedStream& stream) override {
    MoeArgs args;
    args.x = x_.memory();
    args.gate_up = weights_.gate_up();
    args.down = weights_.down();
    choices_.give(&args);
    if (tells_choice_) {
      args.chosen_ids = chosen_ids_.memory();
      args.chosen_weights = chosen_weights_.memory();
    }
    args.gate_up_bias = gate_up_bias_.memory();
    args.down_bias = down_bias_.memory();
    args.residual = residual_.memory();
    args.permutation = permutation_.memory();
    args.y = y_.memory();
    args.workspace = workspace_.memory();
    args.tokens = problem_.tokens;
    kernel_.launch(args, stream.get());
  }
  void compare(const Written& written, unsigned char, const OwnedStream& stream,
               Check* check) override {
    const std::vector<double> expected = expected_moe(spec_, problem_, weights_, helpers_, stream);
    const Float16Format format = float16_format(spec_.activation);
    double wrong = 0;
    double size = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, written[0].data() + 2 * i, sizeof bits);
      const double difference = float16_to_double(format, bits) - expected[i];
      wrong += difference * difference;
      size += expected[i] * expected[i];
    }
    const double error = size > 0 ? std::sqrt(wrong / size) : std::sqrt(wrong);
    if (!(error <= check->error)) check->error = error;
    if (tells_choice_) compare_choice(written[2], written[3], check);
  }

 private:
  // Ids exactly, weights but for what the instructions that approximate functions lack.
  void compare_choice(const std::vector<std::uint8_t>& ids,
                      const std::vector<std::uint8_t>& weights, Check* check) const {
    constexpr float kLimit = 1e-5F;
    const RouterChoices& expected = problem_.choices;
    for (std::size_t i = 0; i < expected.ids.size(); ++i) {
      std::int32_t id = 0;
      float weight = 0;
      std::memcpy(&id, ids.data() + 4 * i, sizeof id);
      std::memcpy(&weight, weights.data() + 4 * i, sizeof weight);
      const bool is_near =
          std::abs(weight - expected.weights[i]) <= kLimit * std::abs(expected.weights[i]);
      if ((id == expected.ids[i] && is_near) || !check->wrong.empty()) continue;
      check->wrong = fmt::format("choice {} is expert {} with weight {}, not {} with {}", i, id,
                                 weight, expected.ids[i], expected.weights[i]);
    }
  }

  const MoeKernel& kernel_;
  const MoeSpec& spec_;
  const MoeProblem& problem_;
  const MoeWeights& weights_;
  const HelperKernels& helpers_;
  const bool tells_choice_;
  DeviceBuffer x_;
  const DeviceChoices choices_;
  DeviceBuffer gate_up_bias_, down_bias_, residual_, permutation_;
  GuardedBuffer y_, workspace_, chosen_ids_, chosen_weights_;
};

class MoeHarness : public Harness {
 public:
  std::vector<Check> check(const Kernel& kernel, const CheckOptions& options) const override {
    const cuda::CurrentContext context;
    const OwnedStream stream;
    const HelperKernels helpers;
    const MoeKernel moe(kernel);
    const MoeSpec& spec = kernel.plan().spec.moe();
    const MoeWeights weights(spec, options.seed, stream);
    std::vector<Check> checks;
    for (const std::int64_t tokens : m_list_of(kernel.plan(), options)) {
      Check check;
      check.m = tokens;
      check.kernel = kernel.plan().kernel_for(tokens);
      // Rounding what lies between the products, and Y, gives 1.4 times the error of one rounding;
      // rounding the scaled weights as well up to 1.5 times that.
      check.limit = spec.activation == DType::kBf16 ? 6e-3 : 8e-4;
      for (const Routing routing : {Routing::kUniform, Routing::kSkewed, Routing::kOne}) {
        const MoeProblem problem = make_moe_problem(spec, tokens, routing, options.seed);
        const bool tells_choice = spec.router.chooses() && routing != Routing::kSkewed;
        MoeLaunch launch(moe, problem, weights, helpers, tells_choice, stream);
        check_launch(launch, stream, &check);
      }
      checks.push_back(std::move(check));
    }
    return checks;
  }
  Cells cells(const Check& check, const Plan& plan) const override {
    Cells cells = kernel_cells(check, plan);
    cells.push_back(number("error", "ERROR", check.error, fmt::format("{:.3e}", check.error)));
    cells.push_back(number("limit", "LIMIT", check.limit, fmt::format("{:.1e}", check.limit)));
    cells.push_back(fact("repeatable", check.repeatable));
    return cells;
  }
  BenchReport bench(Runtime& runtime, const std::vector<Spec>& specs,
                    const BenchOptions& options) const override {
    return bench_moe(runtime.kernel<MoeKernel>(specs.front()), options);
  }
  const StepPart* step() const override { return &moe_step(); }
  bool has_candidates() const override { return true; }
  PlanTimes time_plans(Runtime& runtime, const std::vector<Plan>& plans, const LaunchSize& size,
                       const BenchOptions& options) const override {
    return time_moe_plans(runtime, plans, size.size, options);
  }
};

}  // namespace

const Harness& moe_harness() {
  static const MoeHarness harness;
  return harness;
}

}  // namespace heddle

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
namespace {

class MoeLaunch : public CheckedLaunch {
 public:
  MoeLaunch(const MoeKernel& kernel, const MoeProblem& problem, const MoeWeights& weights,
            const HelperKernels& helpers, const OwnedStream& stream)
      : kernel_(kernel),
        spec_(kernel.plan().spec.moe()),
        problem_(problem),
        weights_(weights),
        helpers_(helpers),
        x_(to_device(problem.x, stream)),
        ids_(to_device(problem.choices.ids, stream)),
        routing_weights_(to_device(problem.choices.weights, stream)),
        gate_up_bias_(to_device(problem.gate_up_bias, stream)),
        down_bias_(to_device(problem.down_bias, stream)),
        residual_(to_device(problem.residual, stream)),
        y_(2 * problem.x.size()),
        workspace_(kernel.workspace_bytes(problem.tokens)) {}

  std::vector<Output> outputs() override {
    return {{&y_, y_.bytes()}, {&workspace_, workspace_.bytes()}};
  }
  std::vector<unsigned char> poisons() const override { return {kNanByte, kGuardByte}; }
  void restore(const OwnedStream&) override {}
  void launch(const OwnedStream& stream) override {
    MoeArgs args;
    args.x = x_.memory();
    args.gate_up = weights_.gate_up();
    args.down = weights_.down();
    args.ids = ids_.memory();
    args.weights = routing_weights_.memory();
    args.gate_up_bias = gate_up_bias_.memory();
    args.down_bias = down_bias_.memory();
    args.residual = residual_.memory();
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
  }

 private:
  const MoeKernel& kernel_;
  const MoeSpec& spec_;
  const MoeProblem& problem_;
  const MoeWeights& weights_;
  const HelperKernels& helpers_;
  DeviceBuffer x_, ids_, routing_weights_, gate_up_bias_, down_bias_, residual_;
  GuardedBuffer y_, workspace_;
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
        MoeLaunch launch(moe, problem, weights, helpers, stream);
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

// A layer of experts in a decode step: each launch has weights and choices of its own.
#include <cmath>
#include <memory>
#include <utility>

#include "heddle/operations.h"
#include "heddle/weights.h"
#include "tools/gpu_harness/numbers/as_size.h"
#include "tools/gpu_harness/operations/moe/expert_copies.h"
#include "tools/gpu_harness/operations/moe/problem.h"
#include "tools/gpu_harness/step/step_part.h"

namespace heddle {
namespace {

// Of this device's experts, those that so many tokens hit on average.
double experts_hit(const MoeSpec& spec, int tokens) {
  const double of_token =
      static_cast<double>(spec.shape.top_k) / static_cast<double>(spec.shape.experts);
  return static_cast<double>(spec.local_experts()) * (1 - std::pow(1 - of_token, tokens)) +
         static_cast<double>(spec.shape.shared_experts);
}

DeviceBuffer zeros(std::int64_t experts, std::int64_t rows, const OwnedStream& stream) {
  DeviceBuffer buffer(2 * as_size(experts * rows));
  buffer.fill(0, stream);
  return buffer;
}

struct MoeStepWeights : StepWeights {
  MoeStepWeights(const MoeSpec& spec, std::size_t launches, const HelperKernels& helpers,
                 const OwnedStream& stream)
      : experts(spec, helpers, stream, launches),
        permutation(to_device(random_orders(spec, kBenchSeed), stream)) {
    if (!spec.epilogue.bias) return;
    const MoeGemms gemms = moe_gemms(spec);
    gate_up_bias = zeros(spec.device_experts(), gemms.gate_up.shape.n, stream);
    down_bias = zeros(spec.device_experts(), gemms.down.shape.n, stream);
  }

  ExpertCopies experts;
  DeviceBuffer gate_up_bias, down_bias, permutation;
};

class MoeStep : public StepPart {
 public:
  StepNeeds needs(const Spec& spec, const StepLoad&) const override {
    const MoeSpec& moe = spec.moe();
    return {moe.shape.hidden, moe.shape.hidden, moe.activation};
  }
  double bytes(const Spec& spec, const StepLoad& load) const override {
    const MoeSpec& moe = spec.moe();
    const MoeGemms gemms = moe_gemms(moe);
    const std::int64_t biases = moe.epilogue.bias ? gemms.gate_up.shape.n + gemms.down.shape.n : 0;
    const double choice = moe.router.chooses()
                              ? matrix_bytes(load.sequences, moe.shape.experts, moe.router.logits)
                              : 2 * matrix_bytes(load.sequences, moe.shape.top_k, DType::kFp32);
    return experts_hit(moe, load.sequences) *
               (static_cast<double>(weight_layout(gemms.gate_up).total_bytes +
                                    weight_layout(gemms.down).total_bytes) +
                matrix_bytes(1, biases, moe.activation)) +
           choice + 2 * matrix_bytes(load.sequences, moe.shape.hidden, moe.activation);
  }
  std::unique_ptr<StepWeights> weights(const Spec& spec, std::size_t launches,
                                       const HelperKernels& helpers,
                                       const OwnedStream& stream) const override {
    return std::make_unique<MoeStepWeights>(spec.moe(), launches, helpers, stream);
  }
  // What the router ahead of it makes of activations that mean nothing is not looked at.
  std::function<void()> launch(const StepPlace& place, const StepShared& shared,
                               const StepWeights* weights) const override {
    const auto& own = static_cast<const MoeStepWeights&>(*weights);
    const MoeSpec& moe = place.kernel.plan().spec.moe();
    const RouterChoices drawn = random_choices(moe, shared.load.sequences, Routing::kUniform,
                                               static_cast<std::uint32_t>(kBenchSeed + place.turn));
    auto choices = std::make_shared<const DeviceChoices>(moe, drawn, shared.stream);
    shared.stream.synchronize();
    MoeArgs args;
    args.x = place.in.memory();
    args.y = place.out.memory();
    args.gate_up = own.experts.gate_up(place.turn);
    args.down = own.experts.down(place.turn);
    args.gate_up_bias = own.gate_up_bias.memory();
    args.down_bias = own.down_bias.memory();
    args.permutation = own.permutation.memory();
    choices->give(&args);
    args.workspace = shared.workspace.memory();
    args.tokens = shared.load.sequences;
    return [args, kernel = MoeKernel(place.kernel), choices = std::move(choices), &shared] {
      kernel.launch(args, shared.stream.get());
    };
  }
};

}  // namespace

const StepPart& moe_step() {
  static const MoeStep step;
  return step;
}

}  // namespace heddle

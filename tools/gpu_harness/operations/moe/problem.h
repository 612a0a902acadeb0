// Random data of a layer of experts on the device, and what must come of it.
#ifndef HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_MOE_PROBLEM_H_
#define HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_MOE_PROBLEM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "heddle/operations.h"
#include "tools/gpu_harness/device/device_memory.h"
#include "tools/gpu_harness/device/helper_kernels.h"
#include "tools/gpu_harness/operations/gemm/device_weights.h"
#include "tools/gpu_harness/operations/moe/choice.h"

namespace heddle {

// How a router's choices are drawn.
enum class Routing {
  kUniform,  // every expert alike
  kSkewed,   // of a random order of experts the i-th in proportion to 1 / (i + 1)
  kOne,      // all tokens choose the same experts
};

// Choices of tokens, [tokens][top_k]: experts of a token are different ones.
struct RouterChoices {
  std::vector<std::int32_t> ids;
  std::vector<float> weights;         // of a token they add up to 1, but where they come of logits
  std::vector<std::uint8_t> logits;   // [tokens][experts] of a spec that has them, else empty
  std::vector<float> shared_gates{};  // [tokens] of a spec that has them, else empty
};
RouterChoices random_choices(const MoeSpec& spec, std::int64_t tokens, Routing routing,
                             std::uint32_t seed);

// The same for all draws of a spec.
RouterVectors router_vectors(const MoeSpec& spec);

// Choices as a launch takes them: ids and weights, or logits; and gates of shared experts.
class DeviceChoices {
 public:
  DeviceChoices(const MoeSpec& spec, const RouterChoices& choices, const OwnedStream& stream);
  // Choices of as many tokens, to the same places.
  void upload(const RouterChoices& choices, const OwnedStream& stream);
  void give(MoeArgs* args) const;

 private:
  bool has_logits_;
  DeviceBuffer ids_, weights_, logits_, correction_bias_, expert_scales_, shared_gates_;
};

// Rows of each expert of this device.
std::vector<std::int64_t> rows_of_experts(const MoeSpec& spec, const RouterChoices& choices);

// The weights of all experts of this device. Few are drawn, and experts share them in turn, which
// spares the host the work. Needs a current context.
class MoeWeights {
 public:
  MoeWeights(const MoeSpec& spec, std::uint32_t seed, const OwnedStream& stream);

  DeviceInput gate_up() const noexcept { return gate_up_.memory(); }
  DeviceInput down() const noexcept { return down_.memory(); }
  const DeviceWeights& gate_up_of(std::int64_t expert) const { return of(gate_up_drawn_, expert); }
  const DeviceWeights& down_of(std::int64_t expert) const { return of(down_drawn_, expert); }

 private:
  using Drawn = std::vector<std::unique_ptr<DeviceWeights>>;
  static const DeviceWeights& of(const Drawn& drawn, std::int64_t expert) {
    return *drawn[static_cast<std::size_t>(expert) % drawn.size()];
  }

  Drawn gate_up_drawn_;
  Drawn down_drawn_;
  DeviceBuffer gate_up_;
  DeviceBuffer down_;
};

// X, biases and residual, as 16-bit numbers.
struct MoeProblem {
  std::int64_t tokens = 0;
  RouterChoices choices;
  std::vector<std::uint16_t> x;             // [tokens][hidden]
  std::vector<std::uint16_t> gate_up_bias;  // [experts][rows]; empty without
  std::vector<std::uint16_t> down_bias;     // [experts][hidden]; empty without
  std::vector<std::uint16_t> residual;      // [tokens][hidden]; empty without
  std::vector<std::int32_t> permutation;    // [experts][hidden]; empty without
};
MoeProblem make_moe_problem(const MoeSpec& spec, std::int64_t tokens, Routing routing,
                            std::uint32_t seed);

// Y in FP64, [tokens][hidden]; what lies between the products is rounded as the kernel does it.
std::vector<double> expected_moe(const MoeSpec& spec, const MoeProblem& problem,
                                 const MoeWeights& weights, const HelperKernels& helpers,
                                 const OwnedStream& stream);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_GPU_HARNESS_OPERATIONS_MOE_PROBLEM_H_

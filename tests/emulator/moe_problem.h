// The data of a layer of experts, and its outputs in FP64.
#ifndef HEDDLE_TESTS_EMULATOR_MOE_PROBLEM_H_
#define HEDDLE_TESTS_EMULATOR_MOE_PROBLEM_H_

#include <cstdint>
#include <vector>

#include "heddle/spec.h"
#include "tools/gpu_harness/operations/moe/choice.h"

namespace heddle {

// How tokens choose.
enum class EmulatedRouting {
  kUniform,     // every expert of the model alike
  kOne,         // all tokens the same ones, of this device where it has so many
  kEveryOther,  // of every other expert, so that many have no tokens
  kNoExperts,   // of half of the choices none: numbers that no expert has; logits: kUniform
  kElsewhere,   // experts of other devices alone
};

// Choices of so many tokens, [tokens][top_k]; of a token no two are alike. Of a spec with logits
// they come of those.
struct EmulatedChoices {
  std::vector<std::int32_t> ids;
  std::vector<float> weights;
  std::vector<std::uint8_t> logits;   // [tokens][experts]; empty without
  std::vector<float> shared_gates{};  // [tokens]; empty without

  EmulatedChoices of_token(std::int64_t token, const MoeSpec& spec) const;
};
// What the router of a spec with logits has besides them.
RouterVectors emulated_router(const MoeSpec& spec);
EmulatedChoices emulated_choices(const MoeSpec& spec, std::int64_t tokens, EmulatedRouting routing,
                                 unsigned seed);
// Of tokens that choose one expert each: so many choose each expert, in no order.
EmulatedChoices uneven_choices(const std::vector<int>& expert_tokens, unsigned seed);

// All but the choices, for as many tokens as the spec has at most.
class EmulatedMoe {
 public:
  explicit EmulatedMoe(const MoeSpec& spec);

  // [tokens][hidden], in FP64; what lies between the products is rounded as the kernel does it.
  std::vector<double> expected(const EmulatedChoices& choices) const;

  std::vector<std::uint8_t> gate_up, down;             // packed, of all experts of this device
  std::vector<std::uint16_t> x;                        // [tokens][hidden]
  std::vector<std::uint16_t> gate_up_bias, down_bias;  // empty without
  std::vector<std::uint16_t> residual;                 // empty without
  std::vector<std::int32_t> permutation;               // empty without
  RouterVectors router;

 private:
  // An expert's output for a token, without its routing weight.
  std::vector<double> output(std::int64_t expert, std::int64_t token, double input_weight) const;

  MoeSpec spec_;
  MoeGemms gemms_;
  std::vector<std::vector<double>> gate_up_numbers_, down_numbers_;  // of each expert
};

}  // namespace heddle

#endif  // HEDDLE_TESTS_EMULATOR_MOE_PROBLEM_H_

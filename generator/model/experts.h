// The moe that serves a layer of experts: what the config says of it beyond its weights. The plan
// of a config and that of a checkpoint ask here, so that they cannot differ.
#ifndef HEDDLE_GENERATOR_MODEL_EXPERTS_H_
#define HEDDLE_GENERATOR_MODEL_EXPERTS_H_

#include <optional>
#include <string>
#include <vector>

#include "generator/model/decoder.h"
#include "heddle/spec.h"

namespace heddle {

// The modules of a block's experts: those of the first product, then that of the second.
struct ExpertModules {
  std::vector<DecodedLinear> first;  // gate and up, both in one, or up alone
  std::vector<DecodedLinear> down;   // one, unless the family's row is of another kind

  bool is_gated() const;
};
ExpertModules expert_modules(const DecodedBlock& block);

// Number of experts, choice, activation and residual; hidden, intermediate, weights and biases are
// left as they are by default. Fills `why` where no moe computes the layer.
MoeSpec moe_of_block(const Decoder& decoder, const DecodedBlock& block, std::string* why);

// `moe` for launches that take the router's logits; none where the config does not say all of how
// experts are chosen.
std::optional<Spec> routed_moe(const ModelExperts& experts, MoeSpec moe, const std::string& name);

// Why the layer has no kernel whatever its device; empty where it may have one. Resolving the spec
// tells the rest.
std::string why_no_moe(const MoeSpec& spec);

// What a user should know of shared experts; empty where there are none.
std::string shared_experts_note(const ModelExperts& experts);

// Why experts take 16 bits where the config has activations of 8.
extern const char* const kExpertsTakeSixteenBits;
// Why experts with factors for columns of X have no kernel.
extern const char* const kExpertsUnscaled;

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_EXPERTS_H_

// Where the experts of a decoder layer are: which modules are theirs, by the names that the family
// of the model type gives them.
#ifndef HEDDLE_CHECKPOINT_PLAN_EXPERT_PLACES_H_
#define HEDDLE_CHECKPOINT_PLAN_EXPERT_PLACES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/modules/config.h"
#include "generator/model/decoder.h"

namespace heddle {

// Where the path of a module of one expert has the expert's number.
inline constexpr std::string_view kExpertStar = ".*.";

struct ExpertPlace {
  std::string set;                      // "model.layers.0.mlp.experts"
  const DecodedBlock* block = nullptr;  // without experts where the config says so
  Role role = Role::kOther;
  std::int64_t expert = -1;  // -1: of all
  std::string shown;         // the module's name with a * for the expert
};

// The path of what all experts of a row are in: "mlp.experts", "moe".
std::string_view set_of(std::string_view path);

bool has_experts(const DecodedBlock& block);

// Nothing for a module of no experts. Precondition: config.decoder.
std::optional<ExpertPlace> place_of_expert(const CheckpointConfig& config,
                                           const std::string& module);

// The experts that the module is among, though it is none of theirs; empty where it is among none.
// Precondition: config.decoder.
std::string set_of_stray(const CheckpointConfig& config, const std::string& module);

// Why no moe takes the module, though the family of the model type has experts of its name: what
// the config lacks or says. Empty for other modules and for those that place_of_expert() knows.
std::string why_alone(const CheckpointConfig& config, const std::string& module);

}  // namespace heddle

#endif  // HEDDLE_CHECKPOINT_PLAN_EXPERT_PLACES_H_

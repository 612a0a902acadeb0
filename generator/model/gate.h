// What gated feed-forward layers compute, and which modules they are: when a GEMM of gates and ups
// may have a gated epilogue. `heddle build` of a config and of a checkpoint, `heddle repack` and
// CheckpointReader all ask here, so that kernels and packed weights cannot differ.
#ifndef HEDDLE_GENERATOR_MODEL_GATE_H_
#define HEDDLE_GENERATOR_MODEL_GATE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/spec.h"

namespace heddle {

class ConfigValues;
struct FamilyRow;
enum class Role;

// What a model type and its config say about the product of gates and ups.
struct GateRule {
  // Between the two matrices there is activation(gate) * up and nothing else.
  bool is_plain = false;
  std::string activation;  // as the config names it: "silu", "gelu_pytorch_tanh"
  std::string pointer;     // of the config's field; empty: the model type's usual one
};

// The name of an activation in a config of the family, with FamilyRow::gelu for "gelu".
std::string activation_name(const FamilyRow& family, const std::string& name);

// A missing or wrong field leaves the rule without an activation: other readers report it.
GateRule gate_rule(const FamilyRow& family, ConfigValues& values);

// Whether the modules, in the order of their rows, are all gates and then as many ups: gate_proj
// and up_proj, or one module that has both, one after the other.
bool are_gate_and_up(const std::vector<Role>& roles);

// Every name that configs have for an activation with a gated epilogue; nothing for others.
std::optional<Activation> gate_activation(std::string_view name);

// The activation that the rule names. Throws Error(kUnsupported, "model.activation") with that name
// and the known ones, if no gated epilogue has it. Precondition: is_plain.
Activation required_activation(const GateRule& rule);

// Why a GEMM of gates and ups with so many rows has no gated epilogue; empty where it may have one.
std::string why_ungated(const GateRule& rule, std::int64_t rows);

// What a user who asks for gated epilogues should know of the layers that have none.
struct UngatedLayers {
  bool found = false;  // some layer has one

  void add(const std::string& layer, const std::string& why, int layers = 1);
  void add_notes(std::vector<std::string>* notes) const;

 private:
  struct Reason {
    std::string first_layer;
    int layers = 0;
  };
  std::map<std::string, Reason> reasons_;
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_GATE_H_

#include "generator/model/gate.h"

#include <utility>

#include "generator/model/config_values.h"
#include "generator/model/family.h"
#include "generator/spec/document.h"
#include "heddle/error.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

struct NamedActivation {
  std::string_view name;
  Activation activation;
};

// As Transformers names them. Several names stand for the approximation of GELU by tanh;
// "quick_gelu", a sigmoid, and "gelu_10", which clips, are other functions.
constexpr NamedActivation kActivations[] = {
    {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},
    {"gelu", Activation::kGelu},
    {"gelu_python", Activation::kGelu},
    {"gelu_new", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh},
    {"gelu_accurate", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"gelu_python_tanh", Activation::kGeluTanh},
    {"relu", Activation::kRelu},
    {"relu2", Activation::kRelu2},
};

std::string known_names() {
  std::string names;
  for (const NamedActivation& known : kActivations) {
    names += (names.empty() ? "\"" : ", \"") + std::string(known.name) + '"';
  }
  return names;
}

}  // namespace

std::string activation_name(const FamilyRow& family, const std::string& name) {
  return name == "gelu" ? std::string(family.gelu) : name;
}

GateRule gate_rule(const FamilyRow& family, ConfigValues& values) {
  GateRule rule;
  const ConfigValue plain = values.value(family.plain_gate);
  rule.is_plain = plain.kind == ConfigValue::Kind::kNumber && plain.number != 0;
  const ConfigValue activation = values.value(family.activation);
  if (activation.kind == ConfigValue::Kind::kText) {
    rule.activation = activation_name(family, activation.text);
  }
  rule.pointer = activation.pointer;
  return rule;
}

bool are_gate_and_up(const std::vector<Role>& roles) {
  if (roles.size() == 1) return roles[0] == Role::kGateUp;
  return roles.size() == 2 && roles[0] == Role::kGate && roles[1] == Role::kUp;
}

std::optional<Activation> gate_activation(std::string_view name) {
  for (const NamedActivation& known : kActivations) {
    if (known.name == name) return known.activation;
  }
  return std::nullopt;
}

Activation required_activation(const GateRule& rule) {
  if (const auto activation = gate_activation(rule.activation)) return *activation;
  throw Error(ErrorCategory::kUnsupported, "model.activation",
              std::vector<Problem>{{rule.pointer.empty() ? "/hidden_act" : rule.pointer,
                                    "gated epilogues are asked for, and none has this activation",
                                    '"' + excerpt(rule.activation) + '"', known_names(), ""}});
}

std::string why_ungated(const GateRule& rule, std::int64_t rows) {
  if (!rule.is_plain)
    return "the model type has more between its matrices than activation(gate) * up";
  if (rows % WeightLayout::kRowBlock != 0)
    return std::to_string(rows) + " rows are no multiple of 16";
  return {};
}

void UngatedLayers::add(const std::string& layer, const std::string& why, int layers) {
  Reason& reason = reasons_[why];
  if (reason.layers == 0) reason.first_layer = layer;
  reason.layers += layers;
}

void UngatedLayers::add_notes(std::vector<std::string>* notes) const {
  for (const auto& [why, reason] : reasons_) {
    notes->push_back(excerpt(reason.first_layer) +
                     (reason.layers > 1 ? " (" + std::to_string(reason.layers) + " layers)" : "") +
                     " has no gated epilogue: " + why);
  }
  if (!found && reasons_.empty()) {
    notes->emplace_back("no layer is a gate and an up: none has a gated epilogue");
  }
}

}  // namespace heddle

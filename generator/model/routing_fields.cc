#include "generator/model/routing_fields.h"

#include <array>
#include <string_view>

#include "generator/model/config_fields.h"
#include "generator/model/config_value.h"

namespace heddle {
namespace {

enum class Says { kScoring, kGroups, kMethod, kNormalised, kScale, kBias, kNothing };

struct RoutingField {
  std::string_view name;
  Says says;
};

// As model types call them. A field of kNothing changes the choice unless it is 0 or false.
constexpr auto kFields = std::to_array<RoutingField>({
    {"moe_renormalize", Says::kNormalised},
    {"moe_router_activation_func", Says::kScoring},
    {"moe_router_enable_expert_bias", Says::kBias},
    {"moe_router_logit_softcapping", Says::kNothing},
    {"moe_router_scaling_factor", Says::kScale},
    {"n_group", Says::kGroups},
    {"norm_topk_prob", Says::kNormalised},
    {"num_expert_group", Says::kGroups},
    {"num_hash_layers", Says::kNothing},
    {"routed_scaling_factor", Says::kScale},
    {"router_logit_softcapping", Says::kNothing},
    {"score_func", Says::kScoring},
    {"score_function", Says::kScoring},
    {"scoring_func", Says::kScoring},
    {"topk_method", Says::kMethod},
    {"use_routing_bias", Says::kBias},
});

bool fits_method(const ConfigValue& value, const ModelExperts& experts) {
  if (value.kind != ConfigValue::Kind::kText) return false;
  if (value.text == "greedy") return experts.groups == 1 && !experts.bias;
  return value.text == "noaux_tc" && experts.bias;
}

bool fits(const ConfigValue& value, Says says, const ModelExperts& experts) {
  switch (says) {
    case Says::kScoring:
      return same(value, text_of(experts.scoring));
    case Says::kGroups:
      return same(value, number_of(static_cast<double>(experts.groups)));
    case Says::kMethod:
      return fits_method(value, experts);
    case Says::kNormalised:
      return same(value, truth_of(experts.normalised));
    case Says::kScale:
      return same(value, number_of(experts.scale));
    case Says::kBias:
      return same(value, truth_of(experts.bias));
    case Says::kNothing:
      break;
  }
  return same(value, number_of(0));
}

}  // namespace

std::vector<std::string> ignored_routing(const FamilyRow& family, const ConfigReader& config,
                                         const ModelExperts& experts) {
  std::vector<std::string> ignored;
  FieldPaths known;  // worked out for the first field that needs it
  for (const RoutingField& field : kFields) {
    const Node* const node = config.node(field.name);
    if (node == nullptr) continue;
    const ConfigValue value = value_of(*node, config.pointer(field.name));
    if (fits(value, field.says, experts)) continue;
    if (known.empty()) known = fields_of(family);
    if (is_known(known, field.name)) continue;
    ignored.push_back(value.pointer + " is " + shown(value));
  }
  return ignored;
}

}  // namespace heddle

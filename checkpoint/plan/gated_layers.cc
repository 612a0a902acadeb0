#include "checkpoint/plan/gated_layers.h"

#include <algorithm>

#include "checkpoint/modules/layer_error.h"
#include "checkpoint/modules/module_place.h"
#include "generator/model/family_table.h"

namespace heddle {
namespace {

// By its place in a decoder layer: modules of the same name in a tower of images may have another
// activation.
Role role_of(const FamilyRow& family, const std::vector<std::string>& lists,
             const std::string& module) {
  const ModulePlace place = place_of_module(module);
  if (std::find(lists.begin(), lists.end(), place.list) == lists.end()) return Role::kOther;
  for (const FeedForwardRow& row : family.feed_forwards) {
    for (const LinearRow& linear : row.linears) {
      if (linear.path == place.path) return linear.role;
    }
  }
  return Role::kOther;
}

// By its name alone.
bool looks_gated(const LayerGroup& group) { return leaf_of_layer(group.name) == "gate_up_proj"; }

}  // namespace

bool GatedLayers::is_gate_and_up(const LayerGroup& group) const {
  const FamilyRow* const family = find_family(config_.model_type);
  if (family == nullptr) return false;
  std::vector<Role> roles;
  for (const LayerName& part : group.parts) {
    roles.push_back(role_of(*family, config_.layer_lists, part.name));
  }
  return are_gate_and_up(roles);
}

void GatedLayers::check(const std::vector<LayerGroup>& groups) const {
  if (!wanted_ || !config_.gate || !config_.gate->is_plain) return;
  const bool any = std::any_of(groups.begin(), groups.end(),
                               [this](const LayerGroup& group) { return is_gate_and_up(group); });
  if (any) static_cast<void>(required_activation(*config_.gate));
}

std::string GatedLayers::why_not(const LayerGroup& group, const std::vector<std::int64_t>& heights,
                                 std::int64_t rows) const {
  if (!config_.gate) return "what is between its matrices is not known of this model type";
  if (!is_gate_and_up(group)) return "it is no gate and up of a decoder layer that is known";
  if (heights.size() == 2 && heights[0] != heights[1]) return "it has not as many gates as ups";
  return why_ungated(*config_.gate, rows);
}

void GatedLayers::apply(const LayerGroup& group, const std::vector<std::int64_t>& heights,
                        GemmSpec* gemm) {
  if (!wanted_ || !(is_gate_and_up(group) || looks_gated(group))) return;
  const std::string why = why_not(group, heights, gemm->shape.n);
  if (!why.empty()) return ungated_.add(group.name, why);
  gemm->epilogue.activation = required_activation(*config_.gate);
  gemm->epilogue.gated = true;
  ungated_.found = true;
}

void GatedLayers::add_notes(std::vector<std::string>* notes) const {
  if (wanted_) ungated_.add_notes(notes);
}

}  // namespace heddle

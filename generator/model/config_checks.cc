#include "generator/model/config_checks.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/model/config_fields.h"
#include "generator/model/config_value.h"
#include "generator/spec/document.h"

namespace heddle {
namespace {

using Names = std::vector<std::string_view>;

// Names of one field, which model types have taken one of.
const std::vector<Names>& aliases() {
  static const std::vector<Names> names = {
      {"num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"},
      {"num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_top_k",
       "top_k_experts"},
      {"n_shared_experts", "num_shared_experts"},
  };
  return names;
}

bool has_experts(const FamilyRow& family) {
  return std::any_of(
      family.feed_forwards.begin(), family.feed_forwards.end(),
      [](const FeedForwardRow& row) { return row.kind == FeedForwardKind::kExperts; });
}

bool is_number(const Node& node) {
  return node.kind == Node::Kind::kInteger || node.kind == Node::Kind::kNumber;
}

void check_aliases(const Names& names, const ConfigReader& config) {
  std::string_view first;
  for (const std::string_view name : names) {
    const Node* const node = config.node(name);
    if (node == nullptr || !is_number(*node)) continue;
    if (first.empty()) {
      first = name;
      continue;
    }
    const ConfigValue own = value_of(*node, config.pointer(name));
    const ConfigValue other = value_of(*config.node(first), config.pointer(first));
    if (same(own, other)) continue;
    config.add(
        "contradiction", name,
        "contradicts " + other.pointer + ", which is " + shown(other) + " and means the same",
        shown(other) + ", or one of the two fields alone");
  }
}

// Entries of a list of layers, which count from 0.
void check_list(std::string_view name, const ConfigReader& config, std::int64_t layers) {
  const Node* const list = config.node(name);
  if (list == nullptr || list->kind != Node::Kind::kArray) return;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const Node& item = list->items[i];
    const std::string pointer = child_pointer(config.pointer(name), std::to_string(i));
    const std::optional<std::int64_t> layer = item.as_integer();
    if (!layer) {
      config.findings().add("wrong_type", {pointer, "must be an integer", excerpt(item), "", ""});
    } else if (*layer < 0 || *layer >= layers) {
      config.findings().add("out_of_range", {pointer, "the model has no such layer", excerpt(item),
                                             "0 to " + std::to_string(layers - 1), ""});
    }
  }
}

// Layers at the beginning; other types than numbers are not judged here.
void check_first_layers(std::string_view name, const ConfigReader& config, std::int64_t layers) {
  const Node* const node = config.node(name);
  if (node == nullptr || !is_number(*node)) return;
  const std::optional<std::int64_t> value = node->as_integer();
  if (!value) {
    config.add("wrong_type", name, "must be an integer");
  } else if (*value < 0 || *value > layers) {
    config.add("out_of_range", name, "is out of range", "0 to " + std::to_string(layers));
  }
}

// Every so many layers; a list has an entry for each layer.
void check_interval(std::string_view name, const ConfigReader& config) {
  const Node* const node = config.node(name);
  if (node == nullptr || !is_number(*node)) return;
  const std::optional<std::int64_t> value = node->as_integer();
  if (value && *value >= 1) return;
  config.add("out_of_range", name, "is no interval of layers", "an integer from 1 on");
}

}  // namespace

void check_expert_fields(const FamilyRow& family, const ConfigReader& config, std::int64_t layers) {
  if (!has_experts(family)) return;
  for (const Names& names : aliases()) check_aliases(names, config);
  const FieldPaths known = fields_of(family);
  for (const std::string_view name : {"mlp_only_layers", "moe_layers"}) {
    if (is_known(known, name)) check_list(name, config, layers);
  }
  for (const std::string_view name :
       {"decoder_sparse_step", "moe_layer_freq", "interleave_moe_layer_step"}) {
    if (is_known(known, name)) check_interval(name, config);
  }
  constexpr std::string_view kFirst = "first_k_dense_replace";
  if (is_known(known, kFirst)) check_first_layers(kFirst, config, layers);
}

}  // namespace heddle

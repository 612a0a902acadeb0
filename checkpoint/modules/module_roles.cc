#include "checkpoint/modules/module_roles.h"

#include <algorithm>

#include "generator/model/family_table.h"

namespace heddle {
namespace {

const LinearRow* row_with_path(const LinearRows& rows, std::string_view path) {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const LinearRow& row) { return row.path == path; });
  return found == rows.end() ? nullptr : &*found;
}

bool is_head(const CheckpointConfig& config, const std::string& module) {
  return std::any_of(config.head_places.begin(), config.head_places.end(),
                     [&](const HeadPlace& place) { return place.head == module; });
}

}  // namespace

std::string module_in(const std::string& body, std::string_view path) {
  return body.empty() ? std::string(path) : body + "." + std::string(path);
}

bool is_in_layers(const CheckpointConfig& config, const ModulePlace& place) {
  const auto& lists = config.layer_lists;
  return place.layer >= 0 && std::find(lists.begin(), lists.end(), place.list) != lists.end();
}

const LinearRow* row_of_module(const CheckpointConfig& config, const std::string& module) {
  const FamilyRow* const family = find_family(config.model_type);
  if (family == nullptr) return nullptr;
  for (const HeadPlace& place : config.head_places) {
    for (const LinearRow& row : family->outside) {
      if (module == module_in(place.body, row.path)) return &row;
    }
  }
  const ModulePlace place = place_of_module(module);
  if (!is_in_layers(config, place)) return nullptr;
  for (const MixerRow& mixer : family->mixers) {
    if (const LinearRow* row = row_with_path(mixer.linears, place.path)) return row;
  }
  for (const FeedForwardRow& feed_forward : family->feed_forwards) {
    if (const LinearRow* row = row_with_path(feed_forward.linears, place.path)) return row;
  }
  return nullptr;
}

ModuleRole role_of_module(const CheckpointConfig& config, const std::string& module) {
  if (is_head(config, module)) return ModuleRole::kLinear;
  const LinearRow* const row = row_of_module(config, module);
  return row != nullptr ? role_of_row(*row) : role_of_name(module);
}

const Scheme* scheme_of_layer(const CheckpointConfig& config, const LayerName& layer) {
  const std::string& module = layer.module();
  const bool is_table = role_of_module(config, module) == ModuleRole::kEmbedding;
  return is_table ? config.quantization.scheme_of_table(module)
                  : config.quantization.scheme_of(module);
}

}  // namespace heddle

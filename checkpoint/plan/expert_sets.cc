#include "checkpoint/plan/expert_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "checkpoint/modules/layer_error.h"
#include "checkpoint/modules/module_place.h"
#include "checkpoint/plan/expert_places.h"
#include "generator/model/experts.h"
#include "generator/spec/document.h"

namespace heddle {
namespace {

// The modules of one role.
struct OfRole {
  LayerName shown;
  std::map<std::int64_t, LayerName> experts;
  bool twice = false;  // an expert has two
};

struct Found {
  const DecodedBlock* block = nullptr;
  std::string stray;  // a module in the set that is none of its experts'
  std::map<Role, OfRole> roles;
};

void add_layer(const Checkpoint& checkpoint, const LayerName& layer, const ExpertPlace& place,
               Found* found) {
  found->block = place.block;
  OfRole& role = found->roles[place.role];
  role.shown = layer;
  role.shown.name = place.shown;
  const auto add = [&](std::int64_t expert, LayerName name) {
    role.twice = !role.experts.emplace(expert, std::move(name)).second || role.twice;
  };
  if (place.expert >= 0) return add(place.expert, layer);
  const std::vector<std::int64_t>& shape =
      checkpoint.at(tensors_of(layer, checkpoint).front()).tensor->shape;
  const std::int64_t count = shape.size() < 3 ? 1 : shape.front();
  for (std::int64_t expert = 0; expert < count; ++expert) {
    LayerName one = layer;
    if (shape.size() >= 3) one.matrix = expert;
    add(expert, std::move(one));
  }
}

// "3, 5, 7 ...".
std::string some_of(const std::vector<std::int64_t>& experts) {
  constexpr std::size_t kMostNamed = 4;
  std::string text;
  for (std::size_t i = 0; i < experts.size() && i < kMostNamed; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(experts[i]);
  }
  return text + (experts.size() > kMostNamed ? " ..." : "");
}

// "/num_experts is 8".
std::string experts_said(const DecodedBlock& block) {
  const std::string& field = block.experts_field;
  return field.empty() ? std::string()
                       : fmt::format(" ({} is {})", field, block.facts.experts.count);
}

std::string fault_of(const OfRole& role, const DecodedBlock& block) {
  const std::int64_t count = block.facts.experts.count;
  std::vector<std::int64_t> missing;
  std::vector<std::int64_t> extra;
  for (std::int64_t expert = 0; expert < count; ++expert) {
    if (role.experts.count(expert) == 0) missing.push_back(expert);
  }
  for (const auto& [expert, layer] : role.experts) {
    if (expert >= count) extra.push_back(expert);
  }
  const std::string leaf = excerpt(leaf_of_layer(role.shown.name));
  if (role.twice) return fmt::format("experts have {} twice", leaf);
  if (!missing.empty()) {
    return fmt::format("{} of {} experts have no {} to pack: {}{}", missing.size(), count, leaf,
                       some_of(missing), experts_said(block));
  }
  if (!extra.empty()) {
    return fmt::format("the config says {} experts, but there is a {} of {}{}", count, leaf,
                       some_of(extra), experts_said(block));
  }
  return {};
}

ExpertProduct product_of(const std::string& set, const std::string& leaf,
                         const std::vector<const OfRole*>& roles) {
  ExpertProduct product;
  const bool alone = roles.front()->shown.name.find(kExpertStar) != std::string::npos;
  // A stack of all rows keeps its name.
  product.name = !alone && roles.size() == 1 ? roles.front()->shown.name : set + '.' + leaf;
  for (const OfRole* role : roles) product.shown.push_back(role->shown);
  for (const auto& [expert, first] : roles.front()->experts) {
    LayerGroup group{fmt::format("{}.{}.{}", set, expert, leaf), {}};
    for (const OfRole* role : roles) {
      const auto found = role->experts.find(expert);
      if (found != role->experts.end()) group.parts.push_back(found->second);
    }
    product.each.push_back(std::move(group));
  }
  return product;
}

// Whether tensors with these paths are of the product. Experts of model types that have stacks may
// be alone, each under names of its own.
bool has_product(const std::set<std::string>& paths, const std::string& set,
                 const std::string& leaf, const std::vector<DecodedLinear>& product) {
  std::vector<std::string> modules = {set + '.' + leaf};
  bool alone = false;
  for (const DecodedLinear& linear : product) {
    modules.emplace_back(linear.row->path);
    alone = alone || linear.row->path.find(kExpertStar) != std::string_view::npos;
  }
  if (!alone) modules.push_back(set + ".*");
  return std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
    return !path.ends_with("bias") &&
           std::any_of(modules.begin(), modules.end(), [&](const std::string& module) {
             if (!path.starts_with(module)) return false;
             return path.size() == module.size() || path[module.size()] == '.' ||
                    path[module.size()] == '_';
           });
  });
}

// Of tensors of experts in a layer of the block.
std::string why_no_experts(const DecodedBlock& block) {
  const std::string& fields = block.feed_forward_fields;
  return fmt::format(
      "the checkpoint has its experts, but by the config layers such as {} have "
      "none{}{}",
      block.facts.layers.front(), fields.empty() ? "" : ": ", fields);
}

ExpertSet set_with(std::string name, const Found& found) {
  ExpertSet set;
  set.name = std::move(name);
  set.block = found.block;
  if (!has_experts(*found.block)) {
    set.fault = why_no_experts(*found.block);
    return set;
  }
  if (!found.stray.empty()) {
    set.fault = fmt::format("{} is none of its experts 0 to {}", excerpt(found.stray),
                            found.block->facts.experts.count - 1);
  }
  const auto role = [&](Role one) -> const OfRole* {
    const auto at = found.roles.find(one);
    return at == found.roles.end() ? nullptr : &at->second;
  };
  const ExpertModules modules = expert_modules(*found.block);
  std::vector<const OfRole*> first;
  for (const Role one : {Role::kGateUp, Role::kGate, Role::kUp}) {
    if (role(one) != nullptr) first.push_back(role(one));
  }
  const bool joined = role(Role::kGateUp) != nullptr;
  const bool gated = modules.is_gated();
  const std::size_t wanted = gated && !joined ? 2 : 1;
  if (set.fault.empty() && joined && (first.size() > 1 || !gated)) {
    set.fault = "the first product of its experts has two forms, of which one is right";
  }
  for (const OfRole* one : first) {
    if (set.fault.empty()) set.fault = fault_of(*one, *found.block);
  }
  const OfRole* const down = role(Role::kDown);
  if (down != nullptr && set.fault.empty()) {
    set.fault = fault_of(*down, *found.block);
  }
  if (set.fault.empty() && !first.empty() && first.size() < wanted) {
    set.fault = fmt::format("its experts have a {} to pack, but no {}",
                            first[0] == role(Role::kGate) ? "gate" : "up",
                            first[0] == role(Role::kGate) ? "up" : "gate");
  }
  if (!first.empty()) {
    set.gate_up = product_of(set.name, gated ? "gate_up_proj" : "up_proj", first);
  }
  if (down != nullptr) set.down = product_of(set.name, "down_proj", {down});
  if (first.empty()) set.absent = "first";
  if (down == nullptr) set.absent = "second";
  return set;
}

}  // namespace

std::vector<std::string> ExpertProduct::tensors(const Checkpoint& checkpoint) const {
  std::set<std::string> names;
  for (const LayerGroup& group : each) {
    for (const LayerName& part : group.parts) {
      for (std::string& name : tensors_of(part, checkpoint)) names.insert(std::move(name));
    }
  }
  return {names.begin(), names.end()};
}

std::vector<MissingLayer> missing_experts(const Checkpoint& checkpoint,
                                          const CheckpointConfig& config) {
  std::map<int, std::set<std::string>> paths;  // of tensors, by layer
  for (const auto& [name, entry] : checkpoint.tensors()) {
    const ModulePlace place = place_of_module(name);
    const auto& lists = config.layer_lists;
    const bool listed =
        place.layer >= 0 && std::any_of(lists.begin(), lists.end(), [&](const std::string& list) {
          return place.list == list || place.list.ends_with('.' + list);
        });
    if (listed) paths[place.layer].insert(place.path);
  }
  std::vector<MissingLayer> missing;
  for (const DecodedBlock& block : config.decoder->blocks) {
    const ExpertModules modules = expert_modules(block);
    for (const std::vector<DecodedLinear>* product : {&modules.first, &modules.down}) {
      if (product->empty()) continue;
      const bool is_down = product == &modules.down;
      const std::string leaf =
          is_down ? "down_proj" : (modules.is_gated() ? "gate_up_proj" : "up_proj");
      const std::string set(set_of(product->front().row->path));
      std::int64_t n = 0;
      for (const DecodedLinear& linear : *product) n += linear.n;
      for (const int layer : block.facts.layers) {
        if (has_product(paths[layer], set, leaf, *product)) continue;
        missing.push_back(
            {fmt::format("{}.{}.{}.{}", config.decoder->layers_path, layer, set, leaf), n,
             product->front().k, block.facts.experts.count, is_down, block.feed_forward_fields});
      }
    }
  }
  return missing;
}

std::vector<ExpertSet> take_expert_sets(const Checkpoint& checkpoint,
                                        const CheckpointConfig& config,
                                        std::vector<LayerName>* layers) {
  std::map<std::string, Found> found;
  std::vector<LayerName> others;
  for (LayerName& layer : *layers) {
    if (const auto place = place_of_expert(config, layer.name)) {
      add_layer(checkpoint, layer, *place, &found[place->set]);
    } else {
      others.push_back(std::move(layer));
    }
  }
  for (const LayerName& layer : others) {
    const auto set = found.find(set_of_stray(config, layer.name));
    if (set != found.end()) set->second.stray = layer.name;
  }
  *layers = std::move(others);
  std::vector<ExpertSet> sets;
  sets.reserve(found.size());
  const std::vector<MissingLayer> missing = missing_experts(checkpoint, config);
  for (const auto& [name, one] : found) {
    ExpertSet set = set_with(name, one);
    const int index = place_of_module(name).layer;
    set.is_missing = std::any_of(missing.begin(), missing.end(), [&](const MissingLayer& layer) {
      return place_of_module(layer.name).layer == index && layer.is_down == set.down.each.empty();
    });
    sets.push_back(std::move(set));
  }
  return sets;
}

std::vector<ExpertSet> take_denied_stacks(const CheckpointConfig& config,
                                          std::vector<LayerName>* layers) {
  std::map<std::string, Found> found;
  std::vector<LayerName> others;
  for (LayerName& layer : *layers) {
    const auto place = place_of_expert(config, layer.name);
    if (place && place->expert < 0 && layer.is_plain() && !has_experts(*place->block)) {
      found[place->set].block = place->block;
    } else {
      others.push_back(std::move(layer));
    }
  }
  *layers = std::move(others);
  std::vector<ExpertSet> sets;
  sets.reserve(found.size());
  for (const auto& [name, one] : found) sets.push_back(set_with(name, one));
  return sets;
}

}  // namespace heddle

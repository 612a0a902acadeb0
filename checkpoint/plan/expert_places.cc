#include "checkpoint/plan/expert_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "checkpoint/modules/module_place.h"

namespace heddle {
namespace {

const DecodedBlock* block_of(const Decoder& decoder, int layer) {
  const DecodedBlock* last = nullptr;
  for (const DecodedBlock& block : decoder.blocks) {
    const std::vector<int>& layers = block.facts.layers;
    if (std::binary_search(layers.begin(), layers.end(), layer)) return &block;
    const bool has_experts = block.facts.feed_forward == FeedForwardKind::kExperts;
    if (has_experts && (last == nullptr || layers.back() > last->facts.layers.back())) {
      last = &block;
    }
  }
  return layer >= decoder.layers ? last : nullptr;
}

}  // namespace

std::string_view set_of(std::string_view path) {
  const std::size_t star = path.find(kExpertStar);
  return path.substr(0, star == path.npos ? path.rfind('.') : star);
}

std::optional<ExpertPlace> place_of_expert(const CheckpointConfig& config,
                                           const std::string& module) {
  const ModulePlace place = place_of_module(module);
  const auto& lists = config.layer_lists;
  if (place.layer < 0 || std::find(lists.begin(), lists.end(), place.list) == lists.end()) {
    return std::nullopt;
  }
  const DecodedBlock* const block = block_of(*config.decoder, place.layer);
  if (block == nullptr) return std::nullopt;
  const std::string before = fmt::format("{}.{}.", place.list, place.layer);
  for (const DecodedLinear& linear : block->linears) {
    if (linear.row->module != Module::kExpert) continue;
    const std::string_view path = linear.row->path;
    const std::string set = before + std::string(set_of(path));
    const bool alone = path.find(kExpertStar) != path.npos;
    if (path == place.path) {
      ExpertPlace found{set, block, linear.row->role, -1, before + std::string(path)};
      // ModulePlace has a star where the name has the index. A layer's index may have zeros ahead.
      const std::size_t at = module.find('.', place.list.size() + 1) + 1 + set_of(path).size() + 1;
      if (alone) std::from_chars(module.data() + at, module.data() + module.size(), found.expert);
      return found;
    }
    if (!alone) continue;
    const std::string stack(set_of(path));
    if (place.path == stack + ".gate_up_proj")
      return ExpertPlace{set, block, Role::kGateUp, -1, module};
    if (place.path == stack + ".down_proj") return ExpertPlace{set, block, Role::kDown, -1, module};
  }
  return std::nullopt;
}

std::string set_of_stray(const CheckpointConfig& config, const std::string& module) {
  const ModulePlace place = place_of_module(module);
  const auto& lists = config.layer_lists;
  if (place.layer < 0 || std::find(lists.begin(), lists.end(), place.list) == lists.end())
    return {};
  const DecodedBlock* const block = block_of(*config.decoder, place.layer);
  if (block == nullptr) return {};
  std::string set;
  for (const DecodedLinear& linear : block->linears) {
    const std::string_view path = linear.row->path;
    if (path == place.path) return {};
    if (linear.row->module != Module::kExpert || path.find(kExpertStar) == path.npos) continue;
    const std::string_view around = set_of(path);
    if (place.path.starts_with(std::string(around) + '.')) {
      set = fmt::format("{}.{}.{}", place.list, place.layer, around);
    }
  }
  return set;
}

}  // namespace heddle

#include "checkpoint/plan/expert_places.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "checkpoint/modules/module_place.h"
#include "checkpoint/modules/module_roles.h"
#include "generator/model/family_table.h"
#include "generator/spec/document.h"

namespace heddle {
namespace {

// In a list whose path ends in one of the decoder's.
bool is_in_wrapped_layers(const CheckpointConfig& config, const ModulePlace& place) {
  const auto& lists = config.layer_lists;
  return place.layer >= 0 && std::any_of(lists.begin(), lists.end(), [&](const std::string& list) {
           return place.list.ends_with('.' + list);
         });
}

const DecodedBlock* block_of(const Decoder& decoder, int layer) {
  const DecodedBlock* last = nullptr;
  for (const DecodedBlock& block : decoder.blocks) {
    const std::vector<int>& layers = block.facts.layers;
    if (std::binary_search(layers.begin(), layers.end(), layer)) return &block;
    if (has_experts(block) && (last == nullptr || layers.back() > last->facts.layers.back())) {
      last = &block;
    }
  }
  return layer >= decoder.layers ? last : nullptr;
}

using Rows = std::vector<const LinearRow*>;

// Those of all kinds of experts that the family has.
Rows rows_of_experts(const FamilyRow& family) {
  Rows rows;
  for (const FeedForwardRow& feed_forward : family.feed_forwards) {
    for (const LinearRow& row : feed_forward.linears) {
      if (row.module == Module::kExpert) rows.push_back(&row);
    }
  }
  return rows;
}

// Those of the block, of the family where the block has none.
Rows rows_of_experts(const FamilyRow& family, const DecodedBlock& block) {
  if (!has_experts(block)) return rows_of_experts(family);
  Rows rows;
  for (const DecodedLinear& linear : block.linears) {
    if (linear.row->module == Module::kExpert) rows.push_back(linear.row);
  }
  return rows;
}

bool is_alone(const LinearRow& row) { return row.path.find(kExpertStar) != row.path.npos; }

// How the path of a module below a decoder layer names experts.
struct Match {
  const LinearRow* row = nullptr;
  Role role = Role::kOther;
  bool is_stack = false;  // of experts that rows have alone
};

std::optional<Match> match(const Rows& rows, std::string_view path) {
  for (const LinearRow* row : rows) {
    if (row->path == path) return Match{row, row->role};
    if (!is_alone(*row)) continue;
    const std::string stack(set_of(row->path));
    if (path == stack + ".gate_up_proj") return Match{row, Role::kGateUp, true};
    if (path == stack + ".down_proj") return Match{row, Role::kDown, true};
  }
  return std::nullopt;
}

// Of a module inside of what the row's experts are in. Beside a stack only single experts are: the
// others there are a router, shared experts.
bool is_among(const LinearRow& row, std::string_view path) {
  const std::string around(set_of(row.path));
  return path.starts_with(around + (is_alone(row) ? "." : std::string(kExpertStar)));
}

}  // namespace

bool has_experts(const DecodedBlock& block) {
  return block.facts.feed_forward == FeedForwardKind::kExperts;
}

std::string_view set_of(std::string_view path) {
  const std::size_t star = path.find(kExpertStar);
  return path.substr(0, star == path.npos ? path.rfind('.') : star);
}

std::optional<ExpertPlace> place_of_expert(const CheckpointConfig& config,
                                           const std::string& module) {
  const ModulePlace place = place_of_module(module);
  if (!is_in_layers(config, place)) return std::nullopt;
  const DecodedBlock* const block = block_of(*config.decoder, place.layer);
  if (block == nullptr) return std::nullopt;
  const auto found = match(rows_of_experts(*config.decoder->family, *block), place.path);
  if (!found) return std::nullopt;
  const std::string before = fmt::format("{}.{}.", place.list, place.layer);
  const std::string_view set = set_of(found->row->path);
  ExpertPlace expert{before + std::string(set), block, found->role, -1,
                     found->is_stack ? module : before + std::string(place.path)};
  if (found->is_stack || !is_alone(*found->row)) return expert;
  // ModulePlace has a star where the name has the index. A layer's index may have zeros ahead.
  const std::size_t at = module.find('.', place.list.size() + 1) + 1 + set.size() + 1;
  std::from_chars(module.data() + at, module.data() + module.size(), expert.expert);
  return expert;
}

std::string set_of_stray(const CheckpointConfig& config, const std::string& module) {
  const ModulePlace place = place_of_module(module);
  if (!is_in_layers(config, place)) return {};
  const DecodedBlock* const block = block_of(*config.decoder, place.layer);
  if (block == nullptr) return {};
  const auto is_path = [&](const DecodedLinear& linear) { return linear.row->path == place.path; };
  if (std::any_of(block->linears.begin(), block->linears.end(), is_path)) return {};
  std::string set;
  for (const LinearRow* row : rows_of_experts(*config.decoder->family, *block)) {
    if (!is_among(*row, place.path)) continue;
    set = fmt::format("{}.{}.{}", place.list, place.layer, set_of(row->path));
  }
  return set;
}

std::string why_alone(const CheckpointConfig& config, const std::string& module) {
  const FamilyRow* const family = find_family(config.model_type);
  const ModulePlace place = place_of_module(module);
  const bool listed = is_in_layers(config, place);
  if (family == nullptr || (!listed && !is_in_wrapped_layers(config, place))) return {};
  const Rows rows = rows_of_experts(*family);
  const bool among = std::any_of(rows.begin(), rows.end(), [&](const LinearRow* row) {
    return !is_alone(*row) && is_among(*row, place.path);
  });
  if (!match(rows, place.path) && !among) return {};
  if (!config.decoder) {
    return "the config does not say what their layer computes: " + config.why_no_decoder;
  }
  if (!listed) {
    return fmt::format("by its /model_type, \"{}\", the model has its layers in {}, not in {}",
                       excerpt(config.model_type), fmt::join(config.layer_lists, " or "),
                       excerpt(place.list));
  }
  if (among) {
    return fmt::format("of the /model_type \"{}\" Heddle knows experts as stacks of all alone",
                       excerpt(config.model_type));
  }
  if (block_of(*config.decoder, place.layer) != nullptr) return {};
  return fmt::format("the config describes no layer of experts: {}",
                     config.decoder->blocks.front().feed_forward_fields);
}

}  // namespace heddle

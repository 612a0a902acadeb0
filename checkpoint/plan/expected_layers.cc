#include "checkpoint/plan/expected_layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "checkpoint/modules/layer_error.h"
#include "checkpoint/modules/module_place.h"
#include "checkpoint/modules/module_roles.h"
#include "checkpoint/plan/expert_places.h"
#include "checkpoint/plan/expert_sets.h"
#include "checkpoint/plan/plain_layers.h"
#include "generator/model/experts.h"

namespace heddle {

std::optional<ExpectedLayers::Sides> ExpectedLayers::sides_of(const std::string& name) const {
  if (!config_.decoder) return std::nullopt;
  const Decoder& decoder = *config_.decoder;
  const auto sides = [](const DecodedLinear& linear) {
    return Sides{
        {linear.n, linear.k}, linear.field, linear.k_field, linear.row->module == Module::kExpert};
  };
  for (const HeadPlace& place : config_.head_places) {
    if (name == place.head && decoder.vocabulary != 0) {
      return Sides{{decoder.vocabulary, decoder.head_width}, {}, {}};
    }
    for (const DecodedLinear& linear : decoder.outside) {
      if (name == module_in(place.body, linear.row->path)) return sides(linear);
    }
  }
  const ModulePlace place = place_of_module(name);
  if (!is_in_layers(config_, place)) return std::nullopt;
  for (const DecodedBlock& block : decoder.blocks) {
    const std::vector<int>& layers = block.facts.layers;
    if (!std::binary_search(layers.begin(), layers.end(), place.layer)) continue;
    for (const DecodedLinear& linear : block.linears) {
      if (linear.row->path == place.path) return sides(linear);
    }
  }
  return sides_of_stack(name);
}

// Of experts that the family has alone.
std::optional<ExpectedLayers::Sides> ExpectedLayers::sides_of_stack(const std::string& name) const {
  const std::optional<ExpertPlace> place = place_of_expert(config_, name);
  if (!place || place->expert >= 0 || !has_experts(*place->block)) return std::nullopt;
  const ExpertModules modules = expert_modules(*place->block);
  const std::vector<DecodedLinear>& product =
      place->role == Role::kDown ? modules.down : modules.first;
  if (product.empty()) return std::nullopt;
  Sides sides{{0, product.front().k}, product.front().field, product.front().k_field, true};
  for (const DecodedLinear& linear : product) sides.shape.n += linear.n;
  return sides;
}

OtherSides ExpectedLayers::compare(const std::string& name, std::int64_t n, std::int64_t k) const {
  const std::optional<Sides> wanted = sides_of(name);
  if (!wanted) return {};
  const MatrixShape& shape = wanted->shape;
  if (n == shape.n && k == shape.k) return {};
  std::vector<std::string> fields;
  if (n != shape.n && !wanted->n_field.empty()) fields.push_back(wanted->n_field);
  if (k != shape.k && !wanted->k_field.empty()) fields.push_back(wanted->k_field);
  const std::string named = fmt::format("{}", fmt::join(fields, ", "));
  return {fmt::format("its weights are {} x {}, but the config says {} x {}{}", n, k, shape.n,
                      shape.k, named.empty() ? "" : " (" + named + ")"),
          wanted->of_experts && (n < shape.n || k < shape.k)};
}

void ExpectedLayers::check_sides(const std::string& name, std::int64_t n, std::int64_t k) const {
  const std::string why = compare(name, n, k).why;
  if (!why.empty()) refuse_layer(name, why);
}

std::vector<MissingLayer> ExpectedLayers::missing(const Checkpoint& checkpoint, bool dense) const {
  if (!config_.decoder) return {};
  std::vector<MissingLayer> missing = missing_experts(checkpoint, config_);
  if (!dense) return missing;
  std::set<std::pair<int, std::string>> there;  // modules that have a tensor
  for (const auto& [name, entry] : checkpoint.tensors()) {
    const ModulePlace place = place_of_module(name);
    if (!is_in_layers(config_, place)) continue;
    const std::size_t dot = place.path.rfind('.');
    if (dot != place.path.npos) there.emplace(place.layer, place.path.substr(0, dot));
  }
  for (const DecodedBlock& block : config_.decoder->blocks) {
    for (const DecodedLinear& linear : block.linears) {
      if (!is_dense(linear.row->module)) continue;
      for (const int layer : block.facts.layers) {
        const std::string path(linear.row->path);
        if (there.count({layer, path}) != 0) continue;
        missing.push_back({fmt::format("{}.{}.{}", config_.decoder->layers_path, layer, path),
                           linear.n, linear.k});
      }
    }
  }
  return missing;
}

std::string note_of_missing(const std::vector<MissingLayer>& missing) {
  const MissingLayer& first = missing.front();
  return fmt::format(
      "the checkpoint has no tensor of {} linear layers that its config describes, such as {}{}",
      missing.size(), excerpt(first.name),
      first.fields.empty() ? std::string() : " (" + first.fields + ")");
}

}  // namespace heddle

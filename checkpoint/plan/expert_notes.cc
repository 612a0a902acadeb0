#include "checkpoint/plan/expert_notes.h"

#include <fmt/format.h>

#include <cstddef>
#include <map>

#include "checkpoint/modules/module_place.h"
#include "checkpoint/plan/expert_places.h"
#include "checkpoint/plan/plain_layers.h"
#include "generator/spec/document.h"

namespace heddle {

void note_lone_experts(const CheckpointConfig& config, const std::vector<LayerName>& layers,
                       std::vector<std::string>* notes) {
  std::map<std::string, std::string> first;  // by the reason
  for (const LayerName& layer : layers) {
    const std::string why = why_alone(config, layer.name);
    if (!why.empty()) first.try_emplace(why, layer.name);
  }
  for (const auto& [why, name] : first) {
    notes->push_back(fmt::format("experts such as {} are packed alone, each for a gemm: {}",
                                 excerpt(name), why));
  }
}

void note_whole_residuals(const Checkpoint& checkpoint, const std::vector<const ExpertSet*>& sets,
                          const std::set<std::string>& packed, std::vector<std::string>* notes) {
  std::size_t layers = 0;
  std::string first;
  for (const ExpertSet* set : sets) {
    const std::string layer =
        set->name.substr(0, set->name.size() - place_of_module(set->name).path.size());
    for (const DecodedLinear& linear : set->block->linears) {
      const LinearRow& row = *linear.row;
      const std::string module = layer + std::string(row.path);
      const bool makes_all =
          is_dense(row.module) && row.role == Role::kDown && packed.count(module) == 0;
      if (!makes_all) continue;
      const auto tensor = checkpoint.tensors().lower_bound(module + '.');
      const bool there =
          tensor != checkpoint.tensors().end() && tensor->first.starts_with(module + '.');
      if (there && layers++ == 0) first = module;
    }
  }
  if (layers == 0) return;
  notes->push_back(fmt::format(
      "{} layers such as {} are whole in each rank, and experts of every rank add their output as "
      "the residual: give it to those of rank 0 alone, and zeros to the others",
      layers, excerpt(first)));
}

}  // namespace heddle

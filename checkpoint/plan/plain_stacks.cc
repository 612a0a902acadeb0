#include "checkpoint/plan/plain_stacks.h"

#include <cstdint>
#include <string>
#include <utility>

#include "checkpoint/plan/expert_places.h"
#include "generator/model/experts.h"

namespace heddle {

std::optional<LayerName> plain_stack(const TensorInfo& tensor, const Checkpoint& checkpoint,
                                     const CheckpointConfig& config) {
  if (tensor.shape.size() != 3 || !is_float(tensor.type)) return std::nullopt;
  constexpr std::string_view kWeight = ".weight";
  const bool named = tensor.name.ends_with(kWeight);
  const std::string module =
      named ? tensor.name.substr(0, tensor.name.size() - kWeight.size()) : tensor.name;
  const std::optional<ExpertPlace> place = place_of_expert(config, module);
  if (!place || place->expert >= 0) return std::nullopt;
  const ExpertModules modules = expert_modules(*place->block);
  // [N, K] of the stack, by the config.
  const auto sides_of = [&](Role role) -> std::pair<std::int64_t, std::int64_t> {
    std::int64_t n = 0;
    for (const DecodedLinear& linear : role == Role::kDown ? modules.down : modules.first) {
      if (role == Role::kGateUp || linear.row->role == role) n += linear.n;
    }
    const auto& any = role == Role::kDown ? modules.down : modules.first;
    return {n, any.empty() ? 0 : any.front().k};
  };
  LayerName layer;
  layer.name = module;
  layer.kind = named ? LayerName::Kind::kPlain : LayerName::Kind::kPlainExperts;
  // A square stack lies as the other one of its experts does.
  for (const auto& [role, name] : {std::pair{place->role, tensor.name},
                                   {Role::kGateUp, place->set + ".gate_up_proj"},
                                   {Role::kDown, place->set + ".down_proj"}}) {
    const TensorInfo* const stack = checkpoint.find(name);
    const auto [n, k] = sides_of(role);
    if (stack == nullptr || stack->shape.size() != 3 || n == k) continue;
    layer.transposed = stack->shape[1] == k && stack->shape[2] == n;
    break;
  }
  return layer;
}

}  // namespace heddle

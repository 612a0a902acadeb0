#include "checkpoint/plan/layer_activations.h"

#include <fmt/format.h>

#include <cstdint>

#include "checkpoint/plan/input_scale.h"
#include "checkpoint/plan/read_group.h"
#include "generator/model/byte_activations.h"
#include "generator/spec/document.h"

namespace heddle {

// What the config says of the layer's activations; null where they have 16 bits.
const ActivationScheme* LayerActivations::scheme_of(const LayerName& layer) const {
  // The scheme of embeddings says nothing of what a head that shares them takes.
  if (layer.is_plain() || !layer.shared_module.empty()) return nullptr;
  const Scheme* const scheme = config_.quantization.scheme_of(layer.name);
  return scheme != nullptr && scheme->activation ? &*scheme->activation : nullptr;
}

std::string LayerActivations::why_apart(const LayerGroup& group) const {
  const ActivationScheme* const first = scheme_of(group.parts.front());
  for (const LayerName& part : group.parts) {
    const ActivationScheme* const other = scheme_of(part);
    const bool both = first != nullptr && other != nullptr;
    if (both ? *first == *other : first == other) continue;
    return fmt::format("the activations of {} and {} are quantised in other ways",
                       excerpt(group.parts.front().name), excerpt(part.name));
  }
  return {};
}

std::optional<float> LayerActivations::apply(const LayerGroup& group, const FusedLayer& layer,
                                             GemmSpec* gemm) {
  const ActivationScheme* const scheme = scheme_of(group.parts.front());
  if (scheme == nullptr) return std::nullopt;
  GemmSpec bytes = *gemm;
  const std::string why = why_not(group, *scheme, layer, &bytes);
  if (!why.empty()) {
    take_sixteen_bits(group, why);
    return std::nullopt;
  }
  *gemm = bytes;
  if (!scheme->is_static) return std::nullopt;
  return read_input_scale(checkpoint_, group);
}

void LayerActivations::take_sixteen_bits(const LayerGroup& group, const std::string& why) {
  if (scheme_of(group.parts.front()) == nullptr) return;
  const auto place = sixteen_bits_.try_emplace(why, group.name, 0).first;
  ++place->second.second;
}

std::string LayerActivations::why_not(const LayerGroup& group, const ActivationScheme& scheme,
                                      const FusedLayer& layer, GemmSpec* gemm) const {
  if (scheme.is_static && layer.matrices() != 1) {
    return "experts of one tensor have a static scale each";
  }
  std::string why = set_byte_activations(scheme, layer.blocks(), gemm->activation, gemm);
  // Blocks are cut on some ranks only, and all have to do the same with the layer.
  if (!why.empty() || scheme.granularity != RowGranularity::kGroup) return why;
  for (std::int64_t rank = 0; rank < parallel_.size; ++rank) {
    if (rank == parallel_.rank) continue;
    const FusedLayer other =
        read_group(checkpoint_, group, config_, {rank, parallel_.size}, Load::kShape);
    GemmSpec spec = other.spec();
    why = set_byte_activations(scheme, other.blocks(), spec.activation, &spec);
    if (!why.empty()) return fmt::format("rank {} cannot take 8: {}", rank, why);
  }
  return {};
}

void LayerActivations::add_notes(std::vector<std::string>* notes) const {
  for (const auto& [why, layers] : sixteen_bits_) {
    const auto& [first, count] = layers;
    const std::string which =
        count == 1 ? excerpt(first) : fmt::format("{} layers such as {}", count, excerpt(first));
    notes->push_back(fmt::format("{}: {}, because {}", which, kSixteenBitsNote, why));
  }
}

}  // namespace heddle

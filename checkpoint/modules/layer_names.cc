#include "checkpoint/modules/layer_names.h"

#include <algorithm>
#include <map>

namespace heddle {
namespace {

using Kind = LayerName::Kind;

// Queries of these come from other tokens than keys and values.
constexpr std::string_view kCrossAttention[] = {"cross_attn",   "cross_attention", "crossattention",
                                                "encoder_attn", "encdecattention", "xattn"};

// `name` without `suffix`, or nothing.
std::string stem(const std::string& name, std::string_view suffix) {
  if (name.size() <= suffix.size() || !name.ends_with(suffix)) return {};
  return name.substr(0, name.size() - suffix.size());
}

// Those of the codes, then all others. Of several spellings of the scales a layer has one.
std::vector<std::string_view> suffixes(Kind kind) {
  switch (kind) {
    case Kind::kQweight:
      return {".qweight", ".qzeros", ".scales", ".g_idx"};
    case Kind::kPacked:
      return {".weight_packed", ".weight_scale", ".weight_zero_point", ".weight_shape",
              ".weight_g_idx"};
    case Kind::kQuarkPacked:
      return {".weight", ".weight_scale", ".weight_zero_point"};
    case Kind::kBytes:
      return {".weight", ".weight_scale", ".weight_scale_inv",
              ".scale",  ".scale_inv",    ".weight_zero_point"};
    case Kind::kNamedBytes:
      return {"", "_scale_inv", "_scale", "_weight_scale_inv", "_weight_scale"};
    case Kind::kFp4:
      return {".weight", ".weight_scale", ".weight_scale_2", ".scale"};
    case Kind::kPackedFp4:
      return {".weight_packed", ".weight_scale", ".weight_global_scale"};
    case Kind::kMxfp4:
      return {".blocks", ".scales"};
    case Kind::kMxfp4Experts:
      return {"_blocks", "_scales"};
    case Kind::kPlain:
      return {".weight"};
    case Kind::kPlainExperts:
      return {""};
  }
  return {};
}

bool is_f8(TensorType type) { return type == TensorType::kF8E4M3 || type == TensorType::kF8E5M2; }

// Two codes of e2m1 to each byte: twice as many columns as the tensor has, in groups of 32.
bool is_mxfp4_in_i8(const TensorInfo& codes, const TensorInfo& scales) {
  return codes.type == TensorType::kI8 && scales.type == TensorType::kF8E8M0 &&
         !codes.shape.empty() && !scales.shape.empty() &&
         scales.shape.back() * 16 == codes.shape.back();
}

std::optional<Kind> kind_of_weight(const std::string& layer, const TensorInfo& weight,
                                   const Checkpoint& checkpoint) {
  const TensorInfo* scales = byte_scales({layer, Kind::kBytes}, checkpoint);
  if (scales == nullptr) return std::nullopt;
  const bool coded = scales->type == TensorType::kF8E4M3 || scales->type == TensorType::kF8E8M0 ||
                     scales->type == TensorType::kU8;
  if (weight.type == TensorType::kU8 && coded) return Kind::kFp4;
  if (is_mxfp4_in_i8(weight, *scales)) return Kind::kFp4;
  if (is_f8(weight.type) || weight.type == TensorType::kI8) return Kind::kBytes;
  if (weight.type == TensorType::kI32) return Kind::kQuarkPacked;
  return std::nullopt;
}

bool is_cross_attention(std::string_view prefix) {
  std::string lower(prefix);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return std::any_of(std::begin(kCrossAttention), std::end(kCrossAttention),
                     [&](std::string_view word) { return lower.find(word) != lower.npos; });
}

}  // namespace

std::string bias_of(const LayerName& layer) {
  const bool experts = layer.kind == Kind::kMxfp4Experts || layer.kind == Kind::kNamedBytes ||
                       layer.kind == Kind::kPlainExperts;
  return layer.name + (experts ? "_bias" : ".bias");
}

std::string pre_scale_of(const std::string& layer) { return layer + ".pre_quant_scale"; }

const TensorInfo* byte_scales(const LayerName& layer, const Checkpoint& checkpoint) {
  for (const std::string_view suffix : suffixes(layer.kind)) {
    if (suffix.find("scale") == suffix.npos) continue;
    const std::string name = layer.module() + std::string(suffix);
    if (const TensorInfo* found = checkpoint.find(name)) return found;
  }
  return nullptr;
}

std::optional<LayerName> layer_of_codes(const TensorInfo& tensor, const Checkpoint& checkpoint) {
  const auto has = [&](const std::string& name) { return checkpoint.find(name) != nullptr; };
  const bool u8 = tensor.type == TensorType::kU8;
  if (std::string name = stem(tensor.name, ".qweight"); !name.empty()) {
    return LayerName{std::move(name), Kind::kQweight};
  }
  if (std::string name = stem(tensor.name, ".weight_packed"); !name.empty()) {
    return LayerName{std::move(name), u8 ? Kind::kPackedFp4 : Kind::kPacked};
  }
  if (std::string name = stem(tensor.name, ".weight"); !name.empty()) {
    const std::optional<Kind> kind = kind_of_weight(name, tensor, checkpoint);
    return kind ? std::optional(LayerName{std::move(name), *kind}) : std::nullopt;
  }
  if (std::string name = stem(tensor.name, ".blocks"); u8 && has(name + ".scales")) {
    return LayerName{std::move(name), Kind::kMxfp4};
  }
  if (std::string name = stem(tensor.name, "_blocks"); u8 && has(name + "_scales")) {
    return LayerName{std::move(name), Kind::kMxfp4Experts};
  }
  LayerName named = {tensor.name, Kind::kNamedBytes};
  if (is_f8(tensor.type) && byte_scales(named, checkpoint) != nullptr) return named;
  return std::nullopt;
}

std::vector<std::string> tensors_of(const LayerName& layer, const Checkpoint& checkpoint) {
  std::vector<std::string> names;
  const TensorInfo* scales = layer.kind == Kind::kBytes || layer.kind == Kind::kNamedBytes
                                 ? byte_scales(layer, checkpoint)
                                 : nullptr;
  for (const std::string_view suffix : suffixes(layer.kind)) {
    std::string name = layer.module() + std::string(suffix);
    const bool other_scale =
        scales != nullptr && suffix.find("scale") != suffix.npos && name != scales->name;
    if (!other_scale && checkpoint.find(name) != nullptr) names.push_back(std::move(name));
  }
  return names;
}

std::vector<LayerGroup> group_layers(const std::vector<LayerName>& layers,
                                     const std::vector<Fusion>& fusions) {
  std::map<std::string, LayerName> left;
  for (const LayerName& layer : layers) left.emplace(layer.name, layer);
  std::vector<LayerGroup> groups;
  for (const LayerName& layer : layers) {
    for (const Fusion& fusion : fusions) {
      const std::string prefix = stem(layer.name, fusion.parts.front());
      // A whole path component, or the name itself.
      const bool whole =
          layer.name == fusion.parts.front() || (!prefix.empty() && prefix.back() == '.');
      if (!whole || is_cross_attention(prefix)) continue;
      LayerGroup group{prefix + fusion.name, {}};
      for (const std::string& part : fusion.parts) {
        const auto found = left.find(prefix + part);
        if (found != left.end()) group.parts.push_back(found->second);
      }
      if (group.parts.size() != fusion.parts.size()) continue;
      for (const LayerName& part : group.parts) left.erase(part.name);
      groups.push_back(std::move(group));
    }
  }
  for (auto& [name, layer] : left) groups.push_back({name, {layer}});
  std::sort(groups.begin(), groups.end(),
            [](const LayerGroup& a, const LayerGroup& b) { return a.name < b.name; });
  return groups;
}

}  // namespace heddle

#include "checkpoint/layer_names.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace heddle {
namespace {

using Kind = LayerName::Kind;

struct Fusion {
  std::string_view name;
  std::vector<std::string_view> parts;
};

const std::vector<Fusion>& fusions() {
  static const std::vector<Fusion> list = {{"qkv_proj", {"q_proj", "k_proj", "v_proj"}},
                                           {"gate_up_proj", {"gate_proj", "up_proj"}}};
  return list;
}

// `name` without `suffix`, or nothing.
std::string stem(const std::string& name, std::string_view suffix) {
  if (name.size() <= suffix.size() || !name.ends_with(suffix)) return {};
  return name.substr(0, name.size() - suffix.size());
}

std::vector<std::string_view> suffixes(Kind kind) {
  switch (kind) {
    case Kind::kQweight:
      return {".qweight", ".qzeros", ".scales", ".g_idx"};
    case Kind::kPacked:
      return {".weight_packed", ".weight_scale", ".weight_zero_point", ".weight_shape",
              ".weight_g_idx"};
    case Kind::kBytes:
      return {".weight", ".weight_scale", ".weight_scale_inv"};
    case Kind::kFp4:
      return {".weight", ".weight_scale", ".weight_scale_2"};
    case Kind::kPackedFp4:
      return {".weight_packed", ".weight_scale", ".weight_global_scale"};
    case Kind::kMxfp4:
      return {".blocks", ".scales"};
    case Kind::kMxfp4Experts:
      return {"_blocks", "_scales"};
  }
  return {};
}

bool belongs(const Checkpoint& checkpoint, const std::string& layer, Kind kind,
             const TensorInfo& tensor) {
  switch (kind) {
    case Kind::kQweight:
      return true;
    case Kind::kPacked:
      return tensor.type != TensorType::kU8;
    case Kind::kPackedFp4:
      return tensor.type == TensorType::kU8;
    case Kind::kBytes:
      return (tensor.type == TensorType::kF8E4M3 || tensor.type == TensorType::kF8E5M2 ||
              tensor.type == TensorType::kI8) &&
             (checkpoint.find(layer + ".weight_scale") != nullptr ||
              checkpoint.find(layer + ".weight_scale_inv") != nullptr);
    case Kind::kFp4:
      return tensor.type == TensorType::kU8 &&
             checkpoint.find(layer + ".weight_scale") != nullptr &&
             checkpoint.find(layer + ".weight_scale_2") != nullptr;
    case Kind::kMxfp4:
      return tensor.type == TensorType::kU8 && checkpoint.find(layer + ".scales") != nullptr;
    case Kind::kMxfp4Experts:
      return tensor.type == TensorType::kU8 && checkpoint.find(layer + "_scales") != nullptr;
  }
  return false;
}

}  // namespace

std::vector<LayerName> quantised_layers(const Checkpoint& checkpoint) {
  std::vector<LayerName> layers;
  for (const auto& [name, entry] : checkpoint.tensors()) {
    for (const Kind kind : {Kind::kQweight, Kind::kPacked, Kind::kBytes, Kind::kFp4,
                            Kind::kPackedFp4, Kind::kMxfp4, Kind::kMxfp4Experts}) {
      const std::string layer = stem(name, suffixes(kind).front());
      if (layer.empty() || !belongs(checkpoint, layer, kind, *entry.tensor)) continue;
      layers.push_back({layer, kind});
    }
  }
  std::sort(layers.begin(), layers.end(),
            [](const LayerName& a, const LayerName& b) { return a.name < b.name; });
  return layers;
}

std::set<std::string> tensors_of(const LayerName& layer, const Checkpoint& checkpoint) {
  std::set<std::string> names;
  for (const std::string_view suffix : suffixes(layer.kind)) {
    std::string name = layer.name + std::string(suffix);
    if (checkpoint.find(name) != nullptr) names.insert(std::move(name));
  }
  return names;
}

std::vector<LayerGroup> group_layers(const std::vector<LayerName>& layers, bool fuse) {
  std::map<std::string, LayerName> left;
  for (const LayerName& layer : layers) left.emplace(layer.name, layer);
  std::vector<LayerGroup> groups;
  for (const LayerName& layer : layers) {
    for (const Fusion& fusion : fusions()) {
      const std::string prefix = stem(layer.name, fusion.parts.front());
      // A whole path component, or the name itself.
      const bool whole =
          layer.name == fusion.parts.front() || (!prefix.empty() && prefix.back() == '.');
      if (!fuse || !whole) continue;
      LayerGroup group{prefix + std::string(fusion.name), {}};
      for (const std::string_view part : fusion.parts) {
        const auto found = left.find(prefix + std::string(part));
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

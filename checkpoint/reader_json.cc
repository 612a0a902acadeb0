#include "checkpoint/reader_json.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "checkpoint/files/tensor.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

ordered_json reader_tensor_json(const CheckpointTensor& tensor) {
  return {{"name", tensor.name},
          {"type", to_string(tensor.type)},
          {"shape", tensor.shape},
          {"bytes", tensor.bytes}};
}

ordered_json reader_layer_json(const CheckpointLayer& layer) {
  auto parts = ordered_json::array();
  for (const CheckpointPart& part : layer.parts) {
    parts.push_back({{"name", part.name}, {"rows", part.rows}});
  }
  ordered_json json{{"name", layer.name},
                    {"spec", ordered_json::parse(layer.spec.canonical_json())},
                    {"parts", std::move(parts)},
                    {"matrices", layer.matrices},
                    {"source_bytes", layer.source_bytes},
                    {"layout_version", layer.layout_version},
                    {"packed", reader_tensor_json(layer.packed)}};
  const std::pair<const char*, const std::optional<CheckpointTensor>&> others[] = {
      {"permutation", layer.permutation},
      {"bias", layer.bias},
      {"pre_scale", layer.pre_scale},
      {"input_scale", layer.input_scale}};
  for (const auto& [name, tensor] : others) {
    if (tensor) json[name] = reader_tensor_json(*tensor);
  }
  return json;
}

}  // namespace

std::string checkpoint_to_json(const CheckpointReader& reader) {
  auto layers = ordered_json::array();
  for (const CheckpointLayer& layer : reader.layers()) layers.push_back(reader_layer_json(layer));
  auto tensors = ordered_json::array();
  for (const CheckpointTensor& tensor : reader.tensors()) {
    tensors.push_back(reader_tensor_json(tensor));
  }
  auto unserved = ordered_json::array();
  for (const UnservedLayer& layer : reader.unserved()) {
    unserved.push_back({{"name", layer.name},
                        {"reason", layer.reason},
                        {"n", layer.n},
                        {"k", layer.k},
                        {"tensors", layer.tensors}});
  }
  auto experts = ordered_json::array();
  for (const CheckpointExperts& one : reader.experts()) {
    ordered_json entry{{"name", one.name},
                       {"spec", ordered_json::parse(one.spec.canonical_json())},
                       {"gate_up", one.gate_up},
                       {"down", one.down}};
    if (one.routed) entry["routed"] = ordered_json::parse(one.routed->canonical_json());
    experts.push_back(std::move(entry));
  }
  return ordered_json{{"layers", std::move(layers)},
                      {"experts", std::move(experts)},
                      {"tensors", std::move(tensors)},
                      {"unserved", std::move(unserved)},
                      {"notes", reader.notes()}}
      .dump();
}

}  // namespace heddle

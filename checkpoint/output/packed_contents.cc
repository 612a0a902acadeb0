#include "checkpoint/output/packed_contents.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "checkpoint/files/tensor.h"
#include "generator/spec/document.h"
#include "heddle/error.h"

namespace heddle {
namespace {

using Json = nlohmann::json;  // a file has as many layers as there are experts

constexpr std::int64_t kContentsVersion = 1;
constexpr DocumentLimits kContentsLimits = {.bytes = kMostHeaderBytes, .depth = 8};

// The members of one JSON object; every fault is an error that names the file.
class ContentsReader {
 public:
  ContentsReader(const Node& node, const std::string& file) : node_(node), file_(file) {
    if (node.kind != Node::Kind::kObject) refuse("is no object");
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorCategory::kFile, "checkpoint.packed",
                fmt::format("{}: {} of its metadata {}", file_, kContentsKey, why));
  }
  const Node& member(std::string_view key, Node::Kind kind) const {
    const Node* const found = node_.find(key);
    if (found == nullptr || found->kind != kind) {
      refuse(fmt::format("has no \"{}\" of its type", key));
    }
    return *found;
  }
  bool has(std::string_view key) const { return node_.find(key) != nullptr; }
  bool flag(std::string_view key) const { return member(key, Node::Kind::kBool).boolean; }
  std::int64_t size(std::string_view key) const { return size(member(key, Node::Kind::kInteger)); }
  std::int64_t size(const Node& node) const {
    if (node.kind != Node::Kind::kInteger || node.integer < 0) refuse("has a size that is none");
    return node.integer;
  }
  const std::string& text(std::string_view key) const {
    return member(key, Node::Kind::kString).text;
  }
  const std::string& text(const Node& node) const {
    if (node.kind != Node::Kind::kString) refuse("has a name that is no string");
    return node.text;
  }
  std::vector<std::string> texts(std::string_view key) const {
    std::vector<std::string> all;
    for (const Node& node : member(key, Node::Kind::kArray).items) all.push_back(text(node));
    return all;
  }
  ContentsReader object(const Node& node) const { return {node, file_}; }

 private:
  const Node& node_;
  const std::string& file_;
};

PackedLayerContents layer_in(const ContentsReader& reader) {
  PackedLayerContents layer;
  for (const Node& part : reader.member("parts", Node::Kind::kArray).items) {
    if (part.kind != Node::Kind::kArray || part.items.size() != 2) {
      reader.refuse("has a part of a layer that is no name with rows");
    }
    CheckpointPart read;
    read.name = reader.text(part.items[0]);
    read.rows = reader.size(part.items[1]);
    layer.parts.push_back(std::move(read));
  }
  if (layer.parts.empty()) reader.refuse("has a layer without parts");
  layer.bias = reader.text("bias");
  layer.pre_scale = reader.text("pre_scale");
  return layer;
}

}  // namespace

std::string contents_text(const PackedContents& contents) {
  auto layers = Json::object();
  for (const auto& [name, layer] : contents.layers) {
    auto parts = Json::array();
    for (const CheckpointPart& part : layer.parts) {
      parts.push_back(Json::array({part.name, part.rows}));
    }
    layers[name] = {
        {"parts", std::move(parts)}, {"bias", layer.bias}, {"pre_scale", layer.pre_scale}};
  }
  auto unserved = Json::array();
  for (const UnservedLayer& layer : contents.unserved) {
    unserved.push_back({{"name", layer.name},
                        {"reason", layer.reason},
                        {"n", layer.n},
                        {"k", layer.k},
                        {"tensors", layer.tensors}});
  }
  auto experts = Json::object();
  for (const auto& [name, one] : contents.experts) {
    experts[name] = {{"spec", one.spec}, {"gate_up", one.gate_up}, {"down", one.down}};
    if (!one.routed.empty()) experts[name]["routed"] = one.routed;
  }
  const Json document = {{"version", kContentsVersion},   {"fused", contents.fused},
                         {"gated", contents.gated},       {"dense", contents.dense},
                         {"rotates", contents.rotates},   {"layers", std::move(layers)},
                         {"experts", std::move(experts)}, {"unserved", std::move(unserved)},
                         {"copied", contents.copied},     {"kept", contents.kept}};
  return document.dump();
}

PackedContents read_contents(std::string_view text, const std::string& file) {
  Findings findings("checkpoint");
  const std::optional<Node> root = read_document(text, kContentsLimits, findings);
  if (!root || !findings.empty()) {
    const Problem problem = findings.problems().front();
    throw Error(ErrorCategory::kFile, "checkpoint.packed",
                fmt::format("{}: {} of its metadata: {}", file, kContentsKey, problem.message));
  }
  const ContentsReader reader(*root, file);
  if (const std::int64_t version = reader.size("version"); version != kContentsVersion) {
    throw Error(ErrorCategory::kUnsupported, "checkpoint.packed_version",
                fmt::format("{}: it was packed by another version of heddle repack (contents {}, "
                            "this library reads {}): pack the checkpoint again",
                            file, version, kContentsVersion));
  }
  PackedContents contents;
  contents.fused = reader.flag("fused");
  contents.gated = reader.flag("gated");
  contents.dense = reader.flag("dense");
  contents.rotates = reader.flag("rotates");
  contents.kept = static_cast<std::size_t>(reader.size("kept"));
  const Node& layers = reader.member("layers", Node::Kind::kObject);
  for (std::size_t i = 0; i < layers.items.size(); ++i) {
    contents.layers.emplace(layers.keys[i], layer_in(reader.object(layers.items[i])));
  }
  // Files of versions that packed no experts have no such member.
  if (reader.has("experts")) {
    const Node& experts = reader.member("experts", Node::Kind::kObject);
    for (std::size_t i = 0; i < experts.items.size(); ++i) {
      const ContentsReader one = reader.object(experts.items[i]);
      contents.experts.emplace(
          experts.keys[i],
          PackedExpertsContents{one.text("spec"), one.text("gate_up"), one.text("down"),
                                one.has("routed") ? one.text("routed") : ""});
    }
  }
  for (const Node& node : reader.member("unserved", Node::Kind::kArray).items) {
    const ContentsReader fields = reader.object(node);
    UnservedLayer layer;
    layer.name = fields.text("name");
    layer.reason = fields.text("reason");
    layer.n = fields.size("n");
    layer.k = fields.size("k");
    layer.tensors = fields.texts("tensors");
    contents.unserved.push_back(std::move(layer));
  }
  contents.copied = reader.texts("copied");
  return contents;
}

}  // namespace heddle

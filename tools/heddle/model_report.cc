#include "tools/heddle/model_report.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "tools/heddle/table.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

std::string_view parent_of(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return path.substr(0, dot == path.npos ? 0 : dot + 1);
}

// "self_attn.q_proj + k_proj + v_proj".
std::string modules_text(const ModelLayer& layer) {
  std::string text;
  for (const ModelPart& part : layer.parts) {
    const std::string_view parent = parent_of(part.path);
    const bool same = !text.empty() && parent == parent_of(layer.parts.front().path);
    text += (text.empty() ? "" : " + ") + (same ? part.path.substr(parent.size()) : part.path);
  }
  return text.empty() ? layer.name : text;
}

std::string shape_text(const ModelLayer& layer) {
  if (layer.n == 0 || layer.k == 0) return "-";
  const std::string side = fmt::format("{} x {}", layer.n, layer.k);
  return layer.matrices > 1 ? fmt::format("{} of {}", layer.matrices, side) : side;
}

std::string place_text(const ModelLayer& layer) {
  if (!layer.layers.empty()) {
    return layer.layers.size() == 1
               ? fmt::format("{}", layer.layers.front())
               : fmt::format("{}, {} in all", ranges_text(layer.layers), layer.layers.size());
  }
  return layer.copies > 1 ? fmt::format("{} in all", layer.copies) : "-";
}

const char* to_string(ModelLayer::Kind kind) {
  switch (kind) {
    case ModelLayer::Kind::kLinear:
      return "linear";
    case ModelLayer::Kind::kExperts:
      return "experts";
    case ModelLayer::Kind::kConvolution:
      return "convolution";
    case ModelLayer::Kind::kScan:
      return "recurrence";
    case ModelLayer::Kind::kTower:
      return "tower";
    case ModelLayer::Kind::kAttention:
      return "cache";
  }
  return "";
}

const char* to_string(NormKind norm) {
  switch (norm) {
    case NormKind::kNone:
      return "none";
    case NormKind::kRms:
      return "rms";
    case NormKind::kRmsPlusOne:
      return "rms_plus_one";
    case NormKind::kLayer:
      return "layer";
    case NormKind::kLayerPlusOne:
      return "layer_plus_one";
  }
  return "";
}

const char* to_string(NormPlace place) {
  switch (place) {
    case NormPlace::kBefore:
      return "before";
    case NormPlace::kAfter:
      return "after";
    case NormPlace::kAround:
      return "around";
    case NormPlace::kParallel:
      return "parallel";
  }
  return "";
}

const char* to_string(QkNorm norm) {
  switch (norm) {
    case QkNorm::kNone:
      return "none";
    case QkNorm::kHead:
      return "head";
    case QkNorm::kEachHead:
      return "each_head";
    case QkNorm::kAll:
      return "all";
    case QkNorm::kUnit:
      return "unit";
  }
  return "";
}

const char* to_string(MixerKind kind) {
  switch (kind) {
    case MixerKind::kNone:
      return "none";
    case MixerKind::kAttention:
      return "attention";
    case MixerKind::kLatentAttention:
      return "latent_attention";
    case MixerKind::kLinearAttention:
      return "linear_attention";
    case MixerKind::kMamba:
      return "mamba";
    case MixerKind::kConvolution:
      return "convolution";
  }
  return "";
}

const char* to_string(FeedForwardKind kind) {
  switch (kind) {
    case FeedForwardKind::kNone:
      return "none";
    case FeedForwardKind::kDense:
      return "dense";
    case FeedForwardKind::kExperts:
      return "experts";
  }
  return "";
}

ordered_json rope_json(const ModelRope& rope) {
  if (rope.pairing == RopePairing::kNone) return nullptr;
  ordered_json json = {{"pairing", heddle::to_string(rope.pairing)}, {"dim", rope.dim}};
  if (rope.base != 0) json["base"] = rope.base;
  if (!rope.scaling.empty()) json["scaling"] = rope.scaling;
  return json;
}

ordered_json attention_json(const ModelAttention& attention, MixerKind kind) {
  ordered_json json = {
      {"heads", attention.heads},         {"kv_heads", attention.kv_heads},
      {"head_dim", attention.head_dim},   {"value_dim", attention.value_dim},
      {"scale_dim", attention.scale_dim}, {"softcap", attention.softcap},
      {"window", attention.window},       {"chunk", attention.chunk},
      {"sinks", attention.sinks},         {"alibi", attention.alibi},
      {"gate", attention.gate},           {"qk_norm", to_string(attention.qk_norm)},
      {"rope", rope_json(attention.rope)}};
  if (kind == MixerKind::kLatentAttention) {
    json["q_rank"] = attention.q_rank;
    json["kv_rank"] = attention.kv_rank;
    json["rope_dim"] = attention.rope_dim;
  }
  if (attention.index_tokens != 0) {
    json["index_heads"] = attention.index_heads;
    json["index_tokens"] = attention.index_tokens;
  }
  return json;
}

ordered_json experts_json(const ModelExperts& experts) {
  return {{"count", experts.count},
          {"per_token", experts.per_token},
          {"inner", experts.inner},
          {"latent", experts.latent},
          {"shared", experts.shared},
          {"shared_gate", experts.shared_gate},
          {"scoring", experts.scoring},
          {"groups", experts.groups},
          {"groups_per_token", experts.groups_per_token},
          {"normalised", experts.normalised},
          {"scale", experts.scale},
          {"bias", experts.bias},
          {"hashed", experts.hashed}};
}

ordered_json facts_json(const Model& model) {
  ordered_json json = {{"model_type", model.model_type}};
  if (model.blocks.empty()) return json;
  json["hidden"] = model.hidden;
  json["vocabulary"] = model.vocabulary;
  json["norm"] = {{"kind", to_string(model.norm)},
                  {"place", to_string(model.norm_place)},
                  {"epsilon", model.norm_epsilon}};
  json["activation"] = model.activation;
  json["tied_embeddings"] = model.tied_embeddings;
  json["logit_softcap"] = model.logit_softcap;
  for (const auto& [name, factor] : model.multipliers) json["multipliers"][name] = factor;
  for (const ModelBlock& block : model.blocks) {
    ordered_json entry = {{"layers", block.layers},
                          {"mixer", to_string(block.mixer)},
                          {"mixer_name", block.mixer_name},
                          {"feed_forward", to_string(block.feed_forward)}};
    if (block.mixer == MixerKind::kAttention || block.mixer == MixerKind::kLatentAttention) {
      entry["attention"] = attention_json(block.attention, block.mixer);
    }
    if (block.feed_forward == FeedForwardKind::kExperts) {
      entry["experts"] = experts_json(block.experts);
    }
    json["blocks"].push_back(std::move(entry));
  }
  return json;
}

ordered_json layer_json(const ModelLayer& layer, const Model& model) {
  auto parts = ordered_json::array();
  for (const ModelPart& part : layer.parts) {
    parts.push_back({{"module", part.path}, {"n", part.n}});
  }
  ordered_json json = {{"name", layer.name},
                       {"kind", to_string(layer.kind)},
                       {"parts", std::move(parts)},
                       {"n", layer.n},
                       {"k", layer.k},
                       {"matrices", layer.matrices},
                       {"bias", layer.bias},
                       {"layers", layer.layers},
                       {"count", layer.count()},
                       {"weights", layer.weights}};
  if (layer.kernel < 0) {
    json["kernel"] = nullptr;
    json["reason"] = layer.reason;
  } else {
    json["kernel"] = model.kernels[static_cast<std::size_t>(layer.kernel)].spec.name();
  }
  return json;
}

}  // namespace

ServedCount served_count(const Model& model) {
  ServedCount count;
  for (const ModelLayer& layer : model.layers) {
    count.total += layer.count();
    if (layer.kernel >= 0) count.served += layer.count();
  }
  return count;
}

std::string ranges_text(const std::vector<int>& indices) {
  constexpr int kMostRuns = 3;
  std::string text;
  int runs = 0;
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t end = i + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
    if (++runs > kMostRuns) return text + " ...";
    const std::string run = end - i == 1 ? fmt::format("{}", indices[i])
                                         : fmt::format("{}-{}", indices[i], indices[end - 1]);
    text += (text.empty() ? "" : ", ") + run;
    i = end;
  }
  return text;
}

std::string layers_text(const Model& model) {
  if (model.layers.empty()) return {};
  Table table({{"LAYER"}, {"SHAPE"}, {"IN"}, {"WEIGHTS"}, {"SERVED BY"}});
  // A reason that many layers have is told once, below the table.
  std::vector<std::string> reasons;
  for (const ModelLayer& layer : model.layers) {
    std::string served;
    if (layer.kernel >= 0) {
      served = model.kernels[static_cast<std::size_t>(layer.kernel)].spec.name();
    } else {
      std::size_t at = 0;
      while (at < reasons.size() && reasons[at] != layer.reason) ++at;
      if (at == reasons.size()) reasons.push_back(layer.reason);
      served = fmt::format("none ({})", at + 1);
    }
    table.add_row({modules_text(layer), shape_text(layer), place_text(layer),
                   layer.weights.empty() ? "-" : layer.weights, std::move(served)});
  }
  std::string text = table.text();
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    text += fmt::format("({}) {}\n", i + 1, reasons[i]);
  }
  return text + "\n";
}

std::string served_text(const Model& model) {
  if (model.layers.empty()) return {};
  const ServedCount count = served_count(model);
  return fmt::format("{} of {} layers served\n", count.served, count.total);
}

void add_model_json(const Model& model, ordered_json* json) {
  auto layers = ordered_json::array();
  for (const ModelLayer& layer : model.layers) layers.push_back(layer_json(layer, model));
  const ServedCount count = served_count(model);
  (*json)["layers"] = std::move(layers);
  (*json)["served"] = count.served;
  (*json)["total"] = count.total;
  (*json)["model"] = facts_json(model);
}

}  // namespace heddle

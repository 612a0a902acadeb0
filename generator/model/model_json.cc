#include "generator/model/model_json.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "generator/model/model_block.h"

namespace heddle {
namespace {

using nlohmann::ordered_json;

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
    case MixerKind::kCrossAttention:
      return "cross_attention";
    case MixerKind::kLatentAttention:
      return "latent_attention";
    case MixerKind::kLinearAttention:
      return "linear_attention";
    case MixerKind::kMamba:
      return "mamba";
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
  ordered_json json = {
      {"pairing", heddle::to_string(rope.pairing)}, {"dim", rope.dim}, {"base", rope.base}};
  if (!rope.scaling.empty()) json["scaling"] = rope.scaling;
  for (const auto& [name, value] : rope.parameters) json["parameters"][name] = value;
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
  if (attention.alibi) {
    json["alibi_power"] = attention.alibi_power;
    json["alibi_factor"] = attention.alibi_factor;
  }
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

}  // namespace

ordered_json facts_json(const Model& model) {
  ordered_json json = {{"model_type", model.model_type}};
  if (blocks_of(model).empty()) return json;
  json["hidden"] = model.hidden;
  json["vocabulary"] = model.vocabulary;
  json["norm"] = {{"kind", to_string(model.norm)},
                  {"place", to_string(model.norm_place)},
                  {"epsilon", model.norm_epsilon}};
  json["activation"] = model.activation;
  json["tied_embeddings"] = model.tied_embeddings;
  json["logit_softcap"] = model.logit_softcap;
  for (const auto& [name, factor] : model.multipliers) json["multipliers"][name] = factor;
  if (!model.remarks.empty()) json["remarks"] = model.remarks;
  for (const ModelBlock& block : blocks_of(model)) {
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

ordered_json families_json() {
  auto list = ordered_json::array();
  for (const ModelFamily& family : known_families()) {
    list.push_back({{"name", family.name},
                    {"model_types", family.model_types},
                    {"served", family.served},
                    {"listed", family.listed}});
  }
  return {{"families", std::move(list)}};
}

std::string spec_line(const Spec& spec) {
  auto json = ordered_json::parse(spec.canonical_json());
  if (!spec.name().empty()) json["name"] = spec.name();
  return json.dump();
}

std::string model_facts(const Model& model) { return facts_json(model).dump(); }

std::string_view to_string(ModelLayer::Kind kind) noexcept {
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

}  // namespace heddle

#include "generator/model/families.h"

#include "generator/spec/near_miss.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::int64_t kMostHidden = 1 << 20;
constexpr std::int64_t kMostHeads = 1 << 16;
constexpr std::int64_t kMostLayers = 1 << 16;

enum class QkvBias { kNever, kAlways, kConfigured };  // kConfigured: "attention_bias"

// Decoders with gated feed-forward layers and grouped-query attention.
struct Decoder {
  std::string_view model_type;
  std::int64_t head_dim = 0;  // where the config has none; 0: hidden_size / heads
  QkvBias qkv_bias = QkvBias::kNever;
  bool mlp_bias = false;       // "mlp_bias" may turn it on
  bool kv_heads_given = true;  // false: where absent, as many as query heads
  bool stored_fused = false;   // the checkpoint has qkv_proj and gate_up_proj
};

constexpr Decoder kDecoders[] = {
    {"llama", 0, QkvBias::kConfigured, true, false, false},
    {"mistral", 0, QkvBias::kNever, false, true, false},
    {"qwen2", 0, QkvBias::kAlways, false, true, false},
    {"qwen3", 128, QkvBias::kConfigured, false, true, false},
    {"gemma", 256, QkvBias::kConfigured, false, true, false},
    {"gemma2", 256, QkvBias::kConfigured, false, true, false},
    {"phi3", 0, QkvBias::kNever, false, false, true},
};
constexpr std::string_view kBloom = "bloom";

// Fallbacks of bad values must not lead to more findings.
bool good_so_far(const ConfigReader& config) { return config.findings().empty(); }

std::int64_t head_dim_of(const ConfigReader& config, const Decoder& decoder, std::int64_t hidden,
                         std::int64_t heads) {
  if (config.has("head_dim")) return config.required_size("head_dim", kMostHidden);
  if (decoder.head_dim != 0) return decoder.head_dim;
  if (good_so_far(config) && hidden % heads != 0) {
    config.add("out_of_range", "num_attention_heads", "does not divide hidden_size",
               "a divisor of " + std::to_string(hidden));
  }
  return hidden / heads;
}

Heads decoder_heads(const ConfigReader& config, const Decoder& decoder) {
  const std::int64_t hidden = config.required_size("hidden_size", kMostHidden);
  const std::int64_t layers = config.required_size("num_hidden_layers", kMostLayers);
  const std::int64_t heads = config.required_size("num_attention_heads", kMostHeads);
  const std::int64_t kv_heads = decoder.kv_heads_given
                                    ? config.required_size("num_key_value_heads", kMostHeads)
                                    : config.size_or("num_key_value_heads", heads, kMostHeads);
  if (good_so_far(config) && heads % kv_heads != 0) {
    config.add("out_of_range", "num_key_value_heads", "does not divide num_attention_heads",
               "a divisor of " + std::to_string(heads));
  }
  return {heads, kv_heads, head_dim_of(config, decoder, hidden, heads), layers, hidden};
}

Linears decoder_linears(const ConfigReader& config, const Decoder& decoder) {
  const auto [heads, kv_heads, head_dim, layers, hidden] = decoder_heads(config, decoder);
  const std::int64_t inner = config.required_size("intermediate_size", kMostHidden);
  const bool configured =
      decoder.qkv_bias == QkvBias::kConfigured && config.bool_or("attention_bias", false);
  const bool qkv_bias = configured || decoder.qkv_bias == QkvBias::kAlways;
  const bool mlp_bias = decoder.mlp_bias && config.bool_or("mlp_bias", false);
  const std::int64_t q = heads * head_dim;
  const std::int64_t kv = kv_heads * head_dim;
  using Parts = std::vector<Linear::Part>;
  const Parts qkv =
      decoder.stored_fused
          ? Parts{{"self_attn.qkv_proj", q + 2 * kv}}
          : Parts{{"self_attn.q_proj", q}, {"self_attn.k_proj", kv}, {"self_attn.v_proj", kv}};
  const Parts gate_up = decoder.stored_fused
                            ? Parts{{"mlp.gate_up_proj", 2 * inner}}
                            : Parts{{"mlp.gate_proj", inner}, {"mlp.up_proj", inner}};
  return {"model.layers",
          layers,
          {
              {"qkv_proj", qkv, hidden, qkv_bias},
              {"o_proj", {{"self_attn.o_proj", hidden}}, q, configured},
              {"gate_up_proj", gate_up, hidden, mlp_bias},
              {"down_proj", {{"mlp.down_proj", hidden}}, inner, mlp_bias},
          }};
}

Heads bloom_heads(const ConfigReader& config) {
  const std::int64_t hidden =
      config.required_size(config.spelling({"hidden_size", "n_embed"}), kMostHidden);
  const std::int64_t layers =
      config.required_size(config.spelling({"n_layer", "num_hidden_layers"}), kMostLayers);
  const std::string_view heads_key = config.spelling({"n_head", "num_attention_heads"});
  const std::int64_t heads = config.required_size(heads_key, kMostHeads);
  if (good_so_far(config) && hidden % heads != 0) {
    config.add("out_of_range", heads_key, "does not divide hidden_size",
               "a divisor of " + std::to_string(hidden));
  }
  return {heads, heads, hidden / heads, layers, hidden};
}

Linears bloom_linears(const ConfigReader& config) {
  const Heads sizes = bloom_heads(config);
  const std::int64_t hidden = sizes.hidden;
  return {"transformer.h",
          sizes.layers,
          {
              {"query_key_value", {{"self_attention.query_key_value", 3 * hidden}}, hidden, true},
              {"dense", {{"self_attention.dense", hidden}}, hidden, true},
              {"dense_h_to_4h", {{"mlp.dense_h_to_4h", 4 * hidden}}, hidden, true},
              {"dense_4h_to_h", {{"mlp.dense_4h_to_h", hidden}}, 4 * hidden, true},
          }};
}

void refuse_experts(const ConfigReader& config) {
  for (const std::string_view key : {"num_local_experts", "num_experts", "n_routed_experts"}) {
    if (!config.has(key)) continue;
    throw Error(
        ErrorCategory::kUnsupported, "model.type",
        std::vector<Problem>{{config.pointer(key),
                              "the model is a mixture of experts, which needs grouped "
                              "kernels that Heddle does not have; heddle build FOLDER makes the "
                              "kernels of each expert alone",
                              "", "", ""}});
  }
}

[[noreturn]] void refuse_type(std::string_view model_type, const ConfigReader& config) {
  std::vector<std::string_view> known;
  for (const Decoder& decoder : kDecoders) known.push_back(decoder.model_type);
  known.push_back(kBloom);
  std::string allowed;
  for (const std::string_view type : known) {
    allowed += (allowed.empty() ? "" : ", ") + std::string(type);
  }
  throw Error(ErrorCategory::kUnsupported, "model.type",
              std::vector<Problem>{{config.pointer("model_type"),
                                    "the linear layers of this model type are not known to Heddle",
                                    '"' + excerpt(model_type) + '"', std::move(allowed),
                                    did_you_mean(near_miss(model_type, known))}});
}

}  // namespace

std::string leaf_of(std::string_view path) { return std::string(path.substr(path.rfind('.') + 1)); }

std::int64_t Linear::n() const {
  std::int64_t rows = 0;
  for (const Part& part : parts) rows += part.n;
  return rows;
}

std::string Linear::covers() const {
  std::string names;
  for (const Part& part : parts) names += (names.empty() ? "" : " + ") + leaf_of(part.path);
  return names;
}

Heads heads_of(std::string_view model_type, const ConfigReader& config) {
  if (model_type == kBloom) return bloom_heads(config);
  for (const Decoder& decoder : kDecoders) {
    if (decoder.model_type == model_type) return decoder_heads(config, decoder);
  }
  refuse_type(model_type, config);
}

Linears linears_of(std::string_view model_type, const ConfigReader& config) {
  refuse_experts(config);
  if (model_type == kBloom) return bloom_linears(config);
  for (const Decoder& decoder : kDecoders) {
    if (decoder.model_type == model_type) return decoder_linears(config, decoder);
  }
  refuse_type(model_type, config);
}

}  // namespace heddle

// The operations on a model's key-value cache.
#include <algorithm>
#include <cmath>
#include <utility>

#include "generator/model/config_reader.h"
#include "generator/model/dtype.h"
#include "generator/model/families.h"
#include "heddle/error.h"
#include "heddle/model.h"

namespace heddle {
namespace {

constexpr DocumentLimits kLimits{.bytes = std::size_t{4} << 20, .depth = 64};
constexpr std::int64_t kLongest = std::int64_t{1} << 30;
constexpr double kUsualBase = 10000;

// Layers whose queries see as far: all, or those with and without a sliding window.
struct Window {
  std::int64_t tokens = 0;
  std::int64_t layers = 0;
};

std::vector<Window> windows_of(const std::string& type, const ConfigReader& config,
                               std::int64_t layers) {
  const std::int64_t window = config.size_or("sliding_window", 0, kLongest);
  if (window == 0 || type == "bloom" || type == "llama" || type == "gemma") return {{0, layers}};
  if (type == "gemma2") return {{window, layers - layers / 2}, {0, layers / 2}};  // in turn
  if (type != "qwen2" && type != "qwen3") return {{window, layers}};
  if (!config.bool_or("use_sliding_window", false)) return {{0, layers}};
  const std::int64_t full = std::min(layers, config.size_or("max_window_layers", layers, kLongest));
  if (full == layers) return {{0, layers}};
  return {{0, full}, {window, layers - full}};
}

// "0.5", "1": a part of head_dim, in whole runs of 16.
RopeSpec rope_of(const std::string& type, const ConfigReader& config, std::int64_t head_dim,
                 std::vector<std::string>& notes) {
  RopeSpec rope;
  if (type == "bloom") return rope;
  rope.pairing = RopePairing::kNeox;
  double part = config.number_or("partial_rotary_factor", 1);
  const Node* parameters = config.object("rope_parameters");
  const Node* scaling = config.object("rope_scaling");
  double base = config.number_or("rope_theta", kUsualBase);
  bool scaled = scaling != nullptr;
  if (parameters != nullptr) {
    const ConfigReader inner(*parameters, "/rope_parameters", config.findings());
    base = inner.number_or("rope_theta", base);
    part = inner.number_or("partial_rotary_factor", part);
    scaled = scaled || inner.string_or("rope_type", "default") != "default";
  }
  if (part > 0 && part < 1) rope.dim = static_cast<int>(static_cast<double>(head_dim) * part);
  if (!scaled && base == std::floor(base) && base >= 2 && base < 0x1p40) {
    rope.base = static_cast<std::int64_t>(base);
    return rope;
  }
  rope.source = RopeSource::kTable;
  notes.emplace_back(
      "the model scales its rotary embeddings: kv_append takes the cosines and sines as a table");
  return rope;
}

// A number that the spec has as an integer.
std::int64_t whole_number(const ConfigReader& config, std::string_view key, std::int64_t fallback) {
  const double value = config.number_or(key, static_cast<double>(fallback));
  if (value == std::floor(value) && value >= 0 && value <= static_cast<double>(kLongest)) {
    return static_cast<std::int64_t>(value);
  }
  config.add("out_of_range", key, "no kernel takes a fraction here",
             "integers up to " + std::to_string(kLongest));
  return fallback;
}

// The block of another spec, as Spec::parse() reads it there.
KvSpec read_kv(const Heads& heads, DType dtype, std::string_view kv) {
  std::string json = R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":)";
  json += std::to_string(heads.kv_heads) + R"(,"head_dim":)" + std::to_string(heads.head_dim);
  json += R"(},"activation":{"dtype":")" + std::string(to_string(dtype)) + R"("},"kv":)";
  json += std::string(kv) + '}';
  return Spec::parse(json).kv();
}

Model read_model(const Node& root, std::string_view kv, Findings& findings) {
  const ConfigReader config(root, "", findings);
  Model model;
  model.model_type = config.required_string("model_type");
  findings.throw_if_any();
  const DType dtype = read_dtype(config);
  const Heads heads = heads_of(model.model_type, config);
  const std::vector<Window> windows = windows_of(model.model_type, config, heads.layers);
  KvAppendSpec append;
  append.rope = rope_of(model.model_type, config, heads.head_dim, model.notes);
  DecodeAttentionSpec attention;
  attention.softcap = whole_number(config, "attn_logit_softcapping", 0);
  attention.scale_dim = whole_number(config, "query_pre_attn_scalar", 0);
  findings.throw_if_any();

  append.shape = {static_cast<int>(heads.kv_heads), static_cast<int>(heads.head_dim)};
  append.activation = dtype;
  append.kv = read_kv(heads, dtype, kv);
  model.kernels.push_back({Spec::from_kv_append(append, "kv_append"),
                           static_cast<int>(heads.layers), "k_cache + v_cache"});
  attention.shape = {static_cast<int>(heads.heads), append.shape.kv_heads, append.shape.head_dim};
  attention.activation = dtype;
  attention.kv = append.kv;
  if (model.model_type == "bloom") attention.alibi = Alibi::kStandard;
  for (const Window& window : windows) {
    if (window.layers == 0) continue;
    attention.window = window.tokens;
    const bool several = windows.size() > 1 && window.tokens != 0;
    model.kernels.push_back(
        {Spec::from_decode_attention(attention,
                                     several ? "decode_attention_window" : "decode_attention"),
         static_cast<int>(window.layers), "attention"});
  }
  return model;
}

}  // namespace

Model cache_model_from_config(std::string_view json, std::string_view kv) {
  Findings findings("model");
  const std::optional<Node> root = read_document(json, kLimits, findings);
  if (root && root->kind != Node::Kind::kObject) {
    findings.add("wrong_type", {"", "the document must be an object", excerpt(*root), "", ""});
  }
  findings.throw_if_any();
  return read_model(*root, kv, findings);
}

}  // namespace heddle

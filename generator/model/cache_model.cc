// The operations on a model's key-value cache.
#include <algorithm>
#include <cmath>
#include <utility>

#include "generator/model/config_documents.h"
#include "generator/model/config_reader.h"
#include "generator/model/dtype.h"
#include "generator/model/families.h"
#include "heddle/error.h"
#include "heddle/model.h"

namespace heddle {
namespace {

constexpr std::int64_t kLongest = std::int64_t{1} << 30;
constexpr double kUsualBase = 10000;
constexpr std::int64_t kLargestBase = std::int64_t{1} << 40;  // as in a spec

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

// partial_rotary_factor: the part of each head that is turned, its first elements. Models whose
// rotation takes a part at all give one in (0, 1]; a 0 would turn nothing in some of them and fail
// in others, and in a spec it stands for the whole head: it is refused.
void read_part(const ConfigReader& config, double* part) {
  constexpr std::string_view kKey = "partial_rotary_factor";
  if (!config.has(kKey)) return;
  const double value = config.number_or(kKey, *part);
  if (value > 0 && value <= 1) {
    *part = value;
    return;
  }
  config.add("out_of_range", kKey, "the part of a head that is turned is none of it or beyond it",
             "more than 0, up to 1");
}

// The base of the frequencies. Sets `given` where the object has one.
void read_base(const ConfigReader& config, double* base, bool* given) {
  constexpr std::string_view kKey = "rope_theta";
  if (!config.has(kKey)) return;
  *given = true;
  const double value = config.number_or(kKey, *base);
  if (value >= 1 && value <= static_cast<double>(kLargestBase)) {
    *base = value;
    return;
  }
  config.add("out_of_range", kKey, "no rotation has this base",
             "1 to " + std::to_string(kLargestBase));
}

// The elements of a head that are turned; 0: all of them.
int rope_dim(const ConfigReader& config, std::int64_t head_dim, double part) {
  if (part >= 1) return 0;
  const int dim = static_cast<int>(static_cast<double>(head_dim) * part);
  if (dim == 0) {
    config.add("out_of_range", "partial_rotary_factor",
               "of " + std::to_string(head_dim) + " elements of a head none is turned",
               "16 elements or more");
  }
  return dim;
}

// Whether the model turns by something else than position / base^(2i / dim).
bool is_scaled(const ConfigReader& config) {
  const Node* const parameters = config.object("rope_parameters");
  if (config.object("rope_scaling") != nullptr) return true;
  if (parameters == nullptr) return false;
  const ConfigReader inner(*parameters, config.pointer("rope_parameters"), config.findings());
  return inner.string_or("rope_type", "default") != "default";
}

RopeSpec rope_of(const std::string& type, const ConfigReader& config, std::int64_t head_dim,
                 std::vector<std::string>& notes, std::vector<std::string>& assumptions) {
  RopeSpec rope;
  if (type == "bloom") return rope;
  rope.pairing = RopePairing::kNeox;
  double part = 1;
  double base = kUsualBase;
  bool has_base = false;
  read_part(config, &part);
  read_base(config, &base, &has_base);
  if (const Node* const parameters = config.object("rope_parameters")) {
    const ConfigReader inner(*parameters, config.pointer("rope_parameters"), config.findings());
    read_part(inner, &part);
    read_base(inner, &base, &has_base);
  }
  rope.dim = rope_dim(config, head_dim, part);
  if (is_scaled(config)) {
    rope.source = RopeSource::kTable;
    notes.emplace_back(
        "the model scales its rotary embeddings: kv_append takes the cosines and sines as a table");
    return rope;
  }
  if (base != std::floor(base) || base < 2) {
    rope.source = RopeSource::kTable;
    notes.emplace_back(
        "rope_theta is no integer from 2 on: kv_append takes the cosines and sines as a table");
    return rope;
  }
  rope.base = static_cast<std::int64_t>(base);
  if (!has_base) {
    assumptions.push_back("the base of rotations is " + std::to_string(rope.base) +
                          ", since the config has no rope_theta");
  }
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

Model read_model(const ConfigDocuments& documents, std::string_view kv, Findings& findings) {
  const ConfigReader config = documents.language();
  Model model;
  model.model_type = documents.model_type();
  if (model.model_type.empty()) config.required_string("model_type");
  findings.throw_if_any();
  const bool own_dtype = config.has(config.spelling({"torch_dtype", "dtype"}));
  const DType dtype = read_dtype(own_dtype ? config : documents.config());
  const Heads heads = heads_of(model.model_type, config);
  const std::vector<Window> windows = windows_of(model.model_type, config, heads.layers);
  KvAppendSpec append;
  append.rope = rope_of(model.model_type, config, heads.head_dim, model.notes, model.assumptions);
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
  ModelConfigTexts texts;
  texts.config = json;
  return read_model(ConfigDocuments(texts, findings), kv, findings);
}

}  // namespace heddle

// The operations on a model's key-value cache, for each kind of attention that its layers have.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "generator/model/cache_heads.h"
#include "generator/model/config_documents.h"
#include "generator/model/decoder.h"
#include "generator/model/impossible_cache.h"
#include "generator/model/model_block.h"
#include "generator/spec/document.h"
#include "generator/spec/findings.h"
#include "heddle/error.h"
#include "heddle/model.h"

namespace heddle {
namespace {

constexpr std::int64_t kLargestWhole = std::int64_t{1} << 30;

// The block of another spec, as Spec::parse() reads it there.
KvSpec read_kv(const KvShape& shape, DType dtype, std::string_view kv) {
  Findings findings("spec");
  if (!read_document(kv, {}, findings)) {
    throw Error(ErrorCategory::kSpec, "spec.syntax",
                {{"/kv", "is not JSON; kv_block_from_words() makes it of words such as int8:head",
                  '"' + excerpt(kv) + '"', "", ""}});
  }
  std::string json = R"({"heddle":1,"op":"kv_append","shape":{"kv_heads":)";
  json += std::to_string(shape.kv_heads) + R"(,"head_dim":)" + std::to_string(shape.head_dim);
  json += R"(},"activation":{"dtype":")" + std::string(to_string(dtype)) + R"("},"kv":)";
  json += std::string(kv) + '}';
  return Spec::parse(json).kv();
}

// Whether the error is of the kv block, which the user wrote, not the model.
bool is_of_cache(const Error& error) {
  return std::any_of(error.problems().begin(), error.problems().end(), is_of_kv_block);
}

// Why there is no kernel for attention whose spec was refused.
std::string why_refused(const ModelAttention& attention, const Error& error) {
  std::string reason = "no kernel of Heddle takes " + std::to_string(attention.heads) + " heads, " +
                       std::to_string(attention.kv_heads) + " of keys and values, of " +
                       std::to_string(attention.head_dim) + " elements";
  if (attention.rope.pairing != RopePairing::kNone) {
    reason += " of which " + std::to_string(attention.rope.dim) + " are rotated";
  }
  for (const Problem& problem : error.problems()) {
    reason += "; " + problem.pointer + " of its spec " + problem.message;
    if (!problem.allowed.empty()) reason += ", allowed: " + problem.allowed;
  }
  return reason;
}

// Decoder layers whose attention is the same operation.
struct AttentionKind {
  ModelAttention attention;
  MixerKind mixer = MixerKind::kAttention;
  std::string name;  // of the mixer
  std::vector<int> layers;
  HeadNorm norm;
};

// Collects specs, one for layers that need the same.
class CacheBuilder {
 public:
  CacheBuilder(DType dtype, std::string_view kv, Model* model)
      : dtype_(dtype), kv_(kv), model_(*model) {}

  void add(const AttentionKind& kind) {
    const std::string reason = why_unserved(kind);
    if (!reason.empty()) return add_unserved(kind, reason);
    const std::vector<std::string> notes = model_.notes;
    try {
      add_kernels(kind);
    } catch (const Error& error) {
      if (error.category() != ErrorCategory::kSpec || is_of_cache(error)) throw;
      model_.notes = notes;  // those of kernels that are not made
      add_unserved(kind, why_refused(kind.attention, error));
    }
  }

  // Both kernels, or none where a spec refuses what the model or `kv` asks for.
  void add_kernels(const AttentionKind& kind) {
    KvAppendSpec append;
    append.shape = {static_cast<int>(kind.attention.kv_heads),
                    static_cast<int>(kind.attention.head_dim)};
    append.activation = dtype_;
    append.kv = read_kv(append.shape, dtype_, kv_);
    append.rope = rope_of(kind.attention);
    append.query.heads = static_cast<int>(kind.attention.heads);
    append.norm = kind.norm;
    if (kind.attention.qk_norm != QkNorm::kNone && !kind.norm.epsilon) {
      note("kv_append takes queries and keys that the engine has normalised");
    }
    Spec append_spec = Spec::from_kv_append(append, "kv_append");

    DecodeAttentionSpec attention;
    attention.shape = {static_cast<int>(kind.attention.heads), append.shape.kv_heads,
                       append.shape.head_dim};
    attention.activation = dtype_;
    attention.kv = append.kv;
    attention.softcap = static_cast<std::int64_t>(kind.attention.softcap);
    attention.scale_dim = static_cast<std::int64_t>(std::llround(kind.attention.scale_dim));
    attention.window = kind.attention.window;
    attention.sink_logits = kind.attention.sinks;
    if (kind.attention.alibi) attention.alibi = alibi_of(kind.attention);
    const bool windowed = kind.attention.window != 0;
    Spec attention_spec = Spec::from_decode_attention(
        attention, windowed && several_ ? "decode_attention_window" : "decode_attention");
    refuse_impossible_cache(append_spec);
    refuse_impossible_cache(attention_spec);
    add_kernel(std::move(append_spec), "k_cache + v_cache", kind);
    add_kernel(std::move(attention_spec), "attention", kind);
  }

  void add_unserved(const AttentionKind& kind, const std::string& reason) {
    const int count = static_cast<int>(kind.layers.size());
    ModelLayer layer = layer_of(kind.name, kind);
    layer.reason = reason;
    unserved_layers_.push_back(std::move(layer));
    for (ModelUnserved& known : model_.unserved) {
      if (known.name != kind.name || known.reason != reason) continue;
      known.layers += count;
      return;
    }
    model_.unserved.push_back({kind.name, reason, count});
  }

  // Appending first, and every layer with the index of its kernel.
  void finish() {
    std::vector<ModelKernel> kernels;
    for (const bool appends : {true, false}) {
      for (std::size_t i = 0; i < layers_.size(); ++i) {
        if ((model_.kernels[i].spec.get_if<KvAppendSpec>() != nullptr) != appends) continue;
        layers_[i].kernel = static_cast<int>(kernels.size());
        kernels.push_back(model_.kernels[i]);
        model_.layers.push_back(layers_[i]);
      }
    }
    model_.kernels = std::move(kernels);
    model_.layers.insert(model_.layers.end(), unserved_layers_.begin(), unserved_layers_.end());
  }

  // Whether the model has several kinds of attention, which names tell apart.
  void set_several(bool several) { several_ = several; }

  // What the row says of the attention of this config.
  void add_remarks(const Decoder& decoder) {
    for (const DecodedRemark& remark : decoder.remarks) {
      if (remark.consequence == Consequence::kAttentionNote) note(remark.text);
      if (remark.consequence == Consequence::kNoAttention) no_attention_ = remark.text;
    }
    for (const std::string& what : decoder.assumptions) assume(what);
  }

 private:
  // What no spec says; empty where one says it all.
  std::string why_unserved(const AttentionKind& kind) const {
    const ModelAttention& attention = kind.attention;
    if (!no_attention_.empty()) return no_attention_;
    if (kind.mixer == MixerKind::kCrossAttention) {
      return "attention to what an encoder made has no kernel of Heddle yet";
    }
    if (kind.mixer == MixerKind::kLatentAttention) {
      return "the cache of latent attention (" + std::to_string(attention.kv_rank) +
             " values and " + std::to_string(attention.rope_dim) +
             " of a shared key for each token) has no kernel of Heddle yet";
    }
    if (attention.index_heads > 0) {
      return "attention to the tokens that an indexer chooses has no kernel of Heddle yet";
    }
    if (attention.value_dim != attention.head_dim) {
      return "heads of " + std::to_string(attention.head_dim) + " elements with values of " +
             std::to_string(attention.value_dim) + " have no kernel of Heddle yet";
    }
    // From a multiplier of scores it has rounding errors.
    constexpr double kRounding = 1e-6;
    const double scale = attention.scale_dim;
    if (!(scale >= 0 && scale <= static_cast<double>(kLargestWhole)) ||
        std::abs(scale - std::round(scale)) > kRounding * scale) {
      return "scores are divided by the square root of " + std::to_string(scale) +
             ", and kernels take integers there";
    }
    if (attention.chunk != 0) {
      return "attention to chunks of " + std::to_string(attention.chunk) +
             " tokens has no kernel of Heddle yet; up to that length of a sequence it is full "
             "attention";
    }
    return {};
  }

  Alibi alibi_of(const ModelAttention& attention) {
    if (attention.alibi_power == 1 && attention.alibi_factor == 1) return Alibi::kStandard;
    std::string slopes = "the standard ones";
    if (attention.alibi_power != 1) slopes += " to the power of " + plain(attention.alibi_power);
    if (attention.alibi_factor != 1) slopes += " times " + plain(attention.alibi_factor);
    note("the slopes of ALiBi are " + slopes + ": decode_attention takes them as an argument");
    return Alibi::kGiven;
  }

  RopeSpec rope_of(const ModelAttention& attention) {
    RopeSpec rope;
    if (attention.rope.pairing == RopePairing::kNone) return rope;
    rope.pairing = attention.rope.pairing;
    if (attention.rope.dim != attention.head_dim) rope.dim = static_cast<int>(attention.rope.dim);
    const double base = attention.rope.base;
    std::string faults;
    const std::optional<RopeScaling> scaling = scaling_of(attention.rope, &faults);
    if (scaling) rope.scaling = *scaling;
    if (!attention.rope.scaling.empty() && !scaling) {
      rope.source = RopeSource::kTable;
      note((faults.empty() ? "the model's rotary embeddings are of several sections or scaled in "
                             "another way than linear, llama3 or yarn"
                           : "the config's scaling of rotary embeddings, " +
                                 attention.rope.scaling + ", cannot be computed: " + faults) +
           ": kv_append takes the cosines and sines as a table");
      return rope;
    }
    if (base != std::floor(base) || base < 2) {
      rope.source = RopeSource::kTable;
      rope.scaling = {};
      note("rope_theta is no integer from 2 on: kv_append takes the cosines and sines as a table");
      return rope;
    }
    rope.base = static_cast<std::int64_t>(base);
    return rope;
  }

  void add_kernel(Spec spec, const char* covers, const AttentionKind& kind) {
    const int count = static_cast<int>(kind.layers.size());
    for (ModelKernel& kernel : model_.kernels) {
      if (kernel.spec.name() != spec.name() ||
          kernel.spec.canonical_json() != spec.canonical_json()) {
        continue;
      }
      kernel.layers += count;
      std::vector<int>& layers =
          layers_[static_cast<std::size_t>(&kernel - model_.kernels.data())].layers;
      layers.insert(layers.end(), kind.layers.begin(), kind.layers.end());
      std::sort(layers.begin(), layers.end());
      return;
    }
    layers_.push_back(layer_of(spec.name(), kind));
    model_.kernels.push_back({std::move(spec), count, covers});
  }

  static ModelLayer layer_of(const std::string& name, const AttentionKind& kind) {
    ModelLayer layer;
    layer.name = name;
    layer.kind = ModelLayer::Kind::kAttention;
    layer.layers = kind.layers;
    return layer;
  }

  static void add_once(const std::string& text, std::vector<std::string>* texts) {
    if (std::find(texts->begin(), texts->end(), text) == texts->end()) texts->push_back(text);
  }
  void note(const std::string& text) { add_once(text, &model_.notes); }
  void assume(const std::string& text) { add_once(text, &model_.assumptions); }

  DType dtype_;
  std::string_view kv_;
  Model& model_;
  bool several_ = false;
  std::string no_attention_;        // why no layer has a kernel
  std::vector<ModelLayer> layers_;  // parallel to the kernels
  std::vector<ModelLayer> unserved_layers_;
};

// Numbers that the spec has as integers.
void check_whole(const ModelAttention& attention, const ConfigReader& config) {
  const auto check = [&](double value, std::string_view key) {
    if (value == std::floor(value) && value >= 0 && value <= static_cast<double>(kLargestWhole)) {
      return;
    }
    config.add("out_of_range", key, "no kernel takes a fraction here",
               "integers up to " + std::to_string(kLargestWhole));
  };
  check(attention.softcap, "attn_logit_softcapping");
  // A multiplier of scores stands in some configs instead: its square's inverse has rounding
  // errors.
  if (config.has("query_pre_attn_scalar")) check(attention.scale_dim, "query_pre_attn_scalar");
}

std::vector<AttentionKind> kinds_of(const Decoder& decoder, ConfigValues& values) {
  std::vector<AttentionKind> kinds;
  for (const DecodedBlock& block : decoder.blocks) {
    const MixerKind mixer = block.facts.mixer;
    if (mixer != MixerKind::kAttention && mixer != MixerKind::kLatentAttention &&
        mixer != MixerKind::kCrossAttention) {
      continue;
    }
    const ModelAttention& attention = block.facts.attention;
    kinds.push_back({attention, mixer, block.facts.mixer_name, block.facts.layers,
                     head_norm_of(*decoder.family, block.facts.mixer_name, attention, values)});
  }
  return kinds;
}

bool has_one_window(const std::vector<AttentionKind>& kinds) {
  return std::all_of(kinds.begin(), kinds.end(), [&](const AttentionKind& kind) {
    return kind.attention.window == kinds.front().attention.window;
  });
}

Model read_model(const ConfigDocuments& documents, std::string_view kv, Findings& findings) {
  const ConfigReader config = documents.language();
  Model model;
  model.model_type = documents.model_type();
  if (model.model_type.empty()) config.required_string("model_type");
  findings.throw_if_any();
  const std::optional<DType> dtype = documents.dtype();
  const Decoder decoder = decode(documents, findings, DecodedParts::kAttention);
  const ConfigReader root = documents.config();
  ConfigValues values(config, root, default_names(), decoder.family->names);
  const std::vector<AttentionKind> kinds = kinds_of(decoder, values);
  for (const AttentionKind& kind : kinds) check_whole(kind.attention, config);
  findings.throw_if_any();
  if (!dtype) {
    model.assumptions.emplace_back(
        "activations are BF16, since the config has neither dtype nor torch_dtype");
  }
  CacheBuilder builder(dtype.value_or(DType::kBf16), kv, &model);
  builder.set_several(!has_one_window(kinds));
  builder.add_remarks(decoder);
  for (const AttentionKind& kind : kinds) builder.add(kind);
  for (const DecodedBlock& block : decoder.blocks) {
    const bool recurrent =
        block.facts.mixer == MixerKind::kLinearAttention || block.facts.mixer == MixerKind::kMamba;
    if (!recurrent) continue;
    model.notes.push_back("layers of " + block.facts.mixer_name +
                          " keep a state of a fixed size instead of keys and values");
  }
  builder.finish();
  std::sort(model.notes.begin(), model.notes.end());
  model.notes.erase(std::unique(model.notes.begin(), model.notes.end()), model.notes.end());
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

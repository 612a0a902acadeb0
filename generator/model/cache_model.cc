// The operations on a model's key-value cache, for each kind of attention that its layers have.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "generator/model/cache_heads.h"
#include "generator/model/cache_specs.h"
#include "generator/model/config_documents.h"
#include "generator/model/decoder.h"
#include "generator/model/impossible_cache.h"
#include "generator/model/model_block.h"
#include "generator/spec/findings.h"
#include "heddle/error.h"
#include "heddle/model.h"

namespace heddle {
namespace {

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

  // Both kernels, or none where a spec refuses what the model or `kv` asks for.
  void add(const AttentionKind& kind) {
    const std::string reason =
        no_attention_.empty() ? why_no_cache_spec(kind.attention, kind.mixer) : no_attention_;
    if (!reason.empty()) return add_unserved(kind, reason);
    try {
      CacheSpecs specs = cache_specs(kind.attention, kind.norm, dtype_, kv_, several_);
      for (const std::string& text : specs.notes) note(text);
      add_kernel(std::move(specs.append), "k_cache + v_cache", kind);
      add_kernel(std::move(specs.attention), "attention", kind);
    } catch (const Error& error) {
      if (error.category() != ErrorCategory::kSpec || is_of_cache(error)) throw;
      add_unserved(kind, why_refused(kind.attention, error));
    }
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

#include "generator/model/cache_specs.h"

#include <cmath>
#include <optional>

#include "generator/model/cache_heads.h"
#include "generator/model/config_value.h"
#include "generator/model/impossible_cache.h"
#include "generator/spec/document.h"
#include "generator/spec/findings.h"
#include "heddle/error.h"

namespace heddle {
namespace {

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

Alibi alibi_of(const ModelAttention& attention, std::vector<std::string>& notes) {
  if (attention.alibi_power == 1 && attention.alibi_factor == 1) return Alibi::kStandard;
  std::string slopes = "the standard ones";
  if (attention.alibi_power != 1) slopes += " to the power of " + plain(attention.alibi_power);
  if (attention.alibi_factor != 1) slopes += " times " + plain(attention.alibi_factor);
  notes.push_back("the slopes of ALiBi are " + slopes +
                  ": decode_attention takes them as an argument");
  return Alibi::kGiven;
}

RopeSpec rope_of(const ModelAttention& attention, std::vector<std::string>& notes) {
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
    notes.push_back((faults.empty()
                         ? "the model's rotary embeddings are of several sections or scaled in "
                           "another way than linear, llama3 or yarn"
                         : "the config's scaling of rotary embeddings, " + attention.rope.scaling +
                               ", cannot be computed: " + faults) +
                    ": kv_append takes the cosines and sines as a table");
    return rope;
  }
  if (base != std::floor(base) || base < 2) {
    rope.source = RopeSource::kTable;
    rope.scaling = {};
    notes.emplace_back(
        "rope_theta is no integer from 2 on: kv_append takes the cosines and sines as a table");
    return rope;
  }
  rope.base = static_cast<std::int64_t>(base);
  return rope;
}

}  // namespace

std::string why_no_cache_spec(const ModelAttention& attention, MixerKind mixer) {
  if (mixer == MixerKind::kCrossAttention) {
    return "attention to what an encoder made has no kernel of Heddle yet";
  }
  if (mixer == MixerKind::kLatentAttention) {
    return "the cache of latent attention (" + std::to_string(attention.kv_rank) + " values and " +
           std::to_string(attention.rope_dim) +
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

CacheSpecs cache_specs(const ModelAttention& model, const HeadNorm& norm, DType dtype,
                       std::string_view kv, bool names_window) {
  CacheSpecs specs;
  KvAppendSpec append;
  append.shape = {static_cast<int>(model.kv_heads), static_cast<int>(model.head_dim)};
  append.activation = dtype;
  append.kv = read_kv(append.shape, dtype, kv);
  append.rope = rope_of(model, specs.notes);
  append.query.heads = static_cast<int>(model.heads);
  append.norm = norm;
  if (model.qk_norm != QkNorm::kNone && !norm.epsilon) {
    specs.notes.emplace_back("kv_append takes queries and keys that the engine has normalised");
  }
  specs.append = Spec::from_kv_append(append, "kv_append");

  DecodeAttentionSpec attention;
  attention.shape = {static_cast<int>(model.heads), append.shape.kv_heads, append.shape.head_dim};
  attention.activation = dtype;
  attention.kv = append.kv;
  attention.softcap = static_cast<std::int64_t>(model.softcap);
  attention.scale_dim = static_cast<std::int64_t>(std::llround(model.scale_dim));
  attention.window = model.window;
  attention.sink_logits = model.sinks;
  if (model.alibi) attention.alibi = alibi_of(model, specs.notes);
  const bool windowed = model.window != 0;
  specs.attention = Spec::from_decode_attention(
      attention, windowed && names_window ? "decode_attention_window" : "decode_attention");
  refuse_impossible_cache(specs.append);
  refuse_impossible_cache(specs.attention);
  return specs;
}

}  // namespace heddle

#include "generator/model/cache_scheme.h"

#include "generator/model/words.h"

namespace heddle {
namespace {

using Scales = CacheScheme::Scales;

// What stands for codes of these in a kv block; of integers some widths have a name.
CacheScheme scheme_of_codes(bool floats, std::int64_t bits) {
  if (floats && bits == 8) return {"FP8", "fp8_e4m3"};
  if (floats && bits == 4) return {"NVFP4", "nvfp4"};
  const std::string width = std::to_string(bits);
  if (floats) return {"FP" + width, ""};
  const bool known = bits == 8 || bits == 4 || bits == 2;
  return {"INT" + width, known ? "int" + width : ""};
}

// NVFP4 has a scale for each 16 codes. A scheme that does not say so means no other.
bool has_scales_of_nvfp4(const ConfigReader& fields) {
  constexpr std::int64_t kGroup = 16;
  const bool by_group = fields.string_or("strategy", "tensor_group") == "tensor_group";
  return by_group && (!fields.has("group_size") || fields.required_integer("group_size") == kGroup);
}

Scales scales_of(const std::string& strategy) {
  if (strategy == "tensor") return Scales::kTensor;
  if (strategy == "attn_head") return Scales::kHead;
  return strategy == "channel" ? Scales::kChannel : Scales::kOther;
}

// One scale for K and one for V of a layer, as the value of --kv: words have no zero points.
std::string given_scales(const CacheScheme& scheme) {
  if (scheme.dtype == "nvfp4") return scheme.dtype;
  if (scheme.symmetric) return scheme.dtype + ":tensor";
  return "'{\"dtype\": \"" + scheme.dtype + R"(", "granularity": "tensor", "symmetric": false}')";
}

// Heddle's own scales of each head of a token, in words for --kv.
std::string own_scales(const CacheScheme& scheme) {
  return scheme.dtype == "nvfp4" ? scheme.dtype : scheme.dtype + ":head";
}

}  // namespace

CacheScheme cache_scheme_of(const std::string& algorithm) {
  const std::string name = upper(algorithm);
  if (name == "FP8" || name == "STATIC") return scheme_of_codes(true, 8);
  if (name == "INT8") return scheme_of_codes(false, 8);
  if (name == "NVFP4") return scheme_of_codes(true, 4);
  return {name, "", Scales::kOther};
}

CacheScheme read_cache_scheme(const ConfigReader& config, std::string_view key) {
  const Node* const node = config.node(key);
  if (node->kind != Node::Kind::kObject) return cache_scheme_of(config.text(key));
  const ConfigReader fields(*node, config.pointer(key), config.findings());
  const std::int64_t bits = fields.has("num_bits") ? fields.required_integer("num_bits") : 8;
  constexpr std::int64_t kMostBits = 32;
  if (bits < 1 || bits > kMostBits) {
    fields.add("out_of_range", "num_bits", "no codes have this width",
               "1 to " + std::to_string(kMostBits));
    return {};
  }
  CacheScheme scheme = scheme_of_codes(fields.string_or("type", "float") == "float", bits);
  if (scheme.dtype == "nvfp4" && !has_scales_of_nvfp4(fields)) scheme = {"FP4", ""};
  scheme.scales = scales_of(fields.string_or("strategy", "tensor"));
  if (fields.is_true("dynamic")) scheme.scales = Scales::kRunTime;
  scheme.symmetric = fields.bool_or("symmetric", true);
  return scheme;
}

std::string note_of(const CacheScheme& scheme) {
  const std::string copied = "(its k_scale and v_scale tensors are copied)";
  const std::string codes = scheme.codes.empty() ? "a quantised" : "an " + scheme.codes;
  const std::string made = "the checkpoint is made for " + codes + " key-value cache";
  if (scheme.codes.empty()) {
    return made + ", whose type its config does not say " + copied +
           "; examples/kv_error compares those that Heddle has";
  }
  if (scheme.dtype.empty()) {
    return made + " " + copied +
           ", and Heddle has none of such codes; examples/kv_error compares those "
           "that it has";
  }
  const std::string own = "heddle build --kv " + own_scales(scheme);
  switch (scheme.scales) {
    case Scales::kTensor:
      return made + " " + copied + ": heddle build --kv " + given_scales(scheme) +
             " makes the kernels of one, where Heddle serves the attention";
    case Scales::kRunTime:
      return made + " whose scales are found at run time, as " + own +
             " does for each head of a token";
    case Scales::kHead:
    case Scales::kChannel:
    case Scales::kOther:
      break;
  }
  const std::string each = scheme.scales == Scales::kHead      ? "with one scale for each head "
                           : scheme.scales == Scales::kChannel ? "with one scale for each channel "
                                                               : "with several scales for a layer ";
  return made + " " + each + copied +
         ", and no cache of Heddle takes such scales as given: " + own +
         " finds its own for each head of a token";
}

}  // namespace heddle

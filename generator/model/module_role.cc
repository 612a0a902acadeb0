#include "generator/model/module_role.h"

#include <algorithm>
#include <set>
#include <string>

#include "generator/model/decoder.h"
#include "generator/model/family_table.h"

namespace heddle {
namespace {

constexpr std::string_view kTokenTables[] = {"embed_tokens", "wte",        "word_embeddings",
                                             "embed_in",     "embeddings", "tok_embeddings",
                                             "tokens_embed", "embed"};

// Where in a name the text stands.
enum class NamePlace {
  kLast,    // as its last components
  kEnd,     // at the end of the last component
  kStart,   // at the start of the last component
  kInside,  // at the start of any component
};

struct NameRule {
  std::string_view text;
  NamePlace place;
  ModuleRole role;
};

// The first rule that fits counts.
constexpr NameRule kRules[] = {
    {"lora_", NamePlace::kInside, ModuleRole::kAdapter},
    // compressed-tensors and FP8 name the attention's scales, Model Optimizer the projections',
    // Quark what a projection makes; the others are of NPUs' and older exporters.
    {"q_scale", NamePlace::kLast, ModuleRole::kCacheScale},
    {"k_scale", NamePlace::kLast, ModuleRole::kCacheScale},
    {"v_scale", NamePlace::kLast, ModuleRole::kCacheScale},
    {"kv_scale", NamePlace::kLast, ModuleRole::kCacheScale},
    {"prob_scale", NamePlace::kLast, ModuleRole::kCacheScale},
    {"prob_output_scale", NamePlace::kLast, ModuleRole::kCacheScale},
    {"q_zero_point", NamePlace::kLast, ModuleRole::kCacheScale},
    {"k_zero_point", NamePlace::kLast, ModuleRole::kCacheScale},
    {"v_zero_point", NamePlace::kLast, ModuleRole::kCacheScale},
    {"q_proj.output_scale", NamePlace::kLast, ModuleRole::kCacheScale},
    {"k_proj.output_scale", NamePlace::kLast, ModuleRole::kCacheScale},
    {"v_proj.output_scale", NamePlace::kLast, ModuleRole::kCacheScale},
    {"kv_proj.output_scale", NamePlace::kLast, ModuleRole::kCacheScale},
    {"qkv_proj.output_scale", NamePlace::kLast, ModuleRole::kCacheScale},
    {"q_proj.output_zero_point", NamePlace::kLast, ModuleRole::kCacheScale},
    {"k_proj.output_zero_point", NamePlace::kLast, ModuleRole::kCacheScale},
    {"v_proj.output_zero_point", NamePlace::kLast, ModuleRole::kCacheScale},
    {"k_cache.scale", NamePlace::kLast, ModuleRole::kCacheScale},
    {"v_cache.scale", NamePlace::kLast, ModuleRole::kCacheScale},
    {"kv_cache.scale", NamePlace::kLast, ModuleRole::kCacheScale},
    {"k_cache_scale", NamePlace::kEnd, ModuleRole::kCacheScale},
    {"v_cache_scale", NamePlace::kEnd, ModuleRole::kCacheScale},
    {"k_cache_offset", NamePlace::kEnd, ModuleRole::kCacheScale},
    {"v_cache_offset", NamePlace::kEnd, ModuleRole::kCacheScale},
    {"kv_cache_scaling_factor", NamePlace::kEnd, ModuleRole::kCacheScale},
    {"q_bmm_quantizer", NamePlace::kInside, ModuleRole::kCacheScale},
    {"k_bmm_quantizer", NamePlace::kInside, ModuleRole::kCacheScale},
    {"v_bmm_quantizer", NamePlace::kInside, ModuleRole::kCacheScale},
    {"p_bmm_quantizer", NamePlace::kInside, ModuleRole::kCacheScale},
    {"patch_embed", NamePlace::kLast, ModuleRole::kConvolution},
    {"patch_embed.proj", NamePlace::kLast, ModuleRole::kConvolution},
    {"patch_embedding", NamePlace::kLast, ModuleRole::kConvolution},
    {"conv", NamePlace::kLast, ModuleRole::kConvolution},
    {"conv1", NamePlace::kLast, ModuleRole::kConvolution},
    {"conv2", NamePlace::kLast, ModuleRole::kConvolution},
    {"conv1d", NamePlace::kEnd, ModuleRole::kConvolution},
    {"conv2d", NamePlace::kEnd, ModuleRole::kConvolution},
    {"_conv", NamePlace::kEnd, ModuleRole::kConvolution},
    {"wpe", NamePlace::kLast, ModuleRole::kEmbedding},
    {"shared", NamePlace::kLast, ModuleRole::kEmbedding},
    {"embed_tokens_per_layer", NamePlace::kLast, ModuleRole::kEmbedding},
    {"embed_positions", NamePlace::kLast, ModuleRole::kEmbedding},
    {"relative_attention_bias", NamePlace::kLast, ModuleRole::kEmbedding},
    {"embed", NamePlace::kEnd, ModuleRole::kEmbedding},
    {"embedding", NamePlace::kEnd, ModuleRole::kEmbedding},
    {"embeddings", NamePlace::kEnd, ModuleRole::kEmbedding},
    {"embedding_table", NamePlace::kEnd, ModuleRole::kEmbedding},
    {"pos_emb", NamePlace::kEnd, ModuleRole::kEmbedding},
    {"cls_token", NamePlace::kEnd, ModuleRole::kEmbedding},
    {"mask_token", NamePlace::kEnd, ModuleRole::kEmbedding},
    {"norm", NamePlace::kEnd, ModuleRole::kNorm},
    {"norm1", NamePlace::kLast, ModuleRole::kNorm},
    {"norm2", NamePlace::kLast, ModuleRole::kNorm},
    {"norm3", NamePlace::kLast, ModuleRole::kNorm},
    {"norm_f", NamePlace::kLast, ModuleRole::kNorm},
    {"ln_", NamePlace::kStart, ModuleRole::kNorm},
    {"ln1", NamePlace::kLast, ModuleRole::kNorm},
    {"ln2", NamePlace::kLast, ModuleRole::kNorm},
    {"visual", NamePlace::kInside, ModuleRole::kTowerOrExtra},
    {"vision", NamePlace::kInside, ModuleRole::kTowerOrExtra},
    {"audio", NamePlace::kInside, ModuleRole::kTowerOrExtra},
    {"speech", NamePlace::kInside, ModuleRole::kTowerOrExtra},
    {"talker", NamePlace::kInside, ModuleRole::kTowerOrExtra},
    {"code2wav", NamePlace::kInside, ModuleRole::kTowerOrExtra},
    {"token2wav", NamePlace::kInside, ModuleRole::kTowerOrExtra},
    {"multi_modal", NamePlace::kInside, ModuleRole::kTowerOrExtra},
    {"mm_", NamePlace::kInside, ModuleRole::kTowerOrExtra},
    {"mlp1", NamePlace::kInside, ModuleRole::kTowerOrExtra},
    {"embed_vision", NamePlace::kInside, ModuleRole::kTowerOrExtra},
    {"embed_audio", NamePlace::kInside, ModuleRole::kTowerOrExtra},
    {"mtp", NamePlace::kInside, ModuleRole::kTowerOrExtra},
    {"lm_head", NamePlace::kLast, ModuleRole::kLinear},
    {"shared_head.head", NamePlace::kLast, ModuleRole::kLinear},
    {"eh_proj", NamePlace::kLast, ModuleRole::kLinear},
    {"embed_out", NamePlace::kLast, ModuleRole::kLinear},
    {"proj", NamePlace::kEnd, ModuleRole::kLinear},
    {"linear", NamePlace::kStart, ModuleRole::kLinear},
    {"dense", NamePlace::kStart, ModuleRole::kLinear},
    {"fc", NamePlace::kStart, ModuleRole::kLinear},
};

bool ends_in(std::string_view name, std::string_view components) {
  return name.ends_with(components) &&
         (name.size() == components.size() || name[name.size() - components.size() - 1] == '.');
}

bool any_component_starts_with(std::string_view name, std::string_view start) {
  for (std::size_t at = name.find(start); at != name.npos; at = name.find(start, at + 1)) {
    if (at == 0 || name[at - 1] == '.') return true;
  }
  return false;
}

bool rule_fits(const NameRule& rule, std::string_view name) {
  switch (rule.place) {
    case NamePlace::kLast:
      return ends_in(name, rule.text);
    case NamePlace::kEnd:
      return name.ends_with(rule.text);
    case NamePlace::kStart:
      return name.substr(name.rfind('.') + 1).starts_with(rule.text);
    case NamePlace::kInside:
      return any_component_starts_with(name, rule.text);
  }
  return false;
}

void add_leaves(const LinearRows& rows, std::set<std::string, std::less<>>* leaves) {
  for (const LinearRow& row : rows) {
    if (role_of_row(row) == ModuleRole::kLinear) leaves->insert(leaf_of(row.path));
  }
}

// The last components of all linear modules of all families.
const std::set<std::string, std::less<>>& linear_leaves() {
  static const std::set<std::string, std::less<>> all = [] {
    std::set<std::string, std::less<>> leaves;
    for (const FamilyRow* family : family_rows()) {
      for (const MixerRow& mixer : family->mixers) add_leaves(mixer.linears, &leaves);
      for (const FeedForwardRow& row : family->feed_forwards) add_leaves(row.linears, &leaves);
      add_leaves(family->outside, &leaves);
    }
    return leaves;
  }();
  return all;
}

}  // namespace

std::span<const std::string_view> token_tables() { return kTokenTables; }

ModuleRole role_of_row(const LinearRow& row) {
  switch (row.module) {
    case Module::kLinear:
    case Module::kConv1D:
    case Module::kSmall:
    case Module::kGrouped:
    case Module::kExpert:
      return ModuleRole::kLinear;
    case Module::kConvolution:
      return ModuleRole::kConvolution;
    case Module::kScan:
      break;
  }
  return ModuleRole::kUnknown;
}

ModuleRole role_of_name(std::string_view module) {
  const std::string_view leaf = module.substr(module.rfind('.') + 1);
  const auto tables = token_tables();
  if (std::find(tables.begin(), tables.end(), leaf) != tables.end()) return ModuleRole::kEmbedding;
  const auto* const rule =
      std::find_if(std::begin(kRules), std::end(kRules),
                   [&](const NameRule& one) { return rule_fits(one, module); });
  if (rule != std::end(kRules)) return rule->role;
  const auto& linear = linear_leaves();
  return linear.find(leaf) != linear.end() ? ModuleRole::kLinear : ModuleRole::kUnknown;
}

const char* why_no_gemm(ModuleRole role) {
  switch (role) {
    case ModuleRole::kEmbedding:
      return "it is a table of embeddings, whose rows are looked up and not multiplied with; "
             "heddle dequantize writes it as 16 bits";
    case ModuleRole::kNorm:
      return "it is a norm, whose weights are no matrix";
    case ModuleRole::kConvolution:
      return "it is a convolution";
    case ModuleRole::kCacheScale:
      return "it is a scale of the key-value cache";
    case ModuleRole::kAdapter:
      return "it is an adapter (LoRA), which the engine adds to its layer";
    case ModuleRole::kUnknown:
    case ModuleRole::kLinear:
    case ModuleRole::kTowerOrExtra:
      break;
  }
  return nullptr;
}

}  // namespace heddle

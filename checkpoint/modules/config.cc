#include "checkpoint/modules/config.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "generator/model/byte_activations.h"
#include "generator/model/config_documents.h"
#include "generator/model/decoder.h"
#include "generator/model/family_table.h"
#include "generator/model/quantization_builder.h"
#include "generator/spec/error_place.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::int64_t kMostHidden = 1 << 20;
constexpr std::int64_t kMostHeads = 1 << 16;

std::optional<DType> read_weight_dtype(const ConfigReader& config) {
  std::string dtype = config.string_or(config.spelling({"torch_dtype", "dtype"}), "");
  constexpr std::string_view kPrefix = "torch.";
  if (dtype.starts_with(kPrefix)) dtype.erase(0, kPrefix.size());
  if (dtype == "bfloat16") return DType::kBf16;
  if (dtype == "float16") return DType::kFp16;
  for (const char* other : {"", "auto", "float32", "float64", "float8_e4m3fn"}) {
    if (dtype == other) return std::nullopt;
  }
  throw Error(
      ErrorCategory::kUnsupported, "model.dtype",
      std::vector<Problem>{{config.pointer(config.spelling({"torch_dtype", "dtype"})),
                            "this type of a model's weights is not known", quoted_excerpt(dtype),
                            "\"float16\", \"bfloat16\" or \"float32\"", ""}});
}

// The values of a family's expressions over a config that may lack some of the fields.
class LenientValues {
 public:
  LenientValues(const FamilyRow* family, const ConfigReader& config, const ConfigReader& root)
      : values_(config, root, default_names(), family == nullptr ? none() : family->names) {
    values_.leave_missing();
  }

  // 0 where the config does not say it.
  std::int64_t heads(Expression expression) {
    return values_.value(expression).is_null() ? 0 : values_.size(expression, kMostHeads);
  }
  bool flag(Expression expression) {
    return !values_.value(expression).is_null() && values_.flag(expression);
  }
  GateRule gate(const FamilyRow& family) { return gate_rule(family, values_); }

 private:
  static const std::vector<NamedExpression>& none() {
    static const std::vector<NamedExpression> names;
    return names;
  }

  ConfigValues values_;
};

// How the rows of the matrix of queries, keys and values lie in the checkpoint, where they are not
// in the order of attention already.
std::optional<FusedQkv> read_fused_qkv(const FamilyRow& family, const ConfigReader& config,
                                       const CheckpointConfig& sizes, LenientValues& values) {
  if (sizes.heads == 0 || sizes.kv_heads == 0) return std::nullopt;
  for (const MixerRow& mixer : family.mixers) {
    for (const LinearRow& row : mixer.linears) {
      if (row.order != RowOrder::kByKvHeads || !values.flag(row.by_kv_heads)) continue;
      if (sizes.heads % sizes.kv_heads != 0) {
        config.add("out_of_range", config.spelling({"num_attention_heads", "n_head"}),
                   "is no multiple of the heads of keys",
                   std::to_string(sizes.kv_heads) + " or a multiple");
      }
      return FusedQkv{leaf_of(row.path), sizes.kv_heads, sizes.heads / sizes.kv_heads};
    }
  }
  return std::nullopt;
}

void add_fusions(const LinearRows& rows, std::vector<Fusion>* fusions) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].fused.empty() || (i > 0 && fuses(rows[i - 1], rows[i]))) continue;
    Fusion fusion{std::string(rows[i].fused), {}};
    for (const LinearRow& row : rows) {
      if (fuses(rows[i], row)) fusion.parts.push_back(leaf_of(row.path));
    }
    if (std::find(fusions->begin(), fusions->end(), fusion) == fusions->end()) {
      fusions->push_back(std::move(fusion));
    }
  }
}

std::vector<HeadPlace> places_of_head(const FamilyRow& family, const Wrapper* wrapper) {
  std::vector<HeadPlace> places = {{std::string(family.body), std::string(family.head)}};
  if (wrapper == nullptr) return places;
  for (std::size_t i = 0; i < wrapper->bodies.size(); ++i) {
    places.push_back({std::string(wrapper->bodies[i]), std::string(wrapper->heads[i])});
  }
  return places;
}

// Checkpoints of quantised layers are read with configs that lack fields of the decoder, or whose
// layers are not described. A field that is there is right, or refused.
void read_decoder(const ModelConfigTexts& texts, CheckpointConfig* config) {
  try {
    Findings findings("checkpoint");
    const ConfigDocuments documents(texts, findings);
    config->decoder = decode(documents, findings);
  } catch (const Error& error) {
    const bool is_undescribed = error.category() == ErrorCategory::kUnsupported ||
                                error.code() == "checkpoint.missing_field" ||
                                error.code() == "checkpoint.unknown_layer";
    if (!is_undescribed) throw;
    config->why_no_decoder = problem_line(error);
  }
}

bool has_conv1d(const FamilyRow& family) {
  return std::any_of(family.mixers.begin(), family.mixers.end(), [](const MixerRow& mixer) {
    return std::any_of(mixer.linears.begin(), mixer.linears.end(),
                       [](const LinearRow& row) { return row.module == Module::kConv1D; });
  });
}

}  // namespace

std::vector<Fusion> CheckpointConfig::usual_fusions() {
  return {{"qkv_proj", {"q_proj", "k_proj", "v_proj"}}, {"gate_up_proj", {"gate_proj", "up_proj"}}};
}

CheckpointConfig read_checkpoint_config(const ModelConfigTexts& texts) {
  check_activation_bits(texts.activation_bits);
  Findings findings("checkpoint");
  const ConfigDocuments documents(texts, findings);
  const ConfigReader config = documents.language();
  const ConfigReader root = documents.config();
  CheckpointConfig result;
  result.model_type = documents.model_type();
  result.dtype = read_weight_dtype(config);
  if (!result.dtype) result.dtype = read_weight_dtype(root);
  result.quantization = documents.quantization();
  result.hidden_size =
      config.size_or(config.spelling({"hidden_size", "n_embd", "n_embed"}), 0, kMostHidden);
  const FamilyRow* const family = find_family(result.model_type);
  LenientValues values(family, config, root);
  result.heads = values.heads("heads");
  result.kv_heads = values.heads("kv_heads");
  if (family != nullptr) {
    result.is_known = true;
    read_decoder(texts, &result);
    result.gate = values.gate(*family);
    const Wrapper* const wrapper = find_wrapper(root.text("model_type"));
    result.layer_lists = layer_lists(*family, wrapper);
    result.head_places = places_of_head(*family, wrapper);
    result.tied_head = values.flag(family->tied);
    result.transposed_linears = has_conv1d(*family);
    result.fused_qkv = read_fused_qkv(*family, config, result, values);
    for (const MixerRow& mixer : family->mixers) add_fusions(mixer.linears, &result.fusions);
    for (const FeedForwardRow& row : family->feed_forwards) {
      add_fusions(row.linears, &result.fusions);
    }
  }
  findings.throw_if_any();
  return result;
}

CheckpointConfig read_checkpoint_config(std::string_view json) {
  ModelConfigTexts texts;
  texts.config = json;
  return read_checkpoint_config(texts);
}

}  // namespace heddle

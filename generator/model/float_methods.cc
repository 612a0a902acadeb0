// FP8 as Hugging Face and FBGEMM have it, and MXFP4: the tensors tell most of it.
#include "generator/model/method_readers.h"
#include "generator/model/scheme_fields.h"

namespace heddle {
namespace {

// For weights in blocks: a row has a scale for each of a block's columns.
ActivationScheme of_blocks(const ConfigReader& config, int columns) {
  if (columns != kRowGroup) {
    return unserved_activations("activations with a scale for each " + std::to_string(columns) +
                                " columns of a row");
  }
  const Node* const format = config.node("scale_fmt");
  if (format == nullptr) return group_activations(DType::kFp8E4m3);
  if (lower(config.text("scale_fmt")) == "ue8m0") {
    return group_activations(DType::kFp8E4m3, RowScaleDtype::kE8m0);
  }
  return unserved_activations("activations whose scales have the form " + excerpt(*format));
}

// Dynamic scales of whole tensors are one for each row, as other engines have them: finer, and no
// row depends on others.
std::optional<ActivationScheme> read_activations(const ConfigReader& config,
                                                 const Scheme& weights) {
  constexpr std::string_view kKey = "activation_scheme";
  if (!config.has(kKey)) return std::nullopt;
  const std::string scheme = lower(config.string_or(kKey, ""));
  if (scheme == "static") return static_activations(DType::kFp8E4m3);
  if (scheme != "dynamic") {
    return unserved_activations("activations of the scheme " + quoted_excerpt(scheme));
  }
  if (weights.group_size.value_or(0) > 0) return of_blocks(config, *weights.group_size);
  return token_activations(DType::kFp8E4m3);
}

// Engines leave lm_head in 16 bits unless it is named.
void otherwise_but_head(const Scheme& scheme, QuantizationBuilder& builder) {
  leave_out_head(builder);
  builder.otherwise(builder.scheme(scheme));
}

}  // namespace

void read_fp8(const ConfigReader& config, QuantizationBuilder& builder) {
  Scheme scheme = fp8_scheme(kPerTensor);
  scheme.type = read_fp8_format(config, "fmt");
  read_block(config, "weight_block_size", scheme);
  scheme.activation = read_activations(config, scheme);
  if (config.has("quantized_layers")) read_quantized_layers(config, builder);
  if (config.has("kv_cache_scheme")) {
    builder.set_cache(read_cache_scheme(config, "kv_cache_scheme"));
  }
  for (const char* key : {"ignored_layers", "modules_to_not_convert"}) {
    exclude_modules(config, key, builder);
  }
  if (lower(builder.expert_dtype()) == "fp4") {
    builder.rules().add(*ModulePattern::make(ModulePattern::Kind::kSubstring, ".experts."),
                        builder.scheme(mxfp4_scheme()));
  }
  otherwise_but_head(scheme, builder);
}

void read_fbgemm_fp8(const ConfigReader& config, QuantizationBuilder& builder) {
  Scheme scheme = fp8_scheme(kPerChannel);
  scheme.activation = token_activations(DType::kFp8E4m3);
  exclude_modules(config, "modules_to_not_convert", builder);
  if (config.has("activation_scale_ub") && builder.has_byte_activations(builder.scheme(scheme))) {
    builder.note(
        "no kernel bounds the scales of rows (activation_scale_ub, input_scale_ub): a row with "
        "larger values is not clipped");
  }
  otherwise_but_head(scheme, builder);
}

void read_mxfp4(const ConfigReader& config, QuantizationBuilder& builder) {
  exclude_modules(config, "modules_to_not_convert", builder);
  otherwise_but_head(mxfp4_scheme(), builder);
}

}  // namespace heddle

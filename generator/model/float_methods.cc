// FP8 as Hugging Face and FBGEMM have it, and MXFP4: the tensors tell most of it.
#include "generator/model/method_readers.h"
#include "generator/model/scheme_fields.h"

namespace heddle {
namespace {

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
  if (config.has("activation_scheme")) builder.note_activations();
  if (config.has("quantized_layers")) read_quantized_layers(config, builder);
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
  builder.note_activations();
  exclude_modules(config, "modules_to_not_convert", builder);
  otherwise_but_head(fp8_scheme(kPerChannel), builder);
}

void read_mxfp4(const ConfigReader& config, QuantizationBuilder& builder) {
  exclude_modules(config, "modules_to_not_convert", builder);
  otherwise_but_head(mxfp4_scheme(), builder);
}

}  // namespace heddle

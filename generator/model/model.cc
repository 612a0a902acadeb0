#include "heddle/model.h"

#include <optional>
#include <utility>

#include "generator/model/byte_activations.h"
#include "generator/model/config_documents.h"
#include "generator/model/decoder.h"
#include "generator/model/dtype.h"
#include "generator/model/head_weight.h"
#include "generator/model/model_block.h"
#include "generator/model/model_builder.h"
#include "generator/model/row_kernels.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::int64_t kLargestSide = 1 << 20;  // as in the spec's table

// Sides of a matrix that a kernel is to be made for.
void check_sides(const Decoder& decoder, Findings& findings) {
  for (const DecodedBlock& block : decoder.blocks) {
    std::string name;
    std::int64_t rows = 0;
    for (std::size_t i = 0; i < block.linears.size(); ++i) {
      const DecodedLinear& linear = block.linears[i];
      const bool more = i > 0 && fuses(*block.linears[i - 1].row, *linear.row);
      rows = more ? rows + linear.n : linear.n;
      name = linear.row->fused.empty() ? leaf_of(linear.row->path) : linear.row->fused;
      if (rows <= kLargestSide && linear.k <= kLargestSide) continue;
      findings.add("out_of_range", {linear.field, name + " is too large",
                                    std::to_string(rows) + " x " + std::to_string(linear.k),
                                    "at most " + std::to_string(kLargestSide), ""});
    }
  }
  findings.throw_if_any();
}

// `of_cache`: its config quantises the cache alone.
[[noreturn]] void refuse_plain(bool of_cache) {
  throw Error(
      ErrorCategory::kUnsupported, "model.not_quantized",
      std::vector<Problem>{{"/quantization_config",
                            of_cache ? "the model's weights are not quantised: the field names no "
                                       "modules that are; --dense asks for kernels for such weights"
                                     : "the model is not quantised: the config has no such field",
                            "",
                            "a config with a quantization_config, or with hf_quant_config.json or "
                            "quantize_config.json beside it",
                            ""}});
}

void add_facts(Decoder& decoder, Model* model) {
  model->hidden = decoder.hidden;
  model->vocabulary = decoder.vocabulary;
  model->norm = decoder.norm;
  model->norm_place = decoder.norm_place;
  model->norm_epsilon = decoder.norm_epsilon;
  model->activation = decoder.activation;
  model->tied_embeddings = decoder.tied;
  model->logit_softcap = decoder.logit_softcap;
  model->multipliers = decoder.multipliers;
  std::vector<ModelBlock> blocks;
  for (const DecodedBlock& block : decoder.blocks) blocks.push_back(block.facts);
  model->blocks = std::make_shared<const std::vector<ModelBlock>>(std::move(blocks));
  model->remarks = decoder.notes();
  model->notes.insert(model->notes.end(), model->remarks.begin(), model->remarks.end());
  for (const std::string& what : decoder.assumptions) model->assumptions.push_back(what);
}

}  // namespace

Model model_from_config(const ModelConfigTexts& texts) {
  if (texts.lm_head_bits != 0 && !is_head_bits(texts.lm_head_bits)) {
    throw Error(ErrorCategory::kUsage, "model.lm_head",
                "lm_head cannot be quantised to " + std::to_string(texts.lm_head_bits) +
                    " bits; allowed: 4, 8, and 0 for none");
  }
  check_activation_bits(texts.activation_bits);
  Findings findings("model");
  const ConfigDocuments documents(texts, findings);
  const ConfigReader config = documents.language();
  Model model;
  // First, since configs of other formats may lack what follows.
  const Quantization quantization = documents.quantization();
  model.model_type = documents.model_type();
  if (model.model_type.empty()) {
    config.required_string("model_type");
    findings.throw_if_any();
  }
  if (!quantization.has_weights() && !texts.plain_too && !texts.dense && texts.lm_head_bits == 0) {
    findings.throw_if_any();
    refuse_plain(!quantization.method().empty());
  }
  const std::optional<DType> dtype = documents.dtype();
  Decoder decoder = decode(documents, findings);
  findings.throw_if_any();
  check_sides(decoder, findings);
  model.quant_method = quantization.method();
  if (quantization.cache()) model.notes.push_back(note_of(*quantization.cache()));
  model.notes.insert(model.notes.end(), quantization.notes().begin(), quantization.notes().end());
  if (!dtype) {
    model.assumptions.emplace_back(
        "activations are BF16, since the config has neither dtype nor torch_dtype");
  }
  ModelBuilder builder(dtype.value_or(DType::kBf16), decoder, quantization, texts, &model);
  builder.add_decoder_layers();
  builder.add_others();
  builder.finish();
  add_facts(decoder, &model);
  add_row_kernels(decoder, dtype.value_or(DType::kBf16), &model);
  return model;
}

Model model_from_config(std::string_view json) {
  ModelConfigTexts texts;
  texts.config = json;
  return model_from_config(texts);
}

}  // namespace heddle

// NVIDIA's Model Optimizer: one algorithm for all modules, or one for each of them.
#include <utility>

#include "generator/model/method_readers.h"
#include "generator/model/scheme_fields.h"

namespace heddle {
namespace {

constexpr int kFp8Block = 128;
constexpr const char* kKnown =
    "FP8, FP8_PER_CHANNEL_PER_TOKEN, FP8_PB_WO, MXFP8, NVFP4, NVFP4_AWQ, W4A16_NVFP4 or "
    "MIXED_PRECISION";

// Nothing for one that is not known.
std::optional<Scheme> algorithm_of(const std::string& name) {
  Scheme scheme;
  if (name == "FP8") {
    scheme = fp8_scheme(kPerTensor);
    scheme.activation = static_activations(DType::kFp8E4m3);
  } else if (name == "FP8_PER_CHANNEL_PER_TOKEN") {
    scheme = fp8_scheme(kPerChannel);
    scheme.activation = token_activations(DType::kFp8E4m3);
  } else if (name == "FP8_PB_WO") {
    scheme = fp8_scheme(kFp8Block);
    scheme.block_rows = kFp8Block;
  } else if (name == "MXFP8") {
    scheme = mxfp8_scheme();
    scheme.activation = unserved_activations("activations with a scale for each 32 columns");
  } else if (name == "NVFP4" || name == "NVFP4_AWQ" || name == "W4A16_NVFP4") {
    scheme = nvfp4_scheme();
    scheme.pre_scale = name == "NVFP4_AWQ";
    if (name != "W4A16_NVFP4") scheme.activation = unserved_activations("activations of 4 bits");
  } else {
    return std::nullopt;
  }
  return scheme;
}

// A group that is not the algorithm's own: the tensors would be read wrongly.
void check_group(const ConfigReader& config, const Scheme& scheme) {
  if (!config.has("group_size") || !scheme.group_size || *scheme.group_size <= 0) return;
  const std::int64_t group = config.required_integer("group_size");
  if (group == 0 || group == *scheme.group_size) return;
  refuse_quantization(config, "group_size", "the algorithm has groups of another size",
                      std::to_string(group), std::to_string(*scheme.group_size));
}

void exclude_all(const ConfigReader& config, QuantizationBuilder& builder) {
  for (const std::string_view key : {"exclude_modules", "ignore"}) {
    exclude_modules(config, key, builder);
  }
}

}  // namespace

void read_quantized_layers(const ConfigReader& config, QuantizationBuilder& builder) {
  const Node* layers = config.object("quantized_layers");
  if (layers == nullptr) return;
  const std::string pointer = config.pointer("quantized_layers");
  const ConfigReader modules(*layers, pointer, config.findings());
  for (std::size_t i = 0; i < layers->keys.size(); ++i) {
    const std::string& module = layers->keys[i];
    if (layers->items[i].kind != Node::Kind::kObject) {
      modules.add("wrong_type", module, "must be an object");
      continue;
    }
    const ConfigReader fields(layers->items[i], child_pointer(pointer, module), config.findings());
    const std::string name = upper(fields.required_string("quant_algo"));
    std::optional<Scheme> scheme = algorithm_of(name);
    if (scheme) {
      check_group(fields, *scheme);
    } else {
      scheme.emplace();
      scheme->unread = "Model Optimizer's " + quoted_excerpt(name) +
                       " is not read: its codes would need an importer of their own";
    }
    builder.rules().add_name(module, builder.scheme(*std::move(scheme)));
  }
}

void read_modelopt(const ConfigReader& config, QuantizationBuilder& builder) {
  std::string codes = upper(config.text("kv_cache_quant_algo"));
  if (codes == "NONE") codes.clear();
  const bool cache = config.has("kv_cache_scheme") || !codes.empty();
  const bool cache_alone = cache && !config.has("quant_algo");
  const std::string name = cache_alone ? "" : upper(config.required_string("quant_algo"));
  if (cache) {
    builder.set_cache(codes.empty() ? read_cache_scheme(config, "kv_cache_scheme")
                                    : cache_scheme_of(codes));
  }
  if (name == "MIXED_PRECISION") {
    if (config.object("quantized_layers") == nullptr) {
      config.add("missing_field", "quantized_layers", "MIXED_PRECISION needs the field");
    }
    exclude_all(config, builder);
    read_quantized_layers(config, builder);
    return;
  }
  if (name.empty()) return;
  const std::optional<Scheme> scheme = algorithm_of(name);
  if (!scheme) {
    refuse_quantization(
        config, "quant_algo",
        "this form of Model Optimizer is not read: its codes would need an importer "
        "of their own",
        quoted_excerpt(name), kKnown);
  }
  check_group(config, *scheme);
  exclude_all(config, builder);
  builder.otherwise(builder.scheme(*scheme));
}

}  // namespace heddle

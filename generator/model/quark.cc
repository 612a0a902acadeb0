// AMD's Quark: a configuration for all modules, and others by shell pattern.
#include <utility>

#include "generator/model/method_readers.h"
#include "generator/model/scheme_fields.h"

namespace heddle {
namespace {

using PatternKind = ModulePattern::Kind;

Scheme unread(const std::string& what) {
  Scheme scheme;
  scheme.unread = "Quark's " + what + " is not read: it would need an importer of its own";
  return scheme;
}

int scale_place(const std::string& qscheme) {
  return qscheme == "per_tensor" ? kPerTensor : kPerChannel;
}

// "weight" of one configuration.
Scheme read_weight(const ConfigReader& config, const std::string& pack_method) {
  const std::string dtype = lower(config.required_string("dtype"));
  const std::string place = lower(config.string_or("qscheme", ""));
  const bool grouped = place == "per_group";
  const std::optional<int> group = read_group_size(config, "group_size");
  if ((dtype == "fp8_e4m3" || dtype == "fp8_e5m2") && !grouped) {
    Scheme scheme = fp8_scheme(scale_place(place));
    if (dtype == "fp8_e5m2") scheme.type = WeightType::kE5m2;
    return scheme;
  }
  if (dtype == "fp4" && grouped && group == mxfp4_scheme().group_size &&
      lower(config.string_or("scale_format", "e8m0")) == "e8m0") {
    return mxfp4_scheme();
  }
  if (dtype == "int8" && !grouped) {
    Scheme scheme;
    scheme.type = WeightType::kInt;
    scheme.bits = 8;
    scheme.group_size = scale_place(place);
    scheme.symmetric = config.bool_or("symmetric", true);
    return scheme;
  }
  if ((dtype == "int4" || dtype == "uint4") && grouped && group) {
    Scheme scheme;
    scheme.storage = Storage::kQuarkPacked;
    scheme.type = dtype == "int4" ? WeightType::kInt : WeightType::kUint;
    scheme.group_size = group;
    scheme.symmetric = config.bool_or("symmetric", dtype == "int4");
    scheme.awq_order = pack_method == "reorder";
    return scheme;
  }
  return unread("weights of dtype " + quoted_excerpt(dtype) + " and qscheme " +
                quoted_excerpt(place));
}

ActivationScheme read_quark_activations(const ConfigReader& config) {
  const std::string dtype = lower(config.string_or("dtype", ""));
  const std::string place = lower(config.string_or("qscheme", ""));
  const bool dynamic = config.is_true("is_dynamic");
  const bool known = dtype == "fp8_e4m3" || dtype == "int8";
  const DType type = dtype == "int8" ? DType::kInt8 : DType::kFp8E4m3;
  ActivationScheme activation;
  if (known && place == "per_tensor" && !dynamic) {
    activation = static_activations(type);
  } else if (known && dynamic && (place == "per_token" || place == "per_tensor")) {
    activation = token_activations(type);
  } else {
    return unserved_activations("activations of dtype " + quoted_excerpt(dtype) + " and qscheme " +
                                quoted_excerpt(place));
  }
  activation.symmetric = config.bool_or("symmetric", true);
  return activation;
}

int read_module(const ConfigReader& config, const std::string& pack_method,
                QuantizationBuilder& builder) {
  const Node* weight = config.node("weight");
  if (weight == nullptr) return QuantizationBuilder::kNotQuantized;
  if (weight->kind != Node::Kind::kObject) {
    return builder.scheme(unread("weights of several stages"));
  }
  Scheme scheme =
      read_weight(ConfigReader(*weight, config.pointer("weight"), config.findings()), pack_method);
  if (const Node* inputs = config.node("input_tensors")) {
    scheme.activation = inputs->kind == Node::Kind::kObject
                            ? read_quark_activations(ConfigReader(
                                  *inputs, config.pointer("input_tensors"), config.findings()))
                            : unserved_activations("activations of several stages");
  }
  return builder.scheme(std::move(scheme));
}

// The cache's scales are those of what projections of keys and values make, which
// layer_quant_config has by the same patterns as the group.
CacheScheme read_cache(const ConfigReader& config, const Node& group) {
  CacheScheme scheme = cache_scheme_of("FP8");
  const Node* const layers = config.object("layer_quant_config");
  for (const Node& pattern : group.items) {
    const Node* const module = layers == nullptr ? nullptr : layers->find(pattern.text);
    const Node* const made = module == nullptr ? nullptr : module->find("output_tensors");
    if (made == nullptr || made->kind != Node::Kind::kObject) continue;
    const ConfigReader fields(*made, config.pointer("layer_quant_config"), config.findings());
    const std::string dtype = lower(fields.string_or("dtype", "fp8_e4m3"));
    scheme = cache_scheme_of(dtype.starts_with("fp8") ? "FP8" : dtype);
    const std::string place = lower(fields.string_or("qscheme", "per_tensor"));
    if (place == "per_channel") scheme.scales = CacheScheme::Scales::kChannel;
    if (place != "per_channel" && place != "per_tensor") {
      scheme.scales = CacheScheme::Scales::kOther;
    }
    if (fields.is_true("is_dynamic")) scheme.scales = CacheScheme::Scales::kRunTime;
    break;
  }
  return scheme;
}

// A rotation that was not made a part of the weights is work at run time.
void check_algorithms(const ConfigReader& config, QuantizationBuilder& builder) {
  const Node* algorithms = config.node("algo_config");
  if (algorithms == nullptr) return;
  const std::vector<Node> one = {*algorithms};
  for (const Node& algorithm : algorithms->kind == Node::Kind::kArray ? algorithms->items : one) {
    const Node* name = algorithm.find("name");
    if (name == nullptr || (name->text != "rotation" && name->text != "quarot")) continue;
    builder.rotates(config, "algo_config", quoted_excerpt(name->text));
  }
}

}  // namespace

void read_quark(const ConfigReader& config, QuantizationBuilder& builder) {
  check_algorithms(config, builder);
  std::string pack_method = "reorder";
  bool has_cache = false;
  if (const Node* node = config.object("export")) {
    const ConfigReader exported(*node, config.pointer("export"), config.findings());
    pack_method = lower(exported.string_or("pack_method", "reorder"));
    const Node* kv = exported.node("kv_cache_group");
    has_cache = kv != nullptr && kv->kind == Node::Kind::kArray && !kv->items.empty();
    if (has_cache) builder.set_cache(read_cache(config, *kv));
  }
  exclude_modules(config, "exclude", builder);
  const Node* by_type = config.object("layer_type_quant_config");
  if (by_type != nullptr && !by_type->items.empty()) {
    refuse_quantization(config, "layer_type_quant_config",
                        "configurations by the class of a module are not read", excerpt(*by_type),
                        "layer_quant_config, by the modules' names");
  }
  if (const Node* layers = config.object("layer_quant_config")) {
    const ConfigReader modules(*layers, config.pointer("layer_quant_config"), config.findings());
    for (const std::string& pattern : layers->keys) {
      const Node* node = modules.object(pattern);
      if (node == nullptr) continue;
      const ConfigReader module(*node, modules.pointer(pattern), config.findings());
      add_rule(modules, pattern, PatternKind::kGlob, pattern,
               read_module(module, pack_method, builder), builder.rules());
    }
  }
  const Node* global = config.object("global_quant_config");
  if (global == nullptr) {
    // Where the cache alone is quantised there is none.
    if (!config.has("global_quant_config") && !has_cache) {
      config.add("missing_field", "global_quant_config", "the field is required");
    }
    return;
  }
  const ConfigReader fields(*global, config.pointer("global_quant_config"), config.findings());
  builder.otherwise(read_module(fields, pack_method, builder));
}

}  // namespace heddle

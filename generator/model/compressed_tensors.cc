// compressed-tensors: groups of modules, each with a format and a type of weights of its own.
#include <algorithm>
#include <iterator>
#include <utility>

#include "generator/model/method_readers.h"
#include "generator/model/module_role.h"
#include "generator/model/scheme_fields.h"

namespace heddle {
namespace {

using PatternKind = ModulePattern::Kind;

constexpr std::string_view kRegexPrefix = "re:";
constexpr std::string_view kTables = "Embedding";  // the class of tables of embeddings
constexpr std::string_view kFormats[] = {
    "pack-quantized",       "float-quantized",      "int-quantized",  "naive-quantized",
    "nvfp4-pack-quantized", "mxfp4-pack-quantized", "mxfp8-quantized"};

// Where the scales of integers and FP8 are: per tensor, row, block or group.
void read_strategy(const ConfigReader& config, Scheme& scheme) {
  const bool grouped = config.has("group_size") && config.required_integer("group_size") > 0;
  const std::string strategy = config.string_or("strategy", grouped ? "group" : "channel");
  if (strategy == "tensor") {
    scheme.group_size = kPerTensor;
  } else if (strategy == "channel") {
    scheme.group_size = kPerChannel;
  } else if (strategy == "group") {
    config.required_integer("group_size");
    scheme.group_size = read_group_size(config, "group_size");
  } else if (strategy == "block") {
    if (!config.has("block_structure")) {
      config.add("missing_field", "block_structure", "the strategy \"block\" needs the field");
    }
    read_block(config, "block_structure", scheme);
  } else {
    refuse_quantization(
        config, "strategy", "compressed-tensors with scales of another kind than these",
        quoted_excerpt(strategy), "\"tensor\", \"channel\", \"block\" or \"group\"");
  }
}

void read_scale_dtype(const ConfigReader& config, Scheme& scheme) {
  const std::string dtype = config.string_or("scale_dtype", "");
  if (dtype.ends_with("float32")) scheme.scale_dtype = DType::kFp32;
  if (dtype.ends_with("bfloat16")) scheme.scale_dtype = DType::kBf16;
  if (dtype.ends_with(".float16")) scheme.scale_dtype = DType::kFp16;
}

// Packed codes have an offset of 2^(bits-1); those of a byte each are signed.
Scheme packed_integers(const ConfigReader& config) {
  Scheme scheme;
  scheme.storage = Storage::kPacked;
  scheme.bits = read_bits(config, "num_bits");
  scheme.symmetric = config.bool_or("symmetric", true);
  read_strategy(config, scheme);
  read_scale_dtype(config, scheme);
  const std::string order = config.text("actorder");
  scheme.act_order = (config.is_true("actorder") || order == "group" || order == "dynamic") &&
                     scheme.group_size.value_or(0) > 0;
  return scheme;
}

Scheme bytes(const ConfigReader& config, bool integers) {
  Scheme scheme;
  scheme.type = integers ? WeightType::kInt : WeightType::kE4m3;
  scheme.bits = 8;
  scheme.symmetric = config.bool_or("symmetric", true);
  read_strategy(config, scheme);
  read_scale_dtype(config, scheme);
  return scheme;
}

// `format` says how the weights are stored, `config` what they are.
Scheme read_weights(const ConfigReader& config, const std::string& format) {
  const std::string type = config.string_or("type", "int");
  const std::int64_t bits = config.required_integer("num_bits");
  const bool integers = type == "int";
  const bool floats = type == "float";
  const bool naive = format == "naive-quantized";
  if (format == "pack-quantized" && integers) return packed_integers(config);
  if (format == "nvfp4-pack-quantized" && floats && bits == 4) return nvfp4_scheme();
  if (format == "mxfp4-pack-quantized" && floats && bits == 4) return mxfp4_scheme();
  if (format == "mxfp8-quantized" && floats && bits == 8) return mxfp8_scheme();
  if ((format == "float-quantized" || naive) && floats && bits == 8) return bytes(config, false);
  if ((format == "int-quantized" || naive) && integers && bits <= 8) return bytes(config, true);
  refuse_quantization(config, "type",
                      "compressed-tensors in the format " + quoted_excerpt(format) +
                          " with weights of this type and " + std::to_string(bits) + " bits",
                      quoted_excerpt(type),
                      "a pair of format and type that docs/checkpoints.md lists");
}

// FP32 holds those of fewer bits.
bool has_float_scales(const ConfigReader& config) {
  if (!config.has("scale_dtype")) return true;
  Scheme scheme;
  read_scale_dtype(config, scheme);
  return scheme.scale_dtype.has_value();
}

// The defaults are those of the library that writes these configs.
ActivationScheme read_activations(const ConfigReader& config) {
  const std::int64_t bits = config.has("num_bits") ? config.required_integer("num_bits") : 8;
  if (bits != 8) return unserved_activations("activations of " + std::to_string(bits) + " bits");
  const std::string type = config.string_or("type", "int");
  if (type != "int" && type != "float") {
    return unserved_activations("activations of the type " + quoted_excerpt(type));
  }
  const DType dtype = type == "int" ? DType::kInt8 : DType::kFp8E4m3;
  const std::int64_t group = config.has("group_size") ? config.required_integer("group_size") : 0;
  const std::string strategy = config.string_or("strategy", group > 0 ? "group" : "tensor");
  const bool dynamic = config.is_true("dynamic");
  ActivationScheme activation;
  if (config.text("dynamic").empty() && strategy == "tensor" && !dynamic) {
    activation = static_activations(dtype);
  } else if (dynamic && (strategy == "token" || strategy == "tensor")) {
    // Finer than one of all rows, whose makers would have to be known first.
    activation = token_activations(dtype);
  } else if (dynamic && strategy == "group" && group == kRowGroup && has_float_scales(config)) {
    activation = group_activations(dtype);
  } else {
    const std::string when = dynamic ? "found at run time" : "stored";
    const std::string groups = group > 0 ? " of " + std::to_string(group) + " columns" : "";
    return unserved_activations("activations whose scales are " + when + " by the strategy " +
                                quoted_excerpt(strategy) + groups);
  }
  activation.symmetric = config.bool_or("symmetric", true);
  return activation;
}

void check_format(const ConfigReader& config, const std::string& format) {
  if (std::find(std::begin(kFormats), std::end(kFormats), format) != std::end(kFormats)) return;
  std::string allowed;
  for (const std::string_view known : kFormats) {
    allowed += (allowed.empty() ? "" : ", ") + quoted_excerpt(known);
  }
  const bool sparse = format.find("24") != format.npos || format.find("sparse") != format.npos;
  refuse_quantization(config, "format",
                      sparse
                          ? "weights with 2:4 sparsity are not read: they would need sparse kernels"
                          : "compressed-tensors in this format is not read",
                      quoted_excerpt(format), allowed);
}

// One entry of a list of targets: a module's name, "re:" and an expression, or the name of a class.
// Classes come last, as the library that writes these configs has it.
struct ModuleTarget {
  std::string text;
  int scheme;
  bool is_regex() const { return text.starts_with(kRegexPrefix); }
  bool is_class(std::string_view name) const { return text == name; }
};

// `every`: the class of all modules that the rules are for.
void add_rules(const ConfigReader& config, std::string_view key,
               const std::vector<ModuleTarget>& targets, ModuleRules& rules,
               std::string_view every = "Linear") {
  for (const ModuleTarget& target : targets) {
    if (target.is_regex() || target.is_class(every)) continue;
    add_rule(config, key, PatternKind::kExact, target.text, target.scheme, rules);
  }
  for (const ModuleTarget& target : targets) {
    if (!target.is_regex()) continue;
    add_rule(config, key, PatternKind::kRegexStart, target.text.substr(kRegexPrefix.size()),
             target.scheme, rules);
  }
  for (const ModuleTarget& target : targets) {
    if (target.is_class(every))
      rules.add(*ModulePattern::make(PatternKind::kEvery, ""), target.scheme);
  }
}

bool names_table(const ModuleTarget& target) {
  return target.is_class(kTables) ||
         (!target.is_regex() && role_of_name(target.text) == ModuleRole::kEmbedding);
}

std::vector<ModuleTarget> targets_of(std::vector<std::string> texts, int scheme) {
  std::vector<ModuleTarget> targets;
  targets.reserve(texts.size());
  for (std::string& text : texts) targets.push_back({std::move(text), scheme});
  return targets;
}

// Which modules are stored with 2:4 sparsity: no dense kernel reads them.
void read_sparsity(const ConfigReader& config, QuantizationBuilder& builder) {
  const Node* node = config.object("sparsity_config");
  if (node == nullptr) return;
  const ConfigReader sparsity(*node, config.pointer("sparsity_config"), config.findings());
  const std::string format = sparsity.string_or("format", "dense");
  if (format == "dense") return;
  Scheme scheme;
  scheme.unread = "the sparsity format " + quoted_excerpt(format) +
                  " is not read: such weights would need sparse kernels";
  const int sparse = builder.scheme(scheme);
  add_rules(sparsity, "ignore", targets_of(sparsity.strings("ignore"), ModuleRules::kNone),
            builder.sparsity());
  add_rules(sparsity, "targets", targets_of(sparsity.strings("targets"), sparse),
            builder.sparsity());
}

// Transforms of the weights alone were applied when the checkpoint was made; those of activations
// are work that somebody has to do at run time.
void check_transforms(const ConfigReader& config, QuantizationBuilder& builder) {
  const Node* node = config.object("transform_config");
  const Node* groups = node == nullptr ? nullptr : node->find("config_groups");
  if (groups == nullptr || groups->kind != Node::Kind::kObject) return;
  const std::string pointer = config.pointer("transform_config") + "/config_groups";
  for (std::size_t i = 0; i < groups->items.size(); ++i) {
    const Node* apply = groups->items[i].find("apply");
    if (apply == nullptr) continue;
    for (const Node& one : apply->items) {
      const Node* location = one.find("location");
      const std::string where = location == nullptr ? "" : location->text;
      if (where == "weight_input" || where == "weight_output") continue;
      const Node* targets = one.find("targets");
      const ConfigReader group(groups->items[i], child_pointer(pointer, groups->keys[i]),
                               config.findings());
      builder.rotates(group, "apply",
                      quoted_excerpt(where) + " of " +
                          (targets == nullptr ? "its modules" : excerpt(*targets)));
    }
  }
}

// The groups of modules, in the order of the config.
std::vector<ModuleTarget> read_groups(const ConfigReader& config, const std::string& format,
                                      QuantizationBuilder& builder) {
  std::vector<ModuleTarget> targets;
  const Node* groups = config.object("config_groups");
  // Where the cache alone is quantised there is none.
  if (groups == nullptr) {
    if (!config.has("kv_cache_scheme")) {
      config.add("missing_field", "config_groups", "must be an object");
    }
    return targets;
  }
  const ConfigReader names(*groups, config.pointer("config_groups"), config.findings());
  for (const std::string& name : groups->keys) {
    const Node* node = names.object(name);
    if (node == nullptr) {
      if (!names.has(name)) names.add("wrong_type", name, "must be an object");
      continue;
    }
    const ConfigReader group(*node, names.pointer(name), config.findings());
    const Node* weights = group.object("weights");
    if (weights == nullptr) continue;  // activations alone
    const std::string own = group.string_or("format", format);
    check_format(group.has("format") ? group : config, own);
    Scheme stored =
        read_weights(ConfigReader(*weights, group.pointer("weights"), config.findings()), own);
    if (const Node* inputs = group.object("input_activations")) {
      stored.activation = read_activations(
          ConfigReader(*inputs, group.pointer("input_activations"), config.findings()));
    }
    const int scheme = builder.scheme(std::move(stored));
    std::vector<std::string> texts = group.strings("targets");
    if (!group.has("targets")) texts = {"Linear"};
    for (ModuleTarget& target : targets_of(std::move(texts), scheme))
      targets.push_back(std::move(target));
  }
  return targets;
}

}  // namespace

void read_compressed_tensors(const ConfigReader& config, QuantizationBuilder& builder) {
  const std::string format = config.required_string("format");
  if (format.empty()) return;
  // "dense": weights that are not quantised, of which no group may say otherwise.
  if (format != "mixed-precision" && format != "dense") check_format(config, format);
  check_transforms(config, builder);
  if (config.has("kv_cache_scheme")) {
    builder.set_cache(read_cache_scheme(config, "kv_cache_scheme"));
  }
  const std::vector<ModuleTarget> ignored =
      targets_of(config.strings("ignore"), ModuleRules::kNone);
  add_rules(config, "ignore", ignored, builder.rules());
  read_sparsity(config, builder);
  const std::vector<ModuleTarget> groups = read_groups(config, format, builder);
  add_rules(config, "config_groups", groups, builder.rules());
  if (std::any_of(groups.begin(), groups.end(), names_table)) {
    add_rules(config, "ignore", ignored, builder.tables(), kTables);
    add_rules(config, "config_groups", groups, builder.tables(), kTables);
  }
}

}  // namespace heddle

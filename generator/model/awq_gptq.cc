// AWQ, GPTQ and AutoRound: integer codes packed into words.
#include <array>

#include "generator/model/method_readers.h"
#include "generator/model/scheme_fields.h"
#include "generator/spec/document.h"

namespace heddle {
namespace {

using PatternKind = ModulePattern::Kind;
constexpr int kNotQuantized = QuantizationBuilder::kNotQuantized;

// The newer name of "checkpoint_format" is "format"; both may be there.
bool is_gptq_v2(const ConfigReader& config) {
  const std::string older = lower(config.string_or("checkpoint_format", ""));
  const std::string newer = lower(config.string_or("format", ""));
  if (!older.empty() && !newer.empty() && older != newer) {
    refuse_quantization(config, "format",
                        "checkpoint_format says " + quoted_excerpt(older) + ", format another",
                        quoted_excerpt(newer), "the same in both");
  }
  const std::string format = !older.empty() ? older : !newer.empty() ? newer : "gptq";
  if (format != "gptq" && format != "gptq_v2") {
    refuse_quantization(config, older.empty() ? "format" : "checkpoint_format",
                        "tensors packed in this form are not read; they would need an importer of "
                        "their own",
                        quoted_excerpt(format), "\"gptq\" or \"gptq_v2\"");
  }
  if (config.bool_or("is_marlin_format", false)) {
    refuse_quantization(
        config, "is_marlin_format",
        "Marlin-packed tensors are not read; they would need an importer of their own", "true",
        "false, or the checkpoint that was converted to Marlin");
  }
  return format == "gptq_v2";
}

int read_word_bytes(const ConfigReader& config) {
  const std::string type = lower(config.string_or("pack_dtype", "int32"));
  constexpr std::array<std::pair<std::string_view, int>, 4> kTypes = {
      {{"int8", 1}, {"int16", 2}, {"int32", 4}, {"int64", 8}}};
  for (const auto& [word, bytes] : kTypes) {
    if (type == word || type == "torch." + std::string(word)) return bytes;
  }
  refuse_quantization(config, "pack_dtype", "codes are not packed into words of this type",
                      quoted_excerpt(type), "int8, int16, int32 or int64");
}

// The widths that are stored in a way which is read.
struct StoredBits {
  unsigned widths;  // bit b: codes of b bits
  const char* why;
  const char* allowed;
};
constexpr StoredBits kAwqBits = {1U << 4, "AWQ's order of codes is that of eight to a word", "4"};
constexpr StoredBits kGptqBits = {
    1U << 2 | 1U << 3 | 1U << 4 | 1U << 8,
    "GPTQ has codes of this width in bit planes (gptq_p) or not at all; planes are not read",
    "2, 3, 4 or 8"};

void require_bits(const ConfigReader& config, std::string_view key, const StoredBits& stored) {
  const Node* node = config.node(key);
  const std::optional<std::int64_t> bits = node == nullptr ? std::nullopt : node->as_integer();
  // read_bits() tells of a value that no width is.
  if (!bits || *bits < 1 || *bits > kMostBits) return;
  if ((stored.widths >> *bits & 1) != 0) return;
  refuse_quantization(config, key, stored.why, std::to_string(*bits), stored.allowed);
}

// A field that has two names may stand under both, with one value.
void require_same(const ConfigReader& config, std::string_view key, std::string_view other) {
  if (!config.has(key) || !config.has(other)) return;
  const std::string value = excerpt(*config.node(key));
  if (value == excerpt(*config.node(other))) return;
  refuse_quantization(config, other, std::string(key) + " says " + value + ", this another",
                      excerpt(*config.node(other)), "the same in both");
}

// The fields that a module may have of its own. Static groups are fixed before the columns are
// reordered: g_idx is in order.
void read_gptq_module(const ConfigReader& config, Scheme& scheme) {
  require_bits(config, "bits", scheme.storage == Storage::kGptq ? kGptqBits : kAwqBits);
  if (config.has("bits")) scheme.bits = read_bits(config, "bits");
  if (config.has("group_size")) scheme.group_size = read_group_size(config, "group_size");
  scheme.symmetric = config.bool_or("sym", scheme.symmetric);
  scheme.act_order =
      config.bool_or("desc_act", scheme.act_order) && !config.bool_or("static_groups", false);
  if (scheme.group_size == kPerChannel) scheme.act_order = false;
}

// As above, for the whole model, whose codes have a width in any case.
void read_gptq_fields(const ConfigReader& config, Scheme& scheme) {
  if (!config.has("bits")) scheme.bits = read_bits(config, "bits");
  read_gptq_module(config, scheme);
}

// GPTQModel's rules in their order: "-:" leaves a module out, "+:" or nothing changes its fields.
void read_dynamic(const ConfigReader& config, const Scheme& scheme, QuantizationBuilder& builder) {
  const Node* dynamic = config.object("dynamic");
  if (dynamic == nullptr) return;
  const ConfigReader rules(*dynamic, config.pointer("dynamic"), config.findings());
  for (const std::string& key : dynamic->keys) {
    const bool signed_key = key.starts_with("-:") || key.starts_with("+:");
    const std::string pattern = signed_key ? key.substr(2) : key;
    int index = kNotQuantized;
    if (!key.starts_with("-:")) {
      Scheme changed = scheme;
      if (const Node* fields = rules.object(key)) {
        read_gptq_module(ConfigReader(*fields, rules.pointer(key), config.findings()), changed);
      }
      index = builder.scheme(changed);
    }
    add_rule(rules, key, PatternKind::kRegexStart, pattern, index, builder.rules());
  }
}

// Optimum's list of lists: only these modules of a block are quantised.
bool read_modules_in_block(const ConfigReader& config, int scheme, QuantizationBuilder& builder) {
  constexpr std::string_view kComponentsKey = "modules_in_block_to_quantize";
  const Node* lists = config.array(kComponentsKey);
  if (lists == nullptr) return false;
  for (const Node& list : lists->items) {
    const std::vector<Node> one = {list};
    for (const Node& name : list.kind == Node::Kind::kArray ? list.items : one) {
      if (name.kind != Node::Kind::kString) {
        config.add("wrong_type", kComponentsKey, "must be an array of arrays of strings");
        return true;
      }
      add_rule(config, kComponentsKey, PatternKind::kComponents, name.text, scheme,
               builder.rules());
    }
  }
  return true;
}

// Names, regular expressions where they have characters of such.
bool is_regex(std::string_view text) { return text.find_first_of("*+?^$()[]{}|\\") != text.npos; }

// The scheme of one entry, which changes some fields of `scheme`.
int read_extra_module(const ConfigReader& fields, Scheme scheme, QuantizationBuilder& builder) {
  constexpr std::int64_t kUnquantizedBits = 16;
  if (fields.has("bits") && fields.required_integer("bits") >= kUnquantizedBits) {
    return kNotQuantized;
  }
  read_gptq_module(fields, scheme);
  const std::string type = fields.string_or("data_type", "int");
  if (type != "int")
    scheme.unread = "AutoRound's data_type " + quoted_excerpt(type) + " is not read";
  return builder.scheme(scheme);
}

// A name counts before an expression, wherever it stands.
void read_extra_config(const ConfigReader& config, const Scheme& scheme,
                       QuantizationBuilder& builder) {
  const Node* extra = config.object("extra_config");
  if (extra == nullptr) return;
  const ConfigReader modules(*extra, config.pointer("extra_config"), config.findings());
  for (const bool expressions : {false, true}) {
    for (const std::string& module : extra->keys) {
      const Node* node = is_regex(module) == expressions ? modules.object(module) : nullptr;
      if (node == nullptr) continue;
      const ConfigReader fields(*node, modules.pointer(module), config.findings());
      const int index = read_extra_module(fields, scheme, builder);
      if (expressions) {
        add_rule(modules, module, PatternKind::kRegex, module, index, builder.rules());
      } else {
        builder.rules().add_name(module, index);
      }
    }
  }
}

// "model.layers", an array of them or of arrays of them, or the same with commas between.
std::vector<std::string> block_names(const ConfigReader& config, std::string_view key) {
  std::vector<std::string> names;
  const Node* node = config.node(key);
  if (node == nullptr) return names;
  std::vector<const Node*> left = {node};
  while (!left.empty()) {
    const Node& next = *left.back();
    left.pop_back();
    for (const Node& item : next.items) left.push_back(&item);
    if (next.kind != Node::Kind::kString) continue;
    std::size_t at = 0;
    while (at <= next.text.size()) {
      const std::size_t comma = std::min(next.text.find(',', at), next.text.size());
      std::string name = next.text.substr(at, comma - at);
      name.erase(0, name.find_first_not_of(' '));
      while (!name.empty() && (name.back() == ' ' || name.back() == '.')) name.pop_back();
      if (!name.empty()) names.push_back(std::move(name));
      at = comma + 1;
    }
  }
  return names;
}

// "packing_format" says how the codes are stored. Older versions have only "backend", the kernel
// that was meant to read them, from which the order follows but not how zero points are stored.
void read_packing(const ConfigReader& config, Scheme& scheme) {
  const std::string_view key = config.spelling({"packing_format", "backend"});
  std::string form = lower(config.string_or(key, "auto_round:auto_gptq"));
  constexpr std::string_view kAutoRoundPrefix = "auto_round:";
  if (form.starts_with(kAutoRoundPrefix)) form.erase(0, kAutoRoundPrefix.size());
  const bool named = key == "packing_format";
  if (form == "auto_awq" || form == "awq" || (!named && form.starts_with("awq"))) {
    scheme.storage = Storage::kAwq;
    return;
  }
  const bool v1 = form == "auto_gptq" || form == "gptq";
  const bool v2 = form == "auto_round" || form == "gptqmodel";
  const bool either = !named && config.bool_or("sym", true);
  if (!v1 && !v2 && !either) {
    refuse_quantization(config, key, "AutoRound tensors packed in this form are not read",
                        quoted_excerpt(form),
                        "auto_round:auto_gptq, auto_round:auto_awq, auto_round:gptqmodel or "
                        "auto_round");
  }
  scheme.storage = Storage::kGptq;
  scheme.zero_is_minus_one = !v2;
}

}  // namespace

void read_awq(const ConfigReader& config, QuantizationBuilder& builder) {
  Scheme scheme;
  const std::string version = lower(config.string_or("version", "gemm"));
  if (version != "gemm" && version != "gemv") {
    refuse_quantization(
        config, "version",
        "AWQ tensors packed in this form are not read; they would need an importer of "
        "their own",
        quoted_excerpt(version), "\"gemm\" or \"gemv\"");
  }
  scheme.storage = version == "gemm" ? Storage::kAwq : Storage::kAwqGemv;
  for (const std::string_view key : {"bits", "w_bit"}) {
    require_bits(config, key, kAwqBits);
    if (config.has(key)) scheme.bits = read_bits(config, key);
  }
  if (!config.has("bits") && !config.has("w_bit")) scheme.bits = read_bits(config, "bits");
  require_same(config, "group_size", "q_group_size");
  scheme.group_size = read_group_size(config, config.spelling({"group_size", "q_group_size"}));
  scheme.symmetric = !config.bool_or("zero_point", true);
  exclude_substrings(config, "modules_to_not_convert", builder);
  leave_out_head(builder);
  builder.otherwise(builder.scheme(scheme));
}

void read_gptq(const ConfigReader& config, QuantizationBuilder& builder) {
  Scheme scheme;
  scheme.storage = Storage::kGptq;
  scheme.zero_is_minus_one = !is_gptq_v2(config);
  scheme.word_bytes = read_word_bytes(config);
  read_gptq_fields(config, scheme);
  read_dynamic(config, scheme, builder);
  exclude_substrings(config, "modules_to_not_convert", builder);
  if (!config.bool_or("lm_head", false)) {
    leave_out_head(builder);
  }
  const int index = builder.scheme(scheme);
  if (!read_modules_in_block(config, index, builder)) {
    builder.otherwise(index);
  } else if (config.bool_or("lm_head", false)) {
    add_rule(config, "lm_head", PatternKind::kComponents, "lm_head", index, builder.rules());
  }
}

void read_auto_round(const ConfigReader& config, QuantizationBuilder& builder) {
  Scheme scheme;
  read_packing(config, scheme);
  const std::string type = config.string_or("data_type", "int");
  if (type != "int") {
    refuse_quantization(config, "data_type", "AutoRound's codes of this type are not read",
                        quoted_excerpt(type), "\"int\"");
  }
  read_gptq_fields(config, scheme);
  read_extra_config(config, scheme, builder);
  const int index = builder.scheme(scheme);
  const std::vector<std::string> blocks =
      block_names(config, config.spelling({"block_name_to_quantize", "to_quant_block_names"}));
  for (const std::string& block : blocks) {
    add_rule(config, "block_name_to_quantize", PatternKind::kName, block, index, builder.rules());
  }
  if (!blocks.empty()) return;
  leave_out_head(builder);
  builder.otherwise(index);
}

}  // namespace heddle

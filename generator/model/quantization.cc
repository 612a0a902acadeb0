#include "generator/model/quantization.h"

#include <algorithm>

#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::int64_t kMostBits = 8;
constexpr std::int64_t kSmallestGroup = 16;  // as in the spec's table
constexpr std::int64_t kLargestGroup = 1 << 20;
constexpr std::string_view kActOrderNote =
    "act-order: the kernels are the same; the engine permutes the columns of X by the checkpoint's "
    "g_idx";

[[noreturn]] void refuse(const ConfigReader& config, std::string_view key, std::string message,
                         std::string value, std::string allowed) {
  throw Error(ErrorCategory::kUnsupported, "model.quantization",
              std::vector<Problem>{{config.pointer(key), std::move(message), std::move(value),
                                    std::move(allowed), ""}});
}

int read_group_size(const ConfigReader& config, std::string_view key) {
  const std::int64_t group = config.required_integer(key);
  if (group == kPerChannel || (group >= kSmallestGroup && group <= kLargestGroup)) {
    return static_cast<int>(group);
  }
  config.add("out_of_range", key, "is out of range", "-1, or 16 to 1048576");
  return kPerChannel;
}

int read_bits(const ConfigReader& config, std::string_view key) {
  return static_cast<int>(config.required_size(key, kMostBits));
}

// Modules that the checkpoint keeps in 16 bits; the list of kernels does not shrink by them, since
// a name may stand for some layers only.
void note_exceptions(const ConfigReader& config, std::string_view key, Quantization& result) {
  for (const std::string& module : config.strings(key)) {
    if (module == "lm_head") continue;
    result.notes.push_back('"' + excerpt(module) +
                           "\" is not quantised in the checkpoint: it needs no kernel");
  }
}

void read_awq(const ConfigReader& config, Quantization& result) {
  std::string version = config.string_or("version", "gemm");
  for (char& c : version) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (version != "gemm") {
    refuse(config, "version", "this order of AWQ's packed weights cannot be imported",
           '"' + excerpt(version) + '"', "\"gemm\"");
  }
  result.weight.bits = read_bits(config, config.spelling({"bits", "w_bit"}));
  result.weight.group_size =
      read_group_size(config, config.spelling({"group_size", "q_group_size"}));
  const bool zero_point = config.bool_or("zero_point", true);
  result.weight.zero_point = zero_point ? ZeroPoint::kInt : ZeroPoint::kNone;
  note_exceptions(config, "modules_to_not_convert", result);
}

void read_gptq(const ConfigReader& config, Quantization& result) {
  result.weight.bits = read_bits(config, "bits");
  result.weight.group_size = read_group_size(config, "group_size");
  result.weight.zero_point = config.bool_or("sym", true) ? ZeroPoint::kNone : ZeroPoint::kInt;
  result.lm_head = config.bool_or("lm_head", false);
  if (config.bool_or("desc_act", false)) result.notes.emplace_back(kActOrderNote);
  const Node* dynamic = config.object("dynamic");
  if (dynamic != nullptr && !dynamic->items.empty()) {
    refuse(config, "dynamic", "the quantisation differs from module to module", excerpt(*dynamic),
           "one quantisation for all");
  }
}

// The weights of a group of compressed-tensors: codes with an offset of 2^(bits-1).
void read_packed_weights(const ConfigReader& config, Quantization& result) {
  if (config.string_or("type", "int") != "int") {
    refuse(config, "type", "compressed-tensors with weights that are not integers", "", "\"int\"");
  }
  result.weight.bits = read_bits(config, "num_bits");
  const std::string strategy = config.required_string("strategy");
  if (strategy == "channel") {
    result.weight.group_size = kPerChannel;
  } else if (strategy == "group") {
    result.weight.group_size = read_group_size(config, "group_size");
  } else if (!strategy.empty()) {
    refuse(config, "strategy", "compressed-tensors with scales that are not per group or channel",
           '"' + excerpt(strategy) + '"', "\"group\" or \"channel\"");
  }
  const bool symmetric = config.bool_or("symmetric", true);
  result.weight.zero_point = symmetric ? ZeroPoint::kNone : ZeroPoint::kInt;
  if (config.has("actorder")) result.notes.emplace_back(kActOrderNote);
}

void read_compressed_tensors(const ConfigReader& config, Quantization& result) {
  const std::string format = config.required_string("format");
  if (!format.empty() && format != "pack-quantized") {
    refuse(config, "format",
           "compressed-tensors in this format (FP8, or quantised activations) cannot be said as a "
           "spec",
           '"' + excerpt(format) + '"', "\"pack-quantized\"");
  }
  const Node* groups = config.object("config_groups");
  if (groups == nullptr || groups->items.empty()) {
    config.add("missing_field", "config_groups", "must be an object with one group");
    return;
  }
  if (groups->items.size() != 1) {
    refuse(config, "config_groups", "the quantisation differs from module to module", "",
           "one group");
  }
  const Node& group_node = groups->items.front();
  const std::string& group_name = groups->keys.front();
  const std::string pointer = config.pointer("config_groups");
  const ConfigReader names(*groups, pointer, config.findings());
  if (names.object(group_name) == nullptr) {
    if (!names.has(group_name)) names.add("wrong_type", group_name, "must be an object");
    return;
  }
  const ConfigReader group(group_node, child_pointer(pointer, group_name), config.findings());
  if (group.has("input_activations")) {
    refuse(group, "input_activations", "compressed-tensors with quantised activations", "", "null");
  }
  const Node* weights = group.object("weights");
  if (weights == nullptr) {
    if (!group.has("weights")) group.add("missing_field", "weights", "the field is required");
    return;
  }
  read_packed_weights(ConfigReader(*weights, group.pointer("weights"), config.findings()), result);
  const std::vector<std::string> ignore = config.strings("ignore");
  result.lm_head = std::find(ignore.begin(), ignore.end(), "lm_head") == ignore.end();
  note_exceptions(config, "ignore", result);
}

}  // namespace

Quantization read_quantization(const ConfigReader& config) {
  Quantization result;
  result.method = config.required_string("quant_method");
  if (result.method == "awq") {
    read_awq(config, result);
  } else if (result.method == "gptq") {
    read_gptq(config, result);
  } else if (result.method == "compressed-tensors") {
    read_compressed_tensors(config, result);
  } else if (!result.method.empty()) {
    refuse(config, "quant_method", "the spec language cannot say this quantisation",
           '"' + excerpt(result.method) + '"',
           "\"awq\", \"gptq\" or \"compressed-tensors\" (pack-quantized)");
  }
  return result;
}

}  // namespace heddle

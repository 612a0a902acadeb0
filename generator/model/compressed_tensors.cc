// compressed-tensors: one group of modules, whose weights are integers or floats.
#include "generator/model/quantization_fields.h"

namespace heddle {
namespace {

// The scales of integers and FP8: per tensor, row, block or group.
int read_strategy(const ConfigReader& config) {
  const std::string strategy = config.required_string("strategy");
  if (strategy == "tensor") return kPerTensor;
  if (strategy == "group") return read_group_size(config, "group_size");
  if (strategy == "block") {
    if (!config.has("block_structure")) {
      config.add("missing_field", "block_structure", "the strategy \"block\" needs the field");
    }
    return read_block_columns(config, "block_structure");
  }
  if (strategy != "channel" && !strategy.empty()) {
    refuse_quantization(config, "strategy",
                        "compressed-tensors with scales of another kind than these",
                        quoted(strategy), "\"tensor\", \"channel\", \"block\" or \"group\"");
  }
  return kPerChannel;
}

void read_scale_dtype(const ConfigReader& config, Quantization& result) {
  const std::string dtype = config.string_or("scale_dtype", "");
  if (dtype.ends_with("float32")) result.scale_dtype = DType::kFp32;
  if (dtype.ends_with("bfloat16")) result.scale_dtype = DType::kBf16;
  if (dtype.ends_with(".float16")) result.scale_dtype = DType::kFp16;
}

// Packed codes have an offset of 2^(bits-1); those of a byte each are signed.
void read_integers(const ConfigReader& config, bool packed, Quantization& result) {
  result.weight.bits = read_bits(config, "num_bits");
  result.weight.group_size = read_strategy(config);
  read_scale_dtype(config, result);
  const bool symmetric = config.bool_or("symmetric", true);
  if (packed) {
    result.weight.zero_point = symmetric ? ZeroPoint::kNone : ZeroPoint::kInt;
    const bool by_group = config.is_true("actorder") || config.text("actorder") == "group" ||
                          config.text("actorder") == "dynamic";
    if (by_group && result.weight.group_size > 0) note_act_order(result);
    return;
  }
  result.weight.type = WeightType::kInt;
  if (!symmetric) {
    refuse_quantization(config, "symmetric", "8-bit weights of a byte each with zero points",
                        "false", "true");
  }
}

void read_fp8(const ConfigReader& config, Quantization& result) {
  set_fp8(read_strategy(config), result);
  result.scale_dtype.reset();  // the model's, unless it is said
  read_scale_dtype(config, result);
}

// `format` says how the weights are stored, `weights` what they are.
void read_weights(const ConfigReader& config, const std::string& format, Quantization& result) {
  const std::string type = config.string_or("type", "int");
  const std::int64_t bits = config.required_integer("num_bits");
  if (format == "pack-quantized" && type == "int") {
    read_integers(config, true, result);
  } else if (format == "nvfp4-pack-quantized" && type == "float" && bits == 4) {
    set_nvfp4(result);
  } else if (format == "mxfp4-pack-quantized" && type == "float" && bits == 4) {
    set_mxfp4(result);
  } else if (format == "mxfp8-quantized" && type == "float" && bits == 8) {
    set_mxfp8(result);
  } else if ((format == "float-quantized" || format == "naive-quantized") && type == "float" &&
             bits == 8) {
    read_fp8(config, result);
  } else if ((format == "int-quantized" || format == "naive-quantized") && type == "int" &&
             bits == 8) {
    read_integers(config, false, result);
  } else {
    refuse_quantization(config, "type",
                        "compressed-tensors in the format " + quoted(format) +
                            " with weights of this type and " + std::to_string(bits) + " bits",
                        quoted(type), "a pair of format and type that docs/spec.md lists");
  }
}

bool is_known(const std::string& format) {
  for (const char* known : {"pack-quantized", "float-quantized", "int-quantized", "naive-quantized",
                            "nvfp4-pack-quantized", "mxfp4-pack-quantized", "mxfp8-quantized"}) {
    if (format == known) return true;
  }
  return false;
}

}  // namespace

void read_compressed_tensors(const ConfigReader& config, Quantization& result) {
  const std::string format = config.required_string("format");
  if (!format.empty() && !is_known(format)) {
    refuse_quantization(config, "format",
                        "compressed-tensors in this format cannot be said as a spec",
                        quoted(format),
                        "\"pack-quantized\", \"float-quantized\", \"int-quantized\", "
                        "\"naive-quantized\", \"nvfp4-pack-quantized\", \"mxfp4-pack-quantized\" "
                        "or \"mxfp8-quantized\"");
  }
  const Node* groups = config.object("config_groups");
  if (groups == nullptr || groups->items.empty()) {
    config.add("missing_field", "config_groups", "must be an object with one group");
    return;
  }
  if (groups->items.size() != 1) {
    refuse_quantization(config, "config_groups", "the quantisation differs from module to module",
                        "", "one group");
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
  const Node* weights = group.object("weights");
  if (weights == nullptr) {
    if (!group.has("weights")) group.add("missing_field", "weights", "the field is required");
    return;
  }
  read_weights(ConfigReader(*weights, group.pointer("weights"), config.findings()), format, result);
  if (group.object("input_activations") != nullptr) note_activations(result);
  result.lm_head = true;
  note_exceptions(config, "ignore", result);
}

}  // namespace heddle

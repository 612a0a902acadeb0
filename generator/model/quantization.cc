#include "generator/model/quantization.h"

#include "generator/model/quantization_fields.h"

namespace heddle {
namespace {

std::string in_case(std::string text, char first, char last, int change) {
  for (char& c : text) c = c >= first && c <= last ? static_cast<char>(c + change) : c;
  return text;
}
std::string lower(std::string text) { return in_case(std::move(text), 'A', 'Z', 'a' - 'A'); }
std::string upper(std::string text) { return in_case(std::move(text), 'a', 'z', 'A' - 'a'); }

void read_awq(const ConfigReader& config, Quantization& result) {
  const std::string version = lower(config.string_or("version", "gemm"));
  if (version != "gemm") {
    refuse_quantization(config, "version", "this order of AWQ's packed weights cannot be imported",
                        quoted(version), "\"gemm\"");
  }
  result.weight.bits = read_bits(config, config.spelling({"bits", "w_bit"}));
  result.weight.group_size =
      read_group_size(config, config.spelling({"group_size", "q_group_size"}));
  const bool zero_point = config.bool_or("zero_point", true);
  result.weight.zero_point = zero_point ? ZeroPoint::kInt : ZeroPoint::kNone;
  note_exceptions(config, "modules_to_not_convert", result);
}

void read_gptq(const ConfigReader& config, Quantization& result) {
  const std::string format = config.string_or("checkpoint_format", "gptq");
  if (format != "gptq" && format != "gptq_v2") {
    refuse_quantization(config, "checkpoint_format", "this form of GPTQ cannot be imported",
                        quoted(format), "\"gptq\" or \"gptq_v2\"");
  }
  if (config.has("modules_in_block_to_quantize")) {
    result.notes.emplace_back(
        "modules_in_block_to_quantize is not read: kernels are of all projections, and modules "
        "that "
        "are not quantised need none");
  }
  result.weight.bits = read_bits(config, "bits");
  result.weight.group_size = read_group_size(config, "group_size");
  result.weight.zero_point = config.bool_or("sym", true) ? ZeroPoint::kNone : ZeroPoint::kInt;
  result.lm_head = config.bool_or("lm_head", false);
  // Static groups are fixed before the columns are reordered: g_idx is in order.
  const bool static_groups = config.bool_or("static_groups", false);
  if (config.bool_or("desc_act", false) && !static_groups &&
      result.weight.group_size != kPerChannel) {
    note_act_order(result);
  }
  const Node* dynamic = config.object("dynamic");
  if (dynamic != nullptr && !dynamic->items.empty()) {
    refuse_quantization(config, "dynamic", "the quantisation differs from module to module",
                        excerpt(*dynamic), "one quantisation for all");
  }
}

// Hugging Face's own FP8.
void read_fp8(const ConfigReader& config, Quantization& result) {
  const std::string format = lower(config.string_or("fmt", "e4m3"));
  if (format != "e4m3") {
    refuse_quantization(config, "fmt", "this form of FP8 cannot be said as a spec", quoted(format),
                        "\"e4m3\"");
  }
  set_fp8(read_block_columns(config, "weight_block_size"), result);
  if (config.has("activation_scheme")) note_activations(result);
  for (const char* key : {"ignored_layers", "modules_to_not_convert"}) {
    note_exceptions(config, key, result);
  }
}

void read_modelopt(const ConfigReader& config, Quantization& result) {
  constexpr int kBlock = 128;
  const std::string algorithm = upper(config.required_string("quant_algo"));
  result.lm_head = true;
  note_exceptions(config, config.spelling({"ignore", "exclude_modules"}), result);
  if (algorithm == "FP8") {
    set_fp8(kPerTensor, result);
  } else if (algorithm == "FP8_PER_CHANNEL_PER_TOKEN") {
    set_fp8(kPerChannel, result);
  } else if (algorithm == "FP8_PB_WO") {
    set_fp8(kBlock, result);
  } else if (algorithm == "MXFP8") {
    set_mxfp8(result);
  } else if (algorithm == "NVFP4" || algorithm == "NVFP4_AWQ" || algorithm == "W4A16_NVFP4") {
    set_nvfp4(result);
    result.pre_scale = algorithm == "NVFP4_AWQ";
  } else if (!algorithm.empty()) {
    refuse_quantization(config, "quant_algo",
                        "this form of Model Optimizer cannot be said as a spec", quoted(algorithm),
                        "FP8, FP8_PER_CHANNEL_PER_TOKEN, FP8_PB_WO, MXFP8, NVFP4, NVFP4_AWQ or "
                        "W4A16_NVFP4");
  }
  if (algorithm != "FP8_PB_WO" && algorithm != "W4A16_NVFP4") note_activations(result);
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
  } else if (result.method == "fp8") {
    read_fp8(config, result);
  } else if (result.method == "modelopt") {
    read_modelopt(config, result);
  } else if (result.method == "mxfp4") {
    set_mxfp4(result);
    note_exceptions(config, "modules_to_not_convert", result);
  } else if (!result.method.empty()) {
    refuse_quantization(config, "quant_method", "the spec language cannot say this quantisation",
                        quoted(result.method),
                        "\"awq\", \"gptq\", \"compressed-tensors\", \"fp8\", \"modelopt\" or "
                        "\"mxfp4\"");
  }
  return result;
}

}  // namespace heddle

#include "checkpoint/config.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "generator/model/config_reader.h"
#include "heddle/error.h"

namespace heddle {
namespace {

using Method = CheckpointConfig::Method;

constexpr DocumentLimits kLimits{.bytes = std::size_t{4} << 20, .depth = 64};
constexpr std::int64_t kMostBits = 8;
constexpr std::int64_t kLargestBlock = 1 << 20;

[[noreturn]] void refuse(const ConfigReader& config, std::string_view key, std::string message,
                         std::string value, std::string allowed) {
  throw Error(ErrorCategory::kUnsupported, "checkpoint.quantization",
              std::vector<Problem>{{config.pointer(key), std::move(message), std::move(value),
                                    std::move(allowed), ""}});
}

std::string quoted(std::string_view text) { return '"' + excerpt(text) + '"'; }

int read_bits(const ConfigReader& config, std::string_view key) {
  return static_cast<int>(config.required_size(key, kMostBits));
}

int read_group_size(const ConfigReader& config, std::string_view key) {
  if (!config.has(key)) return 0;
  const std::int64_t group = config.required_integer(key);
  if (group == kPerChannel || (group >= 1 && group <= kLargestBlock)) {
    return static_cast<int>(group);
  }
  config.add("out_of_range", key, "is out of range", "-1, or 1 to 1048576");
  return 0;
}

void read_awq(const ConfigReader& config, CheckpointConfig& result) {
  std::string version = config.string_or("version", "gemm");
  for (char& c : version) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (version != "gemm") {
    refuse(config, "version", "this order of AWQ's packed weights cannot be read", quoted(version),
           "\"gemm\"");
  }
  result.method = Method::kAwq;
  result.bits = read_bits(config, config.spelling({"bits", "w_bit"}));
  result.group_size = read_group_size(config, config.spelling({"group_size", "q_group_size"}));
  result.symmetric = !config.bool_or("zero_point", true);
}

void read_gptq(const ConfigReader& config, CheckpointConfig& result) {
  result.method = Method::kGptq;
  result.bits = read_bits(config, "bits");
  result.group_size = read_group_size(config, "group_size");
  result.symmetric = config.bool_or("sym", true);
  const std::string format = config.string_or("checkpoint_format", "gptq");
  if (format != "gptq" && format != "gptq_v2") {
    refuse(config, "checkpoint_format", "this form of GPTQ cannot be read", quoted(format),
           "\"gptq\" or \"gptq_v2\"");
  }
  result.zero_is_minus_one = format == "gptq";
  const Node* dynamic = config.object("dynamic");
  if (dynamic != nullptr && !dynamic->items.empty()) {
    refuse(config, "dynamic", "the quantisation differs from module to module", excerpt(*dynamic),
           "one quantisation for all");
  }
}

void read_fp8_blocks(const ConfigReader& config, const Node& node, std::string_view key,
                     CheckpointConfig& result) {
  const Node* block = node.find(key);
  if (block == nullptr || block->kind == Node::Kind::kNull) return;
  if (block->kind != Node::Kind::kArray || block->items.size() != 2) {
    config.add("wrong_type", key, "must be an array of two integers");
    return;
  }
  int* const sides[] = {&result.fp8_block_n, &result.fp8_block_k};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t side = block->items[i].as_integer().value_or(0);
    if (side < 1 || side > kLargestBlock) {
      config.add("out_of_range", key, "has a side that is out of range",
                 "1 to " + std::to_string(kLargestBlock));
      return;
    }
    *sides[i] = static_cast<int>(side);
  }
}

// Every group of the config must say the same of bits and symmetry; what is not quantised is seen
// from the tensors.
void read_compressed_tensors(const ConfigReader& config, CheckpointConfig& result) {
  result.method = Method::kCompressedTensors;
  const Node* groups = config.object("config_groups");
  if (groups == nullptr) return;
  const ConfigReader names(*groups, config.pointer("config_groups"), config.findings());
  for (const std::string& name : groups->keys) {
    const Node* group = names.object(name);
    if (group == nullptr) continue;
    const ConfigReader reader(*group, names.pointer(name), config.findings());
    const Node* weights = reader.object("weights");
    if (weights == nullptr) continue;
    const ConfigReader fields(*weights, reader.pointer("weights"), config.findings());
    if (fields.string_or("type", "int") != "int") {  // floats: the tensors tell all but blocks
      read_fp8_blocks(fields, *weights, "block_structure", result);
      continue;
    }
    const int bits = read_bits(fields, "num_bits");
    if (result.bits != 0 && result.bits != bits) {
      refuse(fields, "num_bits", "the width of the weights differs from module to module",
             std::to_string(bits), "one width");
    }
    result.bits = bits;
    result.symmetric = fields.bool_or("symmetric", true);
  }
}

// The tensors tell which of these each layer is; other forms would be taken for plain tensors.
void read_modelopt(const ConfigReader& config, CheckpointConfig& result) {
  constexpr std::string_view kKnown[] = {
      "FP8",        "FP8_PER_CHANNEL_PER_TOKEN", "FP8_PB_WO", "MXFP8", "NVFP4", "NVFP4_AWQ",
      "W4A16_NVFP4"};
  result.method = Method::kModelopt;
  std::string algorithm = config.required_string("quant_algo");
  for (char& c : algorithm) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  if (algorithm.empty()) return;
  if (std::find(std::begin(kKnown), std::end(kKnown), algorithm) == std::end(kKnown)) {
    refuse(config, "quant_algo", "this form of Model Optimizer cannot be read", quoted(algorithm),
           "FP8, FP8_PER_CHANNEL_PER_TOKEN, FP8_PB_WO, MXFP8, NVFP4, NVFP4_AWQ or W4A16_NVFP4");
  }
}

void read_quantization(const ConfigReader& config, const Node& node, CheckpointConfig& result) {
  const std::string method = config.required_string("quant_method");
  if (method == "awq") {
    read_awq(config, result);
  } else if (method == "gptq") {
    read_gptq(config, result);
  } else if (method == "compressed-tensors") {
    read_compressed_tensors(config, result);
  } else if (method == "fp8") {
    result.method = Method::kFp8;
    read_fp8_blocks(config, node, "weight_block_size", result);
  } else if (method == "modelopt") {
    read_modelopt(config, result);
  } else if (method == "mxfp4") {
    result.method = Method::kMxfp4;
  } else if (!method.empty()) {
    refuse(config, "quant_method", "checkpoints of this quantisation cannot be read",
           quoted(method),
           "\"awq\", \"gptq\", \"compressed-tensors\", \"fp8\", \"mxfp4\" or \"modelopt\"");
  }
}

std::optional<DType> read_dtype(const ConfigReader& config) {
  std::string dtype = config.string_or(config.spelling({"torch_dtype", "dtype"}), "");
  constexpr std::string_view kPrefix = "torch.";
  if (dtype.starts_with(kPrefix)) dtype.erase(0, kPrefix.size());
  if (dtype == "bfloat16") return DType::kBf16;
  if (dtype == "float16") return DType::kFp16;
  return std::nullopt;
}

}  // namespace

CheckpointConfig read_checkpoint_config(std::string_view json) {
  Findings findings("checkpoint");
  const std::optional<Node> root = read_document(json, kLimits, findings);
  if (root && root->kind != Node::Kind::kObject) {
    findings.add("wrong_type", {"", "the document must be an object", excerpt(*root), "", ""});
  }
  findings.throw_if_any();
  const ConfigReader config(*root, "", findings);
  CheckpointConfig result;
  result.dtype = read_dtype(config);
  if (const Node* node = config.object("quantization_config")) {
    read_quantization(ConfigReader(*node, "/quantization_config", findings), *node, result);
  }
  findings.throw_if_any();
  return result;
}

}  // namespace heddle

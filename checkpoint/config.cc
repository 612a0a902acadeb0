#include "checkpoint/config.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "generator/model/config_documents.h"
#include "generator/model/quantization_builder.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::int64_t kMostHidden = 1 << 20;
constexpr std::int64_t kMostHeads = 1 << 16;

std::optional<DType> read_dtype(const ConfigReader& config) {
  std::string dtype = config.string_or(config.spelling({"torch_dtype", "dtype"}), "");
  constexpr std::string_view kPrefix = "torch.";
  if (dtype.starts_with(kPrefix)) dtype.erase(0, kPrefix.size());
  if (dtype == "bfloat16") return DType::kBf16;
  if (dtype == "float16") return DType::kFp16;
  for (const char* other : {"", "auto", "float32", "float64", "float8_e4m3fn"}) {
    if (dtype == other) return std::nullopt;
  }
  throw Error(ErrorCategory::kUnsupported, "model.dtype",
              std::vector<Problem>{{config.pointer(config.spelling({"torch_dtype", "dtype"})),
                                    "this type of a model's weights is not known", quoted(dtype),
                                    "\"float16\", \"bfloat16\" or \"float32\"", ""}});
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::int64_t heads_of(const ConfigReader& config) {
  return config.size_or(config.spelling({"num_attention_heads", "n_head"}), 0, kMostHeads);
}

FusedQkv grouped(const char* module, const ConfigReader& config, std::int64_t heads,
                 std::int64_t groups) {
  if (heads % groups != 0) {
    config.add("out_of_range", config.spelling({"num_attention_heads", "n_head"}),
               "is no multiple of the heads of keys", std::to_string(groups) + " or a multiple");
  }
  return {module, groups, heads / groups};
}

// Falcon's older models have one head of keys for all queries (its rows are in order already) or as
// many as of queries; its newer ones have groups. Configs of the time before the flag for that say
// it by n_head_kv.
std::optional<FusedQkv> falcon_qkv(const ConfigReader& config, std::int64_t heads) {
  if (config.bool_or("new_decoder_architecture", config.has("n_head_kv"))) {
    const std::int64_t groups =
        config.size_or(config.spelling({"num_kv_heads", "n_head_kv"}), heads, kMostHeads);
    return grouped("query_key_value", config, heads, groups);
  }
  if (config.bool_or("multi_query", true)) return std::nullopt;
  return FusedQkv{"query_key_value", heads, 1};
}

std::optional<FusedQkv> read_fused_qkv(const std::string& model_type, const ConfigReader& config) {
  const std::int64_t heads = heads_of(config);
  if (heads == 0) return std::nullopt;
  if (is_one_of(model_type, {"bloom", "gpt_neox", "gpt_neox_japanese", "persimmon"})) {
    return FusedQkv{"query_key_value", heads, 1};
  }
  if (is_one_of(model_type, {"falcon", "RefinedWeb", "RefinedWebModel"})) {
    return falcon_qkv(config, heads);
  }
  if (model_type == "gpt_bigcode" && !config.bool_or("multi_query", true)) {
    return FusedQkv{"c_attn", heads, 1};
  }
  if (model_type == "chatglm" && !config.bool_or("multi_query_attention", false)) {
    return FusedQkv{"query_key_value", heads, 1};
  }
  if (model_type == "internlm2") {
    return grouped("wqkv", config, heads, config.size_or("num_key_value_heads", heads, kMostHeads));
  }
  return std::nullopt;
}

}  // namespace

CheckpointConfig read_checkpoint_config(const ModelConfigTexts& texts) {
  Findings findings("checkpoint");
  const ConfigDocuments documents(texts, findings);
  const ConfigReader config = documents.language();
  CheckpointConfig result;
  result.model_type = documents.model_type();
  result.dtype = read_dtype(config);
  if (!result.dtype) result.dtype = read_dtype(documents.config());
  result.quantization = documents.quantization();
  result.hidden_size =
      config.size_or(config.spelling({"hidden_size", "n_embd", "n_embed"}), 0, kMostHidden);
  result.transposed_linears = is_one_of(result.model_type, {"gpt2", "openai-gpt"});
  result.heads = heads_of(config);
  const bool one_for_all = result.model_type.starts_with("falcon") &&
                           config.bool_or("multi_query", true) &&
                           !config.bool_or("new_decoder_architecture", config.has("n_head_kv"));
  const auto key_heads = config.spelling({"num_key_value_heads", "num_kv_heads", "n_head_kv"});
  result.kv_heads = one_for_all ? 1 : config.size_or(key_heads, result.heads, kMostHeads);
  result.fused_qkv = read_fused_qkv(result.model_type, config);
  findings.throw_if_any();
  return result;
}

CheckpointConfig read_checkpoint_config(std::string_view json) {
  ModelConfigTexts texts;
  texts.config = json;
  return read_checkpoint_config(texts);
}

}  // namespace heddle

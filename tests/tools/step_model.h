// A small model to make a decode step of, as heddle bench --step reads it.
#ifndef HEDDLE_TESTS_TOOLS_STEP_MODEL_H_
#define HEDDLE_TESTS_TOOLS_STEP_MODEL_H_

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "heddle/model.h"

namespace heddle::testing {

inline nlohmann::json small_llama() {
  return nlohmann::json::parse(R"({
    "model_type": "llama", "torch_dtype": "float16", "hidden_act": "silu", "hidden_size": 256,
    "intermediate_size": 512, "num_attention_heads": 4, "num_key_value_heads": 2,
    "num_hidden_layers": 3, "rms_norm_eps": 1e-5, "rope_theta": 10000, "vocab_size": 640,
    "quantization_config": {"quant_method": "awq", "version": "gemm", "bits": 4,
                            "group_size": 128, "zero_point": true}})");
}

// Experts of each kind that a step has: with norms of heads, with biases, sinks and windows.
inline nlohmann::json small_mixtral() {
  nlohmann::json config = small_llama();
  config.merge_patch(nlohmann::json::parse(
      R"({"model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2})"));
  return config;
}
inline nlohmann::json small_qwen3_moe() {
  nlohmann::json config = small_llama();
  config.merge_patch(nlohmann::json::parse(R"({
    "model_type": "qwen3_moe", "head_dim": 64, "num_experts": 8, "num_experts_per_tok": 2,
    "moe_intermediate_size": 128, "decoder_sparse_step": 1, "norm_topk_prob": true,
    "mlp_only_layers": [1]})"));
  return config;
}
inline nlohmann::json small_gpt_oss() {
  nlohmann::json config = small_llama();
  config.merge_patch(nlohmann::json::parse(R"({
    "model_type": "gpt_oss", "torch_dtype": "bfloat16", "head_dim": 64, "num_local_experts": 8,
    "num_experts_per_tok": 2, "sliding_window": 64,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]})"));
  config["quantization_config"] = {{"quant_method", "mxfp4"}};
  return config;
}

// With the operations on its cache.
inline Model step_model(const nlohmann::json& config, bool gated = false,
                        const std::string& kv = R"({"dtype":"int8","granularity":"head"})") {
  const std::string text = config.dump();
  ModelConfigTexts texts;
  texts.config = text;
  texts.dense = true;
  texts.gated = gated;
  Model model = model_from_config(texts);
  Model cache = cache_model_from_config(text, kv);
  const int first = static_cast<int>(model.kernels.size());
  for (ModelKernel& kernel : cache.kernels) model.kernels.push_back(std::move(kernel));
  for (ModelLayer& layer : cache.layers) {
    if (layer.kernel >= 0) layer.kernel += first;
    model.layers.push_back(std::move(layer));
  }
  return model;
}

// As above, for at most so many tokens, which takes fewer kernels.
inline Model narrowed(Model model, std::int64_t m_max) {
  for (ModelKernel& kernel : model.kernels) {
    if (const auto* moe = kernel.spec.get_if<MoeSpec>()) {
      MoeSpec narrow = *moe;
      narrow.shape.tokens_max = m_max;
      kernel.spec = Spec::from_moe(narrow, kernel.spec.name());
      if (!kernel.routed) continue;
      narrow.router = kernel.routed->moe().router;
      kernel.routed = Spec::from_moe(narrow, kernel.spec.name());
    }
    if (kernel.spec.op() != Op::kGemm) continue;
    GemmSpec gemm = kernel.spec.gemm();
    gemm.shape.m_max = m_max;
    kernel.spec = Spec::from_gemm(gemm, kernel.spec.name());
  }
  for (ModelKernel& kernel : model.rows) {
    RowTransformSpec rows = kernel.spec.row_transform();
    rows.shape.m_max = m_max;
    kernel.spec = Spec::from_row_transform(rows, kernel.spec.name());
  }
  return model;
}

}  // namespace heddle::testing

#endif  // HEDDLE_TESTS_TOOLS_STEP_MODEL_H_

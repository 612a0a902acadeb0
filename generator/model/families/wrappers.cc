// Models of images and sound around a language model, whose config is a member of theirs.
#include "generator/model/family_table.h"

namespace heddle {

const std::vector<Wrapper>& wrappers() {
  // Checkpoints of before Transformers 4.52 have the second of two bodies.
  static const std::vector<std::string_view> kInner = {"model.language_model",
                                                       "language_model.model", "model"};
  static const std::vector<std::string_view> kInnerHeads = {"lm_head", "language_model.lm_head",
                                                            "lm_head"};
  static const std::vector<std::string_view> kOuter = {"language_model.model",
                                                       "model.language_model"};
  static const std::vector<std::string_view> kOuterHeads = {"language_model.lm_head", "lm_head"};
  static const std::vector<Wrapper> rows = {
      {"Llama 4", {"llama4"}, kOuter, kOuterHeads, "llama4_text"},
      {"Llama 3.2 Vision", {"mllama"}, kOuter, kOuterHeads, "mllama_text_model"},
      {"Mistral 3", {"mistral3"}, kOuter, kOuterHeads, "mistral"},
      {"Pixtral, LLaVA", {"llava", "llava_next", "pixtral"}, kOuter, kOuterHeads},
      {"Gemma 3", {"gemma3"}, kOuter, kOuterHeads, "gemma3_text"},
      {"Gemma 3n", {"gemma3n"}, kInner, kInnerHeads, "gemma3n_text"},
      {"Gemma 4", {"gemma4", "gemma4_unified"}, kInner, kInnerHeads, "gemma4_text"},
      {"Qwen2-VL",
       {"qwen2_vl"},
       {"model", "model.language_model"},
       {"lm_head", "lm_head"},
       "qwen2_vl_text"},
      {"Qwen2.5-VL",
       {"qwen2_5_vl"},
       {"model", "model.language_model"},
       {"lm_head", "lm_head"},
       "qwen2_5_vl_text"},
      {"Qwen2.5-Omni",
       {"qwen2_5_omni", "qwen2_5_omni_thinker"},
       {"thinker.model", "model"},
       {"thinker.lm_head", "lm_head"},
       "qwen2_5_omni_text"},
      {"Qwen3-VL", {"qwen3_vl"}, kInner, kInnerHeads, "qwen3_vl_text"},
      {"Qwen3-VL MoE", {"qwen3_vl_moe"}, kInner, kInnerHeads, "qwen3_vl_moe_text"},
      {"Qwen3-Omni",
       {"qwen3_omni_moe", "qwen3_omni_moe_thinker"},
       {"thinker.model", "model"},
       {"thinker.lm_head", "lm_head"},
       "qwen3_omni_moe_text"},
      {"Qwen 3.5 and 3.6", {"qwen3_5"}, kInner, kInnerHeads, "qwen3_5_text"},
      {"Qwen 3.5 and 3.6 MoE", {"qwen3_5_moe"}, kInner, kInnerHeads, "qwen3_5_moe_text"},
      {"GLM-4V", {"glm4v"}, kInner, kInnerHeads, "glm4v_text"},
      {"GLM-4.5V", {"glm4v_moe"}, kInner, kInnerHeads, "glm4v_moe_text"},
      {"Kimi K2.5 and 2.6", {"kimi_k25"}, kOuter, kOuterHeads, "kimi_k2"},
      {"Kimi K3", {"kimi_k3"}, kOuter, kOuterHeads, "kimi_linear"},
      {"MiniMax-M3", {"minimax_m3_vl"}, kOuter, kOuterHeads, "minimax_m3_vl_text"},
      {"Step 3.7",
       {"step3p7"},
       {"model", "model.language_model"},
       {"lm_head", "lm_head"},
       "step3p5"},
      {"InternVL", {"internvl", "internvl_chat"}, kOuter, kOuterHeads},
      {"Cohere Vision", {"cohere2_vision", "aya_vision"}, kOuter, kOuterHeads, "cohere2"},
  };
  return rows;
}

}  // namespace heddle

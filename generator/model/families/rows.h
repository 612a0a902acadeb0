// Rows that several families have alike: the modules of Llama, whose names most models took over.
#ifndef HEDDLE_GENERATOR_MODEL_FAMILIES_ROWS_H_
#define HEDDLE_GENERATOR_MODEL_FAMILIES_ROWS_H_

#include <initializer_list>

#include "generator/model/family.h"

namespace heddle {

inline LinearRows join(std::initializer_list<LinearRows> lists) {
  LinearRows all;
  for (const LinearRows& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

inline constexpr Expression kAttentionBias = "attention_bias ?? false";
inline constexpr Expression kMlpBias = "mlp_bias ?? false";
// Whether lm_head shares the embeddings' weights. A config that does not say so, and is inside of
// none that does, means no (kTied) or yes (kTiedByDefault, of models without a config around them).
inline constexpr Expression kTied = "tie_word_embeddings ?? root.tie_word_embeddings ?? false";
inline constexpr Expression kTiedByDefault = "tie_word_embeddings ?? true";
// A field that Mistral's and others' configs always have.
inline constexpr NamedExpression kKvHeadsGiven = {
    "kv_heads", "required_else(num_key_value_heads, class_default_kv_heads)"};

// q_proj, k_proj, v_proj and o_proj of grouped-query attention.
inline LinearRows self_attention(Expression bias = "false", Expression out_bias = "false",
                                 Expression q_rows = "heads * head_dim") {
  return {
      {"self_attn.q_proj", q_rows, "hidden", Role::kQ, "qkv_proj", bias},
      {"self_attn.k_proj", "kv_heads * head_dim", "hidden", Role::kK, "qkv_proj", bias},
      {"self_attn.v_proj", "kv_heads * value_dim", "hidden", Role::kV, "qkv_proj", bias},
      {"self_attn.o_proj", "hidden", "heads * value_dim", Role::kOut, "", out_bias},
  };
}

inline LinearRows gated_mlp(Expression inner = "inner", Expression bias = "false") {
  return {
      {"mlp.gate_proj", inner, "hidden", Role::kGate, "gate_up_proj", bias},
      {"mlp.up_proj", inner, "hidden", Role::kUp, "gate_up_proj", bias},
      {"mlp.down_proj", "hidden", inner, Role::kDown, "", bias},
  };
}

// A module that quantisers leave in 16 bits.
inline LinearRow small(std::string_view path, Expression n, Expression k = "hidden",
                       Expression when = "true") {
  return {path, n, k, Role::kOther, "", "false", when, Module::kSmall};
}

// One matrix of each expert.
inline LinearRow expert(std::string_view path, Expression n, Expression k, Role role,
                        Expression bias = "false") {
  return {path, n, k, role, "", bias, "true", Module::kExpert, "experts"};
}

inline LinearRow convolution(std::string_view path, Expression channels, Expression taps) {
  return {path, channels, taps, Role::kOther, "", "false", "true", Module::kConvolution};
}

// The recurrence of a mixer, which has no matrix.
inline LinearRow scan(std::string_view path) {
  return {path, "1", "1", Role::kOther, "", "false", "true", Module::kScan};
}

// Experts of three matrices each, and their router.
inline LinearRows gated_experts(Expression inner = "expert_inner", Expression width = "hidden") {
  return {
      small("mlp.gate", "experts"),
      expert("mlp.experts.*.gate_proj", inner, width, Role::kGate),
      expert("mlp.experts.*.up_proj", inner, width, Role::kUp),
      expert("mlp.experts.*.down_proj", width, inner, Role::kDown),
  };
}

// As above, by the names that Mixtral gave them.
inline LinearRows w_experts(Expression inner = "expert_inner") {
  return {
      small("block_sparse_moe.gate", "experts"),
      expert("block_sparse_moe.experts.*.w1", inner, "hidden", Role::kGate),
      expert("block_sparse_moe.experts.*.w3", inner, "hidden", Role::kUp),
      expert("block_sparse_moe.experts.*.w2", "hidden", inner, Role::kDown),
  };
}

// Names of Mixtral, also of the classes that were made of its.
inline std::vector<NamedExpression> mixtral_names() {
  return {{"class_default_kv_heads", "8"},   {"class_default_epsilon", "0.00001"},
          {"class_default_base", "1000000"}, kKvHeadsGiven,
          {"experts", "num_local_experts"},  {"expert_inner", "inner"}};
}

// Experts that every token takes, as one matrix of all of them.
inline LinearRows shared_experts(Expression inner, Expression when) {
  return {
      {"mlp.shared_experts.gate_proj", inner, "hidden", Role::kGate, "gate_up_proj", kMlpBias,
       when},
      {"mlp.shared_experts.up_proj", inner, "hidden", Role::kUp, "gate_up_proj", kMlpBias, when},
      {"mlp.shared_experts.down_proj", "hidden", inner, Role::kDown, "", kMlpBias, when},
  };
}

// Keys and values are made of a narrow latent vector, which alone is cached; so are queries where
// q_lora_rank is given.
inline LinearRows latent_attention() {
  return {
      {"self_attn.q_proj", "heads * head_dim", "hidden", Role::kOther, "", "false", "q_rank == 0"},
      {"self_attn.q_a_proj", "q_rank", "hidden", Role::kOther, "fused_qkv_a_proj", kAttentionBias,
       "q_rank > 0"},
      {"self_attn.kv_a_proj_with_mqa", "kv_rank + rope_dim", "hidden", Role::kOther,
       "fused_qkv_a_proj", kAttentionBias},
      {"self_attn.q_b_proj", "heads * head_dim", "q_rank", Role::kOther, "", "false", "q_rank > 0"},
      {"self_attn.kv_b_proj", "heads * (nope_dim + value_dim)", "kv_rank"},
      {"self_attn.o_proj", "hidden", "heads * value_dim", Role::kOther, "", kAttentionBias},
  };
}

inline const std::vector<NamedExpression>& latent_names() {
  static const std::vector<NamedExpression> names = {
      {"q_rank", "q_lora_rank ?? 0"},   {"kv_rank", "kv_lora_rank"},
      {"nope_dim", "qk_nope_head_dim"}, {"rope_dim", "qk_rope_head_dim"},
      {"value_dim", "v_head_dim"},      {"head_dim", "nope_dim + rope_dim"}};
  return names;
}

inline std::vector<NamedExpression> with(std::vector<NamedExpression> names,
                                         std::initializer_list<NamedExpression> more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

inline AttentionRow latent_facts() {
  AttentionRow row;
  row.kv_heads = "1";
  row.rope = {
      .pairing = RopePairing::kGptj, .neox_when = "!(rope_interleave ?? true)", .dim = "rope_dim"};
  row.q_rank = "q_rank";
  row.kv_rank = "kv_rank";
  row.rope_dim = "rope_dim";
  return row;
}

// Queries that grow with their position, in models for long texts.
inline constexpr RemarkRow kLlama4Scaling = {
    "(rope_parameters.llama_4_scaling_beta ?? rope_scaling.llama_4_scaling_beta ?? 0) > 0",
    "behind their rotation queries are multiplied by 1 + "
    "{rope_parameters.llama_4_scaling_beta ?? rope_scaling.llama_4_scaling_beta} * log(1 + "
    "floor(position / {rope_parameters.original_max_position_embeddings ?? "
    "rope_scaling.original_max_position_embeddings ?? max_position_embeddings})) "
    "(llama_4_scaling_beta), which kv_append does not do",
    Consequence::kAttentionNote};

// Queries and keys of far chunks of a text have other positions.
inline constexpr RemarkRow kDualChunks = {
    "given(dual_chunk_attention_config)",
    "dual_chunk_attention_config: kernels are right for sequences of up to "
    "{dual_chunk_attention_config.chunk_size - dual_chunk_attention_config.local_size} tokens "
    "(chunk_size - local_size); beyond them positions are those within chunks",
    Consequence::kAttentionNote};

inline constexpr RemarkRow kClippedQkv = {
    "(clip_qkv ?? 0) > 0",
    "queries, keys and values are clamped to +-{clip_qkv} (clip_qkv), which no kernel does",
    Consequence::kAttentionNote};

inline constexpr RemarkRow kPositionEmbeddings = {"true",
                                                  "positions are embeddings of their own (wpe)"};

// With YaRN, latent attention scales its scores, too.
inline constexpr RemarkRow kLatentScale = {
    "(rope_scaling.mscale_all_dim ?? rope_parameters.mscale_all_dim ?? 0) > 0",
    "scores are also multiplied by the square of 1 + 0.1 * "
    "{rope_scaling.mscale_all_dim ?? rope_parameters.mscale_all_dim} * "
    "log({rope_scaling.factor ?? rope_parameters.factor}) (mscale_all_dim)",
    Consequence::kAttentionNote};

// Granite multiplies the output of each half.
inline constexpr Expression kGranitePlainSum = "(residual_multiplier ?? 1) == 1";

inline constexpr Expression kIsSliding = "layer_types[layer] == 'sliding_attention'";
inline constexpr Expression kIsFull = "layer_types[layer] == 'full_attention'";

inline const OtherRow kNextTokens = {"mtp", "num_nextn_predict_layers ?? 0",
                                     "layers that predict further tokens are not described yet"};

// The rows of each file.
const std::vector<FamilyRow>& llama_relatives();
const std::vector<FamilyRow>& qwen_relatives();
const std::vector<FamilyRow>& gemma_relatives();
const std::vector<FamilyRow>& glm_relatives();
const std::vector<FamilyRow>& deepseek_relatives();
const std::vector<FamilyRow>& gpt_relatives();
const std::vector<FamilyRow>& mixtures();
const std::vector<FamilyRow>& minimax_relatives();
const std::vector<FamilyRow>& mimo_and_step();
const std::vector<FamilyRow>& hybrids();

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_FAMILIES_ROWS_H_

// Mixtures of experts with grouped-query attention: Llama 4, Mixtral, Granite, DBRX, gpt-oss ...
#include "generator/model/families/rows.h"

namespace heddle {
namespace {

// Llama 4 turns queries and keys in three layers of four, which also see only their own chunk.
constexpr Expression kLlama4Turns =
    "no_rope_layers[layer] != 0 ?? (layer + 1) % (no_rope_layer_interval ?? 4) != 0";

LinearRows llama4_experts() {
  return {
      small("feed_forward.router", "experts"),
      expert("feed_forward.experts.*.gate_proj", "inner", "hidden", Role::kGate),
      expert("feed_forward.experts.*.up_proj", "inner", "hidden", Role::kUp),
      expert("feed_forward.experts.*.down_proj", "hidden", "inner", Role::kDown),
      {"feed_forward.shared_expert.gate_proj", "inner", "hidden", Role::kGate, "gate_up_proj"},
      {"feed_forward.shared_expert.up_proj", "inner", "hidden", Role::kUp, "gate_up_proj"},
      {"feed_forward.shared_expert.down_proj", "hidden", "inner", Role::kDown},
  };
}

LinearRows llama4_dense() {
  return {
      {"feed_forward.gate_proj", "intermediate_size_mlp", "hidden", Role::kGate, "gate_up_proj"},
      {"feed_forward.up_proj", "intermediate_size_mlp", "hidden", Role::kUp, "gate_up_proj"},
      {"feed_forward.down_proj", "hidden", "intermediate_size_mlp", Role::kDown},
  };
}

// gpt-oss alternates windows and full attention, with a sink in each.
AttentionRow gpt_oss_attention(Expression window) {
  return {.window = window, .sinks = "true", .sinks_path = "self_attn.sinks"};
}

// Its gates and ups are rows of one matrix that take turns.
LinearRows gpt_oss_experts() {
  LinearRow gate_up =
      expert("mlp.experts.gate_up_proj", "2 * inner", "hidden", Role::kGateUp, "true");
  gate_up.order = RowOrder::kByPairs;
  LinearRow router = small("mlp.router", "experts");
  router.bias = "true";
  return {router, gate_up, expert("mlp.experts.down_proj", "hidden", "inner", Role::kDown, "true")};
}

LinearRows granite_experts() {
  return {
      small("block_sparse_moe.router.layer", "experts"),
      expert("block_sparse_moe.input_linear", "2 * inner", "hidden", Role::kGateUp),
      expert("block_sparse_moe.output_linear", "hidden", "inner", Role::kDown),
  };
}

}  // namespace

const std::vector<FamilyRow>& mixtures() {
  static const std::vector<FamilyRow> rows = {
      {
          .name = "Llama 4",
          .model_types = {"llama4_text"},
          .names = {{"class_default_kv_heads", "8"},
                    {"class_default_epsilon", "0.00001"},
                    {"head_dim", "assumed(head_dim, 128) ?? hidden / heads"},
                    {"class_default_base", "500000"},
                    kKvHeadsGiven,
                    {"experts", "num_local_experts"}},
          .mixers = {{.name = "chunked_attention",
                      .when = kLlama4Turns,
                      .linears = self_attention(kAttentionBias, kAttentionBias),
                      .attention = {.chunk = "when(layer_types[layer] == 'chunked_attention' ?? "
                                             "true, assumed(attention_chunk_size, 8192)) ?? 0",
                                    .qk_norm = QkNorm::kUnit,
                                    .qk_norm_when = "use_qk_norm ?? true",
                                    .rope = {.pairing = RopePairing::kGptj}}},
                     {.linears = self_attention(kAttentionBias, kAttentionBias),
                      .attention = {.chunk = "when(layer_types[layer] == 'chunked_attention' ?? "
                                             "false, attention_chunk_size) ?? 0",
                                    .rope = {.when = "false"}}}},
          .feed_forwards = {{.kind = FeedForwardKind::kExperts,
                             .when = "moe_layers has layer ?? "
                                     "(layer + 1) % (interleave_moe_layer_step ?? 1) == 0",
                             .linears = llama4_experts(),
                             .experts = {.inner = "inner",
                                         .shared = "1",
                                         .scoring = "'sigmoid'",
                                         .normalised = "false",
                                         .routed = "true",
                                         .weighs_input = "true"}},
                            {.linears = llama4_dense()}},
          .tied = kTied,
          .remarks = {{"attn_temperature_tuning ?? true",
                       "layers without rotations multiply queries by 1 + {attn_scale ?? 0.1} * "
                       "log(1 + floor((position + 1) / {floor_scale ?? 8192})) "
                       "(attn_temperature_tuning), which kv_append does not do",
                       Consequence::kAttentionNote}},
      },
      {
          .name = "Mixtral",
          .model_types = {"mixtral"},
          .names = mixtral_names(),
          .mixers = {{.linears = self_attention(), .attention = {.window = "sliding_window ?? 0"}}},
          .feed_forwards = {{.kind = FeedForwardKind::kExperts,
                             .linears = w_experts(),
                             .experts = {.routed = "true"}}},
      },
      {
          .name = "Phi-3.5 MoE",
          .model_types = {"phimoe"},
          .names = mixtral_names(),
          .mixers = {{.linears = self_attention(kAttentionBias, kAttentionBias),
                      .attention = {.window = "sliding_window ?? 0"}}},
          .feed_forwards = {{.kind = FeedForwardKind::kExperts,
                             .linears = w_experts(),
                             .experts = {.scoring = "'sparsemixer'", .normalised = "false"}}},
          .norm = {.kind = NormKind::kLayer},
          .head_bias = "lm_head_bias ?? false",
      },
      {
          .name = "OLMoE",
          .model_types = {"olmoe"},
          .names = {{"class_default_epsilon", "0.00001"}, kKvHeadsGiven, {"expert_inner", "inner"}},
          .mixers = {{.linears = self_attention(kAttentionBias, kAttentionBias),
                      .attention = {.qk_norm = QkNorm::kAll}}},
          .feed_forwards = {{.kind = FeedForwardKind::kExperts,
                             .linears = gated_experts(),
                             .experts = {.normalised = "norm_topk_prob ?? false",
                                         .routed = "true"}}},
          .remarks = {kClippedQkv,
                      {"given(sliding_window)",
                       "sliding_window: windows are not known of this model type",
                       Consequence::kNoAttention}},
      },
      {
          .name = "Granite MoE",
          .model_types = {"granitemoe", "granitemoeshared"},
          .names = {kKvHeadsGiven, {"experts", "num_local_experts"}, {"expert_inner", "inner"}},
          .mixers = {{.linears = self_attention(kAttentionBias, kAttentionBias),
                      .attention = {.scale_dim =
                                        "ratio(1, attention_multiplier * attention_multiplier)"}}},
          .feed_forwards =
              {{.kind = FeedForwardKind::kExperts,
                .linears =
                    join({granite_experts(),
                          {{"shared_mlp.input_linear", "2 * shared_intermediate_size", "hidden",
                            Role::kGateUp, "", "false", "(shared_intermediate_size ?? 0) > 0"},
                           {"shared_mlp.output_linear", "hidden", "shared_intermediate_size",
                            Role::kDown, "", "false", "(shared_intermediate_size ?? 0) > 0"}}}),
                .experts = {.shared = "(shared_intermediate_size ?? 0) > 0", .routed = "true"}}},
          .norm = {.plain_sum = kGranitePlainSum},
          .multipliers = {{"embedding", "embedding_multiplier ?? 1"},
                          {"residual", "residual_multiplier ?? 1"},
                          {"logits", "ratio(1, logits_scaling ?? 1)"}},
      },
      {
          .name = "DBRX",
          .model_types = {"dbrx"},
          .body = "transformer",
          .layers = "blocks",
          .names = {{"hidden", "d_model"},
                    {"heads", "n_heads"},
                    {"layers", "n_layers"},
                    {"kv_heads", "attn_config.kv_n_heads"},
                    {"experts", "ffn_config.moe_num_experts"},
                    {"expert_inner", "ffn_config.ffn_hidden_size"}},
          .mixers = {{.linears = {{"norm_attn_norm.attn.Wqkv", "(heads + 2 * kv_heads) * head_dim",
                                   "hidden", Role::kQkv},
                                  {"norm_attn_norm.attn.out_proj", "hidden", "hidden", Role::kOut}},
                      .attention = {.rope = {.base = "attn_config.rope_theta ?? "
                                                     "rope_parameters.rope_theta"}}}},
          .feed_forwards =
              {{.kind = FeedForwardKind::kExperts,
                .linears = {small("ffn.router.layer", "experts"),
                            expert("ffn.experts.mlp.w1", "expert_inner", "hidden", Role::kGate),
                            expert("ffn.experts.mlp.v1", "expert_inner", "hidden", Role::kUp),
                            expert("ffn.experts.mlp.w2", "hidden", "expert_inner", Role::kDown)},
                .experts = {.per_token = "ffn_config.moe_top_k",
                            .routed = "ffn_config.moe_normalize_expert_weights == 1 ?? false"}}},
          .norm = {NormKind::kLayer, NormPlace::kBefore, "0.00001"},
          .activation = "ffn_config.ffn_act_fn.name ?? 'silu'",
          .remarks = {{"(attn_config.clip_qkv ?? 0) > 0",
                       "queries, keys and values are clamped to +-{attn_config.clip_qkv} "
                       "(attn_config.clip_qkv), which no kernel does",
                       Consequence::kAttentionNote},
                      {"ffn_config.moe_normalize_expert_weights != 1",
                       "weights of experts are divided by their "
                       "{ffn_config.moe_normalize_expert_weights}-norm"}},
          .unused = {"ffn_config.hidden_size"},  // classes take d_model
      },
      {
          .name = "gpt-oss",
          .model_types = {"gpt_oss"},
          .names = {{"class_default_kv_heads", "8"},
                    {"class_default_epsilon", "0.00001"},
                    {"class_default_base", "150000"},
                    kKvHeadsGiven,
                    {"head_dim", "head_dim ?? 64"},
                    {"experts", "num_local_experts"},
                    {"expert_inner", "inner"}},
          .mixers = {{.name = "sliding_attention",
                      .when = "layer_types[layer] == 'sliding_attention' ?? layer % 2 == 0",
                      .linears = self_attention("attention_bias ?? true", "attention_bias ?? true"),
                      .attention = gpt_oss_attention("sliding_window")},
                     {.when = "layer_types[layer] == 'full_attention' ?? true",
                      .linears = self_attention("attention_bias ?? true", "attention_bias ?? true"),
                      .attention = gpt_oss_attention("0")}},
          .feed_forwards = {{.kind = FeedForwardKind::kExperts,
                             .linears = gpt_oss_experts(),
                             .experts = {.per_token = "num_experts_per_tok ?? experts_per_token",
                                         .routed = "true",
                                         .clamp_limit = "swiglu_limit ?? 7",
                                         .clamp_factor = "swiglu_alpha ?? 1.702"}}},
          .plain_gate = "false",  // gates and ups are clamped, and their rows take turns
          .remarks = {{"(swiglu_limit ?? 7) == 0", "gates would all be clamped to 0",
                       Consequence::kRefusal},
                      {"true",
                       "experts clamp their gates and ups to {swiglu_limit ?? 7} (swiglu_limit), "
                       "multiply gates by {swiglu_alpha ?? 1.702} in their sigmoid (swiglu_alpha) "
                       "and have biases"}},
      },
  };
  return rows;
}

}  // namespace heddle

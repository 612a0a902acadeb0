// Mixtures of experts with grouped-query attention: Mixtral, DBRX, MiniMax, Llama 4, gpt-oss ...
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
AttentionRow gpt_oss_attention(Expression window) { return {.window = window, .sinks = "true"}; }

// Its gates and ups are rows of one matrix that take turns.
LinearRows gpt_oss_experts() {
  LinearRow gate_up =
      expert("mlp.experts.gate_up_proj", "2 * inner", "hidden", Role::kGateUp, "true");
  gate_up.order = RowOrder::kByPairs;
  return {small("mlp.router", "experts"), gate_up,
          expert("mlp.experts.down_proj", "hidden", "inner", Role::kDown, "true")};
}

// MiMo's layers with a window have other heads than those without.
LinearRows mimo_attention(Expression q, Expression k, Expression v, Expression out) {
  return {
      {"self_attn.q_proj", q, "hidden", Role::kQ, "qkv_proj", kAttentionBias},
      {"self_attn.k_proj", k, "hidden", Role::kK, "qkv_proj", kAttentionBias},
      {"self_attn.v_proj", v, "hidden", Role::kV, "qkv_proj", kAttentionBias},
      {"self_attn.o_proj", "hidden", out, Role::kOut},
  };
}

std::vector<FeedForwardRow> step_feed_forwards() {
  return {{.when = "mlp_layer_types[layer] == 'dense' ?? !(moe_layers_enum has layer) ?? "
                   "moe_layer_freq[layer] == 0 ?? "
                   "layer < (first_k_dense_replace ?? 3)",
           .linears = gated_mlp("inner", kMlpBias)},
          {.kind = FeedForwardKind::kExperts,
           .linears = {small("moe.gate", "experts"),
                       expert("moe.gate_proj", "expert_inner", "hidden", Role::kGate),
                       expert("moe.up_proj", "expert_inner", "hidden", Role::kUp),
                       expert("moe.down_proj", "hidden", "expert_inner", Role::kDown),
                       {"share_expert.gate_proj", "share_expert_dim ?? share_expert_dims", "hidden",
                        Role::kGate, "gate_up_proj", kMlpBias},
                       {"share_expert.up_proj", "share_expert_dim ?? share_expert_dims", "hidden",
                        Role::kUp, "gate_up_proj", kMlpBias},
                       {"share_expert.down_proj", "hidden", "share_expert_dim ?? share_expert_dims",
                        Role::kDown, "", kMlpBias}},
           .experts = {.per_token = "num_experts_per_tok ?? moe_top_k",
                       .shared = "n_shared_experts ?? 1",
                       .scoring = "scoring_func ?? moe_router_activation ?? 'sigmoid'",
                       .scale = "moe_router_scaling_factor ?? 1",
                       .bias = "use_moe_router_bias ?? true",
                       .plain_gate = "(swiglu_limits[layer] ?? 0) == 0"}}};
}

// A gate for each head multiplies what attention makes.
LinearRows step_attention(Expression heads_gate, Expression q, Expression k_out) {
  return {
      {"self_attn.q_proj", q, "hidden", Role::kQ, "qkv_proj", kAttentionBias},
      {"self_attn.k_proj", "kv_heads * head_dim", "hidden", Role::kK, "qkv_proj", kAttentionBias},
      {"self_attn.v_proj", "kv_heads * head_dim", "hidden", Role::kV, "qkv_proj", kAttentionBias},
      {"self_attn.g_proj", heads_gate, "hidden"},
      {"self_attn.o_proj", "hidden", k_out, Role::kOut, "", kAttentionBias},
  };
}

LinearRows granite_experts() {
  return {
      small("block_sparse_moe.router.layer", "experts"),
      expert("block_sparse_moe.input_linear", "2 * inner", "hidden", Role::kGateUp),
      expert("block_sparse_moe.output_linear", "hidden", "inner", Role::kDown),
  };
}

// Also of the classes that were made of Mixtral's.
std::vector<NamedExpression> mixtral_names() {
  return {{"class_default_kv_heads", "8"},   {"class_default_epsilon", "0.00001"},
          {"class_default_base", "1000000"}, kKvHeadsGiven,
          {"experts", "num_local_experts"},  {"expert_inner", "inner"}};
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
                .experts = {.per_token = "ffn_config.moe_top_k"}}},
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
          .remarks = {{"true",
                       "experts clamp their gates and ups to {swiglu_limit ?? 7} (swiglu_limit), "
                       "multiply gates by {swiglu_alpha ?? 1.702} in their sigmoid (swiglu_alpha) "
                       "and have biases"}},
      },
      {
          .name = "MiniMax-Text-01, MiniMax-M1",
          .model_types = {"minimax", "minimax_m1", "minimax_text_01"},
          .names = mixtral_names(),
          .mixers = {{.kind = MixerKind::kLinearAttention,
                      .name = "linear_attention",
                      .when = "layer_types[layer] == 'linear_attention' ?? "
                              "attn_type_list[layer] == 0 ?? (layer + 1) % 2 == 0",
                      .linears = {{"self_attn.qkv_proj", "3 * heads * head_dim", "hidden"},
                                  {"self_attn.output_gate", "heads * head_dim", "hidden"},
                                  scan("self_attn.lightning_attention"),
                                  {"self_attn.out_proj", "hidden", "heads * head_dim"}}},
                     {.when = "layer_types[layer] == 'full_attention' ?? "
                              "attn_type_list[layer] == 1 ?? true",
                      .linears = self_attention(),
                      .attention = {.window = "sliding_window ?? 0",
                                    .rope = {.dim = "rotary_dim ?? head_dim"}}}},
          .feed_forwards = {{.kind = FeedForwardKind::kExperts, .linears = w_experts()}},
          .norm = {.plain_sum = "false"},
          .remarks = {{"true",
                       "residuals and outputs are multiplied: of attention by "
                       "{full_attn_alpha_factor ?? layernorm_full_attention_alpha ?? 1} and "
                       "{full_attn_beta_factor ?? layernorm_full_attention_beta ?? 1}, of linear "
                       "attention by {linear_attn_alpha_factor ?? layernorm_linear_attention_alpha "
                       "?? 1} and {linear_attn_beta_factor ?? layernorm_linear_attention_beta ?? "
                       "1}, of experts by {mlp_alpha_factor ?? layernorm_mlp_alpha ?? 1} and "
                       "{mlp_beta_factor ?? layernorm_mlp_beta ?? 1}"},
                      {"!postnorm", "postnorm is false: residuals are those before the norms"},
                      {"(shared_intermediate_size ?? 0) > 0",
                       "shared_intermediate_size: shared experts are not known of this model type",
                       Consequence::kRefusal}},
          .unused = {"shared_moe_mode"},
      },
      {
          .name = "MiniMax-M2",
          .model_types = {"minimax_m2"},
          .names = {{"class_default_kv_heads", "8"},
                    {"head_dim", "assumed(head_dim, 128) ?? hidden / heads"},
                    {"class_default_base", "5000000"},
                    {"rope_rows",
                     "rotary_dim ?? floor(head_dim * (partial_rotary_factor ?? "
                     "rope_parameters.partial_rotary_factor ?? 1))"},
                    kKvHeadsGiven,
                    {"experts", "num_local_experts"},
                    {"expert_inner", "inner"}},
          .mixers = {{.linears = self_attention(),
                      .attention = {.qk_norm = QkNorm::kAll,
                                    .qk_norm_when = "use_qk_norm ?? true",
                                    .rope = {.dim = "rope_rows"}}}},
          .feed_forwards = {{.kind = FeedForwardKind::kExperts,
                             .linears = w_experts(),
                             .experts = {.scoring = "scoring_func ?? 'sigmoid'",
                                         .bias = "use_routing_bias ?? true"}}},
          .others = {{"mtp", "!!(use_mtp ?? false) * (num_mtp_modules ?? 0)",
                      "layers that predict further tokens are not described yet"}},
          .remarks = {{"attn_type_list has 0",
                       "attn_type_list: linear attention is not known of this model type",
                       Consequence::kRefusal},
                      {"qk_norm_type != 'per_layer'",
                       "qk_norm_type: norms of queries and keys are {qk_norm_type}",
                       Consequence::kNoAttention},
                      {"(shared_intermediate_size ?? 0) > 0",
                       "shared_intermediate_size: shared experts are not known of this model type",
                       Consequence::kRefusal}},
      },
      {
          // Sparse layers choose blocks of tokens with an indexer.
          .name = "MiniMax-M3",
          .model_types = {"minimax_m3_vl_text", "minimax_m3"},
          .names = {{"class_default_kv_heads", "4"},
                    {"head_dim", "assumed(head_dim, 128) ?? hidden / heads"},
                    {"class_default_base", "5000000"},
                    {"rope_rows",
                     "rotary_dim ?? floor(head_dim * (partial_rotary_factor ?? "
                     "rope_parameters.partial_rotary_factor)) ?? assumed(rotary_dim, 64)"},
                    kKvHeadsGiven,
                    {"experts", "num_local_experts"},
                    {"expert_inner", "intermediate_size"},
                    {"inner", "dense_intermediate_size"},
                    {"index_rows",
                     "(sparse_attention_config.sparse_num_index_heads ?? "
                     "index_n_heads) * index_dim"},
                    {"index_dim", "sparse_attention_config.sparse_index_dim ?? index_head_dim"}},
          .mixers =
              {{.name = "block_sparse_attention",
                .when = "layer_types[layer] == 'minimax_m3_sparse' ?? "
                        "sparse_attention_config.sparse_attention_freq[layer] != 0",
                .linears = join({self_attention(),
                                 {{"self_attn.index_q_proj", "index_rows", "hidden"},
                                  {"self_attn.index_k_proj", "index_dim", "hidden"}}}),
                .attention = {.qk_norm = QkNorm::kHead,
                              .qk_norm_when = "use_qk_norm ?? true",
                              .rope = {.dim = "rope_rows"},
                              .index_heads = "sparse_attention_config.sparse_num_index_heads ?? "
                                             "index_n_heads",
                              .index_tokens = "(sparse_attention_config.sparse_topk_blocks ?? "
                                              "index_topk_blocks) * "
                                              "(sparse_attention_config.sparse_block_size ?? "
                                              "index_block_size)"}},
               {.when = "layer_types[layer] == 'full_attention' ?? true",
                .linears = self_attention(),
                .attention = {.qk_norm = QkNorm::kHead,
                              .qk_norm_when = "use_qk_norm ?? true",
                              .rope = {.dim = "rope_rows"}}}},
          .feed_forwards =
              {{.when = "mlp_layer_types[layer] == 'dense' ?? moe_layer_freq[layer] == 0",
                .linears = gated_mlp()},
               {.kind = FeedForwardKind::kExperts,
                .linears =
                    join({w_experts(),
                          {{"block_sparse_moe.shared_experts.gate_proj", "shared_intermediate_size",
                            "hidden", Role::kGate, "gate_up_proj"},
                           {"block_sparse_moe.shared_experts.up_proj", "shared_intermediate_size",
                            "hidden", Role::kUp, "gate_up_proj"},
                           {"block_sparse_moe.shared_experts.down_proj", "hidden",
                            "shared_intermediate_size", Role::kDown}}}),
                .experts = {.shared = "n_shared_experts ?? 1",
                            .scoring = "scoring_func ?? 'sigmoid'",
                            .scale = "assumed(routed_scaling_factor, 2) ?? 1",
                            .bias = "use_routing_bias ?? true",
                            .clamp_limit = "swiglu_limit ?? 7",
                            .clamp_factor = "swiglu_alpha ?? 1.702"}}},
          .norm = {.kind = NormKind::kRmsPlusOne, .kind_when = "use_gemma_norm ?? true"},
          .plain_gate = "false",  // gates and ups are clamped
          .tied = kTied,
          .others = {{"mtp", "num_mtp_modules ?? 0",
                      "layers that predict further tokens are not described yet"}},
          .remarks = {{"true",
                       "gates and ups are clamped to {swiglu_limit ?? 7} (swiglu_limit), gates are "
                       "multiplied by {swiglu_alpha ?? 1.702} in their sigmoid (swiglu_alpha)"},
                      {"attention_output_gate", "attention_output_gate adds a matrix of gates",
                       Consequence::kRefusal},
                      {"qk_norm_type != 'per_head'",
                       "qk_norm_type: norms of queries and keys are {qk_norm_type}",
                       Consequence::kNoAttention},
                      {"true",
                       "sparse layers also see the last "
                       "{sparse_attention_config.sparse_local_block ?? index_local_blocks ?? 1} "
                       "and the first {sparse_attention_config.sparse_init_block ?? 0} blocks",
                       Consequence::kAttentionNote},
                      {"!sparse_attention_config.use_sparse_attention",
                       "use_sparse_attention is false: all layers attend to all tokens",
                       Consequence::kRefusal},
                      {"sparse_attention_config.sparse_score_type != 'max'",
                       "sparse_score_type: a block's score is its tokens' "
                       "{sparse_attention_config.sparse_score_type}",
                       Consequence::kAttentionNote}},
          .unused = {"sparse_attention_config.sparse_disable_index_value"},
      },
      {
          .name = "MiMo",
          .model_types = {"mimo"},
          .names = {kKvHeadsGiven},
          .mixers = {{.linears = self_attention("attention_bias ?? true")}},
          .feed_forwards = {{.linears = gated_mlp()}},
          .others = {kNextTokens},
      },
      {
          .name = "MiMo V2 Flash",
          .model_types = {"mimo_v2_flash"},
          .names = {{"class_default_kv_heads", "4"},
                    {"class_default_epsilon", "0.00001"},
                    {"head_dim", "assumed(head_dim, 192) ?? hidden / heads"},
                    kKvHeadsGiven,
                    {"value_dim", "assumed(v_head_dim, 128) ?? head_dim"},
                    {"experts", "n_routed_experts"},
                    {"expert_inner", "moe_intermediate_size"},
                    {"swa_heads", "swa_num_attention_heads ?? heads"},
                    {"swa_kv_heads", "swa_num_key_value_heads ?? kv_heads"},
                    {"swa_dim", "swa_head_dim ?? head_dim"},
                    {"swa_value_dim", "swa_v_head_dim ?? value_dim"}},
          .mixers =
              {
                  {.name = "sliding_attention",
                   .when = "layer_types[layer] == 'sliding_attention' ?? "
                           "hybrid_layer_pattern[layer] == 1",
                   .linears =
                       mimo_attention("swa_heads * swa_dim", "swa_kv_heads * swa_dim",
                                      "swa_kv_heads * swa_value_dim", "swa_heads * swa_value_dim"),
                   .attention = {.heads = "swa_heads",
                                 .kv_heads = "swa_kv_heads",
                                 .head_dim = "swa_dim",
                                 .value_dim = "swa_value_dim",
                                 .scale_dim = "swa_dim",
                                 .window = "sliding_window_size + 1 ?? sliding_window",
                                 .sinks = "add_swa_attention_sink_bias ?? true",
                                 .rope = {.kind = "sliding_attention",
                                          .base = "rope_parameters.sliding_attention.rope_theta ?? "
                                                  "swa_rope_theta"}}},
                  {.when =
                       "layer_types[layer] == 'full_attention' ?? hybrid_layer_pattern[layer] == 0",
                   .linears = mimo_attention("heads * head_dim", "kv_heads * head_dim",
                                             "kv_heads * value_dim", "heads * value_dim"),
                   .attention = {.sinks = "add_full_attention_sink_bias ?? false",
                                 .rope = {.kind = "full_attention"}}}},
          .feed_forwards = {{.when = "mlp_layer_types[layer] == 'dense' ?? "
                                     "moe_layer_freq[layer] == 0",
                             .linears = gated_mlp()},
                            {.kind = FeedForwardKind::kExperts,
                             .linears = gated_experts(),
                             .experts = {.scoring = "scoring_func ?? 'sigmoid'",
                                         .groups = "n_group ?? 1",
                                         .groups_per_token = "topk_group ?? 1",
                                         .normalised = "norm_topk_prob ?? true",
                                         .scale = "routed_scaling_factor ?? 1",
                                         .bias = "true"}}},
          .norm = {.epsilon = "rms_norm_eps ?? layernorm_epsilon"},
          .multipliers = {{"attention_value", "assumed(attention_value_scale, 0.707) ?? 1"}},
          .others = {kNextTokens},
          .unused = {"attention_chunk_size", "n_shared_experts", "topk_method"},
      },
      {
          .name = "Step 3.5 and 3.7 Flash",
          .model_types = {"step3p5", "step3p7", "step3p7_text"},
          .names = {{"head_dim", "assumed(head_dim, 128) ?? hidden / heads"},
                    {"layers_may_differ", "true"},
                    {"kv_heads", "num_key_value_heads ?? num_attention_groups"},
                    {"experts",
                     "num_experts ?? moe_num_experts ?? n_routed_experts ?? num_local_experts"},
                    {"expert_inner", "moe_intermediate_size"},
                    {"swa_heads",
                     "num_sliding_attention_heads ?? "
                     "per_layer_config[layer].num_attention_heads ?? "
                     "attention_other_setting.num_attention_heads ?? heads"}},
          .mixers = {{.name = "sliding_attention",
                      .when = kIsSliding,
                      .linears = step_attention("swa_heads", "swa_heads * head_dim",
                                                "swa_heads * head_dim"),
                      .attention = {.heads = "swa_heads",
                                    .scale_dim = "query_pre_attn_scalar ?? head_dim",
                                    .window = "sliding_window",
                                    .gate = "true",
                                    .qk_norm = QkNorm::kHead,
                                    .rope = {.kind = "sliding_attention",
                                             .part = "partial_rotary_factors[layer] ?? 1",
                                             .class_default_base = "rope_theta[layer] ?? 10000",
                                             .scaling = "rope_parameters.sliding_attention."
                                                        "rope_type ?? ''"}}},
                     {.when = kIsFull,
                      .linears = step_attention("heads", "heads * head_dim", "heads * head_dim"),
                      .attention = {.scale_dim = "query_pre_attn_scalar ?? head_dim",
                                    .gate = "true",
                                    .qk_norm = QkNorm::kHead,
                                    .rope = {.kind = "full_attention",
                                             .part = "partial_rotary_factors[layer] ?? 1",
                                             .class_default_base = "rope_theta[layer] ?? 10000"}}}},
          .feed_forwards = step_feed_forwards(),
          .norm = {.kind = NormKind::kRmsPlusOne, .epsilon = "rms_norm_eps ?? 0.00001"},
          .plain_gate = "false",  // some layers clamp their gates and ups
          .tied = kTied,
          .others = {kNextTokens},
          .remarks = {{"given(sparse_attention_config)",
                       "sparse_attention_config: sparse layers are not known of this model type",
                       Consequence::kRefusal},
                      {"gating != true && gating != 'per-head'",
                       "gating: g_proj has other rows than one for each head",
                       Consequence::kRefusal},
                      {"given(swiglu_limits) || given(swiglu_limits_shared)",
                       "some layers clamp their gates and ups (swiglu_limits, "
                       "swiglu_limits_shared)"}},
      },
  };
  return rows;
}

}  // namespace heddle

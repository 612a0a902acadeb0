// MiniMax-Text-01 to M3.
#include "generator/model/families/rows.h"

namespace heddle {

const std::vector<FamilyRow>& minimax_relatives() {
  static const std::vector<FamilyRow> rows = {
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
          .feed_forwards = {{.kind = FeedForwardKind::kExperts,
                             .linears = w_experts(),
                             .experts = {.routed = "model_type == 'minimax'"}}},
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
                                         .bias = "use_routing_bias ?? true",
                                         .routed = "scoring_func == 'sigmoid' ?? true"}}},
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
                            .routed = "scoring_func == 'sigmoid' ?? true",
                            .clamp_limit = "swiglu_limit ?? 7",
                            .clamp_factor = "swiglu_alpha ?? 1.702"}}},
          .norm = {.kind = NormKind::kRmsPlusOne, .kind_when = "use_gemma_norm ?? true"},
          .plain_gate = "false",  // gates and ups are clamped
          .tied = kTied,
          .others = {{"mtp", "num_mtp_modules ?? 0",
                      "layers that predict further tokens are not described yet"}},
          .remarks = {{"(swiglu_limit ?? 7) == 0", "gates would all be clamped to 0",
                       Consequence::kRefusal},
                      {"true",
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
  };
  return rows;
}

}  // namespace heddle

// Mixtures whose layers with a window have other heads than those without: MiMo, Step 3.5.
#include "generator/model/families/rows.h"

namespace heddle {
namespace {

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

}  // namespace

const std::vector<FamilyRow>& mimo_and_step() {
  static const std::vector<FamilyRow> rows = {
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
              {{.name = "sliding_attention",
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
                              .sinks_path = "self_attn.attention_sink_bias",
                              .rope = {.kind = "sliding_attention",
                                       .base = "rope_parameters.sliding_attention.rope_theta ?? "
                                               "swa_rope_theta"}}},
               {.when =
                    "layer_types[layer] == 'full_attention' ?? hybrid_layer_pattern[layer] == 0",
                .linears = mimo_attention("heads * head_dim", "kv_heads * head_dim",
                                          "kv_heads * value_dim", "heads * value_dim"),
                .attention = {.sinks = "add_full_attention_sink_bias ?? false",
                              .sinks_path = "self_attn.attention_sink_bias",
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
                                         .bias = "true",
                                         .routed = "(scoring_func == 'sigmoid' ?? true) && "
                                                   "(topk_method == 'noaux_tc' ?? true) && "
                                                   "num_experts_per_tok > 1"}}},
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

// Gemma: norms that multiply by 1 + weight, embeddings that are scaled, windows in most layers.
#include "generator/model/families/rows.h"

namespace heddle {
namespace {

const NormRow kAround = {NormKind::kRmsPlusOne, NormPlace::kAround, "rms_norm_eps"};
constexpr Expression kTiedHereOrAround = "tie_word_embeddings ?? root.tie_word_embeddings ?? true";
constexpr Expression kActivation = "hidden_activation ?? hidden_act ?? 'gelu_pytorch_tanh'";
// Configs of the first Gemma say "gelu" in hidden_act and mean its approximation.
constexpr Expression kFirstActivation =
    "hidden_activation ?? when(hidden_act != 'gelu', hidden_act) ?? 'gelu_pytorch_tanh'";

// Layers that reuse the keys and values of one before have no matrices for them.
constexpr Expression kOwnKv = "layer < layers - kv_shared";

LinearRows shared_kv_attention(Expression kv_rows, Expression when_v) {
  return {
      {"self_attn.q_proj", "heads * head_dim", "hidden", Role::kQ, "qkv_proj", kAttentionBias},
      {"self_attn.k_proj", kv_rows, "hidden", Role::kK, "qkv_proj", kAttentionBias, kOwnKv},
      {"self_attn.v_proj", kv_rows, "hidden", Role::kV, "qkv_proj", kAttentionBias, when_v},
      {"self_attn.o_proj", "hidden", "heads * head_dim", Role::kOut, "", kAttentionBias},
  };
}

LinearRows per_layer_inputs(Expression when) {
  return {{"per_layer_input_gate", "hidden_size_per_layer_input", "hidden", Role::kOther, "",
           "false", when},
          {"per_layer_projection", "hidden", "hidden_size_per_layer_input", Role::kOther, "",
           "false", when}};
}

LinearRows per_layer_projection(Expression when) {
  return {{"per_layer_model_projection", "layers * hidden_size_per_layer_input", "hidden",
           Role::kOther, "", "false", when}};
}

}  // namespace

const std::vector<FamilyRow>& gemma_relatives() {
  static const std::vector<FamilyRow> rows = {
      {
          .name = "Gemma",
          .model_types = {"gemma"},
          .names = {{"class_default_kv_heads", "16"},
                    kKvHeadsGiven,
                    {"head_dim", "head_dim ?? 256"}},
          .mixers = {{.linears = self_attention(kAttentionBias, kAttentionBias)}},
          .feed_forwards = {{.linears = gated_mlp()}},
          .norm = {.kind = NormKind::kRmsPlusOne},
          .activation = kFirstActivation,
          .tied = kTiedHereOrAround,
          .multipliers = {{"embedding", "sqrt(hidden)"}},
      },
      {
          .name = "Gemma 2",
          .model_types = {"gemma2"},
          .names = {{"class_default_kv_heads", "4"},
                    kKvHeadsGiven,
                    {"head_dim", "head_dim ?? 256"}},
          .mixers = {{.name = "sliding_attention",
                      .when = "layer_types[layer] == 'sliding_attention' ?? layer % 2 == 0",
                      .linears = self_attention(kAttentionBias, kAttentionBias),
                      .attention = {.scale_dim = "query_pre_attn_scalar ?? 256",
                                    .softcap = "assumed(attn_logit_softcapping, 50) ?? 0",
                                    .window = "assumed(sliding_window, 4096) ?? 0"}},
                     {.when = "layer_types[layer] == 'full_attention' ?? true",
                      .linears = self_attention(kAttentionBias, kAttentionBias),
                      .attention = {.scale_dim = "query_pre_attn_scalar ?? 256",
                                    .softcap = "assumed(attn_logit_softcapping, 50) ?? 0"}}},
          .feed_forwards = {{.linears = gated_mlp()}},
          .norm = kAround,
          .activation = kActivation,
          .tied = kTiedHereOrAround,
          .logit_softcap = "assumed(final_logit_softcapping, 30) ?? 0",
          .multipliers = {{"embedding", "sqrt(hidden)"}},
      },
      {
          .name = "Gemma 3",
          .model_types = {"gemma3_text"},
          .names = {{"heads", "num_attention_heads ?? 8"},
                    {"kv_heads", "num_key_value_heads ?? 4"},
                    {"head_dim", "head_dim ?? 256"}},
          .mixers = {{.name = "sliding_attention",
                      .when = "layer_types[layer] == 'sliding_attention' ?? "
                              "(layer + 1) % (sliding_window_pattern ?? 6) != 0",
                      .linears = self_attention(kAttentionBias, kAttentionBias),
                      .attention = {.scale_dim = "query_pre_attn_scalar ?? 256",
                                    .softcap = "attn_logit_softcapping ?? 0",
                                    .window = "sliding_window",
                                    .qk_norm = QkNorm::kHead,
                                    .append_norms = true,
                                    .rope = {.kind = "sliding_attention",
                                             .base = "rope_parameters.sliding_attention.rope_theta "
                                                     "?? rope_local_base_freq ?? 10000",
                                             .scaling = "''"}}},
                     {.when = "layer_types[layer] == 'full_attention' ?? true",
                      .linears = self_attention(kAttentionBias, kAttentionBias),
                      .attention = {.scale_dim = "query_pre_attn_scalar ?? 256",
                                    .softcap = "attn_logit_softcapping ?? 0",
                                    .qk_norm = QkNorm::kHead,
                                    .append_norms = true,
                                    .rope = {.kind = "full_attention",
                                             .base = "rope_parameters.full_attention.rope_theta ?? "
                                                     "rope_theta ?? 1000000"}}}},
          .feed_forwards = {{.linears = gated_mlp()}},
          .norm = kAround,
          .activation = kActivation,
          .tied = kTiedHereOrAround,
          .logit_softcap = "final_logit_softcapping ?? 0",
          .multipliers = {{"embedding", "sqrt(hidden)"}},
          .unused = {"rope_parameters.rope_theta"},
      },
      {
          .name = "Gemma 3n",
          .model_types = {"gemma3n_text"},
          .names = {{"class_default_kv_heads", "2"},
                    {"kv_shared", "assumed(num_kv_shared_layers, 15) ?? 0"},
                    kKvHeadsGiven,
                    {"head_dim", "head_dim ?? 256"},
                    {"inner", "of_layer(intermediate_size)"}},
          .mixers = {{.name = "sliding_attention",
                      .when = "layer_types[layer] == 'sliding_attention' ?? (layer + 1) % 5 != 0",
                      .linears = shared_kv_attention("kv_heads * head_dim", kOwnKv),
                      .attention = {.scale_dim = "1",
                                    .window = "sliding_window",
                                    .qk_norm = QkNorm::kHead,
                                    .rope = {.kind = "sliding_attention",
                                             .base = "rope_parameters.sliding_attention.rope_theta "
                                                     "?? rope_local_base_freq ?? 10000",
                                             .scaling = "''"}}},
                     {.when = "layer_types[layer] == 'full_attention' ?? true",
                      .linears = shared_kv_attention("kv_heads * head_dim", kOwnKv),
                      .attention = {.scale_dim = "1",
                                    .qk_norm = QkNorm::kHead,
                                    .rope = {.kind = "full_attention",
                                             .base = "rope_parameters.full_attention.rope_theta ?? "
                                                     "rope_theta ?? 1000000"}}}},
          .feed_forwards =
              {{.linears =
                    join({gated_mlp(),
                          {{"altup.correction_coefs", "altup_num_inputs", "altup_num_inputs",
                            Role::kOther, "", "false", "true", Module::kSmall},
                           {"altup.prediction_coefs", "altup_num_inputs * altup_num_inputs",
                            "altup_num_inputs", Role::kOther, "", "false", "true", Module::kSmall},
                           small("altup.modality_router", "altup_num_inputs"),
                           {"laurel.linear_left", "laurel_rank", "hidden"},
                           {"laurel.linear_right", "hidden", "laurel_rank"}},
                          per_layer_inputs("true")})}},
          // AltUp predicts and corrects several residual streams.
          .norm = {.place = NormPlace::kAround, .plain_sum = "false"},
          .activation = kActivation,
          .plain_gate = "false",  // the first layers keep only the largest gates
          .tied = kTiedHereOrAround,
          .logit_softcap = "final_logit_softcapping ?? 30",
          .outside = join({per_layer_projection("true"),
                           {{"altup_projections", "hidden", "hidden", Role::kOther, "", "false",
                             "true", Module::kLinear, "altup_num_inputs - 1"},
                            {"altup_unembed_projections", "hidden", "hidden", Role::kOther, "",
                             "false", "true", Module::kLinear, "altup_num_inputs - 1"}}}),
          .multipliers = {{"embedding", "sqrt(hidden)"}},
          .remarks =
              {{"true",
                "altup_num_inputs residual streams are predicted and corrected "
                "(altup_active_idx {altup_active_idx ?? 0}, altup_coef_clip "
                "{altup_coef_clip ?? 120}, altup_correct_scale {altup_correct_scale ?? true})"},
               {"true",
                "some layers keep only their largest gates (activation_sparsity_pattern "
                "{activation_sparsity_pattern ?? '0.95 in the first 10'})"}},
          .unused = {"rope_parameters.rope_theta"},
      },
      {
          // Layers without a window have heads of another size, and may take the keys as values.
          .name = "Gemma 4",
          .model_types = {"gemma4_text"},
          .names =
              {{"kv_shared", "num_kv_shared_layers ?? 0"},
               {"per_layer", "assumed(hidden_size_per_layer_input, 256) ?? 0"},
               {"head_dim", "assumed(head_dim, 256) ?? hidden / heads"},
               {"kv_heads", "assumed(num_key_value_heads, 4) ?? heads"},
               {"is_full", "layer_types[layer] == 'full_attention'"},
               {"layers_may_differ", "true"},
               {"global_kv_heads",
                "num_global_key_value_heads ?? per_layer_config[layer].num_key_value_heads "
                "?? kv_heads"},
               {"global_dim",
                "global_head_dim ?? per_layer_config[layer].head_dim ?? "
                "when(given(per_layer_config), head_dim) ?? required_else(global_head_dim, 512)"},
               {"experts", "num_experts"},
               {"inner",
                "intermediate_size * (1 + !!(use_double_wide_mlp ?? false) * "
                "(layer >= layers - kv_shared))"}},
          .mixers = {{.name = "sliding_attention",
                      .when = kIsSliding,
                      .linears = shared_kv_attention("kv_heads * head_dim", kOwnKv),
                      .attention = {.scale_dim = "1",
                                    .window = "sliding_window",
                                    .qk_norm = QkNorm::kHead,
                                    .rope = {.kind = "sliding_attention"}}},
                     {.when = kIsFull,
                      .linears = {{"self_attn.q_proj", "heads * global_dim", "hidden", Role::kQ,
                                   "qkv_proj", kAttentionBias},
                                  {"self_attn.k_proj",
                                   "(!!(attention_k_eq_v ?? false) * global_kv_heads + "
                                   "!(attention_k_eq_v ?? false) * kv_heads) * global_dim",
                                   "hidden", Role::kK, "qkv_proj", kAttentionBias, kOwnKv},
                                  {"self_attn.v_proj", "kv_heads * global_dim", "hidden", Role::kV,
                                   "qkv_proj", kAttentionBias,
                                   "layer < layers - kv_shared && "
                                   "!(attention_k_eq_v ?? false)"},
                                  {"self_attn.o_proj", "hidden", "heads * global_dim", Role::kOut,
                                   "", kAttentionBias}},
                      .attention = {.kv_heads = "!!(attention_k_eq_v ?? false) * global_kv_heads + "
                                                "!(attention_k_eq_v ?? false) * kv_heads",
                                    .head_dim = "global_dim",
                                    .value_dim = "global_dim",
                                    .scale_dim = "1",
                                    .qk_norm = QkNorm::kHead,
                                    .rope = {.kind = "full_attention"}}}},
          .feed_forwards =
              {{.kind = FeedForwardKind::kExperts,
                .when = "enable_moe_block ?? false",
                .linears =
                    join({gated_mlp(),
                          {small("router.proj", "experts"),
                           expert("experts.*.gate_proj", "expert_inner", "hidden", Role::kGate),
                           expert("experts.*.up_proj", "expert_inner", "hidden", Role::kUp),
                           expert("experts.*.down_proj", "hidden", "expert_inner", Role::kDown)},
                          per_layer_inputs("per_layer > 0")}),
                .experts = {.per_token = "top_k_experts",
                            .shared = "1",
                            .expert_scales = "true",    // router.per_expert_scale
                            .routed = "true",           // logits come of a norm of the router's own
                            .plain_shared = "false"}},  // each has a norm behind it
               {.linears = join({gated_mlp(), per_layer_inputs("per_layer > 0")})}},
          // The sum behind each layer is multiplied by its layer_scalar.
          .norm = {.place = NormPlace::kAround, .plain_sum = "false"},
          .activation = kActivation,
          .tied = kTiedHereOrAround,
          .logit_softcap = "final_logit_softcapping ?? 0",
          .outside = per_layer_projection("per_layer > 0"),
          .multipliers = {{"embedding", "sqrt(hidden)"}},
      },
  };
  return rows;
}

}  // namespace heddle

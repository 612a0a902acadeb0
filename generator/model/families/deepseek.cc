// DeepSeek V2 to V4, Kimi and GLM-5: latent attention and many small experts.
#include "generator/model/families/rows.h"

namespace heddle {
namespace {

std::vector<NamedExpression> deepseek_names() {
  return with(latent_names(),
              {{"experts", "n_routed_experts"}, {"expert_inner", "moe_intermediate_size"}});
}

// An indexer scores tokens with few heads; attention takes the best ones.
LinearRows indexer(Expression when) {
  return {{"self_attn.indexer.wq_b", "index_n_heads * index_head_dim", "q_rank", Role::kOther, "",
           "false", when},
          {"self_attn.indexer.wk", "index_head_dim", "hidden", Role::kOther, "", "false", when},
          small("self_attn.indexer.weights_proj", "index_n_heads", "hidden", when)};
}

AttentionRow sparse_facts(Expression heads) {
  AttentionRow row = latent_facts();
  row.index_heads = heads;
  row.index_tokens = "index_topk";
  return row;
}

const ExpertsRow kDeepseekExperts = {.shared = "n_shared_experts ?? 0",
                                     .scoring = "scoring_func ?? 'sigmoid'",
                                     .groups = "n_group ?? 1",
                                     .groups_per_token = "topk_group ?? 1",
                                     .normalised = "norm_topk_prob ?? true",
                                     .scale = "routed_scaling_factor ?? 1",
                                     .bias = "topk_method == 'noaux_tc' ?? true"};

const ExpertsRow kV2Experts = {.shared = "n_shared_experts ?? 0",
                               .scoring = "scoring_func ?? 'softmax'",
                               .groups = "n_group ?? 1",
                               .groups_per_token = "topk_group ?? 1",
                               .normalised = "norm_topk_prob ?? false",
                               .scale = "routed_scaling_factor ?? 1"};

// Dense layers first, then experts, in every moe_layer_freq-th layer.
std::vector<FeedForwardRow> experts_after_dense(Expression is_dense,
                                                const ExpertsRow& experts = kDeepseekExperts) {
  return {{.when = is_dense, .linears = gated_mlp()},
          {.kind = FeedForwardKind::kExperts,
           .linears = join({gated_experts(), shared_experts("expert_inner * n_shared_experts",
                                                            "(n_shared_experts ?? 0) > 0")}),
           .experts = experts}};
}

constexpr Expression kDense =
    "mlp_layer_types[layer] == 'dense' ?? "
    "layer < first_k_dense_replace || layer % (moe_layer_freq ?? 1) != 0";

// DeepSeek V4 by the names of its checkpoint. Keys and values are one vector, which is the only
// head; the output goes through a matrix for each group of heads. Most layers also attend to a
// compressed copy of the tokens, which "compressor" makes.
LinearRows v4_attention() {
  return {
      {"attn.wq_a", "q_lora_rank", "hidden", Role::kOther, "fused_wqa_wkv"},
      {"attn.wkv", "head_dim", "hidden", Role::kOther, "fused_wqa_wkv"},
      {"attn.wq_b", "heads * head_dim", "q_lora_rank"},
      {"attn.wo_a", "o_lora_rank", "heads * head_dim / o_groups", Role::kOther, "", "false", "true",
       Module::kGrouped, "o_groups"},
      {"attn.wo_b", "hidden", "o_groups * o_lora_rank"},
  };
}

LinearRows v4_compressor(Expression width) {
  return {small("attn.compressor.wkv", width), small("attn.compressor.wgate", width)};
}

LinearRows v4_indexer() {
  return {{"attn.indexer.wq_b", "index_n_heads * index_head_dim", "q_lora_rank"},
          small("attn.indexer.weights_proj", "index_n_heads"),
          small("attn.indexer.compressor.wkv", "2 * index_head_dim"),
          small("attn.indexer.compressor.wgate", "2 * index_head_dim")};
}

// The streams of a hyper-connection are mixed by a matrix of each token's own, which this makes.
LinearRows v4_mixing() {
  return {small("hc_attn_fn", "hc_mult * (hc_mult + 2)", "hc_mult * hidden"),
          small("hc_ffn_fn", "hc_mult * (hc_mult + 2)", "hc_mult * hidden")};
}

AttentionRow v4_facts(Expression base, Expression scaling) {
  AttentionRow row;
  row.window = "sliding_window";
  row.sinks = "true";
  row.rope = {
      .pairing = RopePairing::kGptj, .dim = "qk_rope_head_dim", .base = base, .scaling = scaling};
  row.q_rank = "q_lora_rank";
  row.kv_rank = "head_dim - qk_rope_head_dim";
  row.rope_dim = "qk_rope_head_dim";
  return row;
}

std::vector<MixerRow> v4_mixers() {
  constexpr Expression kCompressedBase = "compress_rope_theta ?? 160000";
  constexpr Expression kScaling =
      "rope_scaling.rope_type ?? rope_scaling.type ?? rope_parameters.rope_type ?? ''";
  AttentionRow sparse = v4_facts(kCompressedBase, kScaling);
  sparse.index_heads = "index_n_heads";
  sparse.index_tokens = "index_topk";
  return {
      {.kind = MixerKind::kLatentAttention,
       .name = "sliding_attention",
       .when = "layer_types[layer] == 'sliding_attention' ?? compress_ratios[layer] == 0",
       .linears = join({v4_attention(), v4_mixing()}),
       .attention = v4_facts("rope_theta ?? 10000", "''")},
      {.kind = MixerKind::kLatentAttention,
       .name = "compressed_sparse_attention",
       .when = "layer_types[layer] == 'compressed_sparse_attention' ?? "
               "compress_ratios[layer] == 4",
       .linears = join({v4_attention(), v4_compressor("2 * head_dim"), v4_indexer(), v4_mixing()}),
       .attention = sparse},
      {.kind = MixerKind::kLatentAttention,
       .name = "heavily_compressed_attention",
       .when = "layer_types[layer] == 'heavily_compressed_attention' ?? "
               "compress_ratios[layer] == 128",
       .linears = join({v4_attention(), v4_compressor("head_dim"), v4_mixing()}),
       .attention = v4_facts(kCompressedBase, kScaling)}};
}

// Kimi's delta attention: three short convolutions, a gate of low rank (or of full rank in K3), and
// a decay of its own for each channel.
LinearRows kda_modules() {
  return {
      {"self_attn.q_proj", "kda_rows", "hidden", Role::kOther, "qkv_proj"},
      {"self_attn.k_proj", "kda_rows", "hidden", Role::kOther, "qkv_proj"},
      {"self_attn.v_proj", "kda_rows", "hidden", Role::kOther, "qkv_proj"},
      convolution("self_attn.q_conv1d", "kda_rows", "kda_taps"),
      convolution("self_attn.k_conv1d", "kda_rows", "kda_taps"),
      convolution("self_attn.v_conv1d", "kda_rows", "kda_taps"),
      {"self_attn.f_a_proj", "kda_head_dim", "hidden"},
      {"self_attn.f_b_proj", "kda_rows", "kda_head_dim"},
      small("self_attn.b_proj", "kda_heads"),
      {"self_attn.g_a_proj", "kda_head_dim", "hidden", Role::kOther, "", "false",
       "!full_rank_gate"},
      {"self_attn.g_b_proj", "kda_rows", "kda_head_dim", Role::kOther, "", "false",
       "!full_rank_gate"},
      {"self_attn.g_proj", "kda_rows", "hidden", Role::kOther, "", "false", "full_rank_gate"},
      scan("self_attn.delta_rule"),
      {"self_attn.o_proj", "hidden", "kda_rows"},
  };
}

LinearRows kimi_latent() {
  return join({latent_attention(),
               {{"self_attn.g_proj", "heads * value_dim", "hidden", Role::kOther, "", "false",
                 "mla_use_output_gate ?? false"}}});
}

LinearRows kimi_experts() {
  return {
      small("block_sparse_moe.gate", "experts"),
      small("block_sparse_moe.routed_expert_down_proj", "routed_expert_hidden_size", "hidden",
            "given(routed_expert_hidden_size)"),
      small("block_sparse_moe.routed_expert_up_proj", "hidden", "routed_expert_hidden_size",
            "given(routed_expert_hidden_size)"),
      expert("block_sparse_moe.experts.*.w1", "expert_inner", "expert_width", Role::kGate),
      expert("block_sparse_moe.experts.*.w3", "expert_inner", "expert_width", Role::kUp),
      expert("block_sparse_moe.experts.*.w2", "expert_width", "expert_inner", Role::kDown),
      {"block_sparse_moe.shared_experts.gate_proj", "expert_inner * num_shared_experts", "hidden",
       Role::kGate, "gate_up_proj", "false", "(num_shared_experts ?? 0) > 0"},
      {"block_sparse_moe.shared_experts.up_proj", "expert_inner * num_shared_experts", "hidden",
       Role::kUp, "gate_up_proj", "false", "(num_shared_experts ?? 0) > 0"},
      {"block_sparse_moe.shared_experts.down_proj", "hidden", "expert_inner * num_shared_experts",
       Role::kDown, "", "false", "(num_shared_experts ?? 0) > 0"},
  };
}

// Attention residuals of K3: a layer takes a weighted sum of what blocks of layers before made.
LinearRows kimi_residuals() {
  return {small("self_attention_res_proj", "1", "hidden", "given(attn_res_block_size)"),
          small("mlp_res_proj", "1", "hidden", "given(attn_res_block_size)")};
}

}  // namespace

const std::vector<FamilyRow>& deepseek_relatives() {
  static const std::vector<FamilyRow> rows = {
      {
          .name = "DeepSeek V2",
          .model_types = {"deepseek_v2"},
          .names = deepseek_names(),
          .mixers = {{.kind = MixerKind::kLatentAttention,
                      .linears = latent_attention(),
                      .attention = latent_facts()}},
          .feed_forwards = experts_after_dense(kDense, kV2Experts),
      },
      {
          .name = "DeepSeek V3 and R1, Kimi K2",
          .model_types = {"deepseek_v3", "kimi_k2"},
          .names = deepseek_names(),
          .mixers = {{.kind = MixerKind::kLatentAttention,
                      .linears = latent_attention(),
                      .attention = latent_facts()}},
          .feed_forwards = experts_after_dense(kDense),
          .others = {kNextTokens},
      },
      {
          .name = "Mistral 4",
          .model_types = {"mistral4"},
          .names = deepseek_names(),
          .mixers = {{.kind = MixerKind::kLatentAttention,
                      .linears = latent_attention(),
                      .attention = latent_facts()}},
          .feed_forwards = experts_after_dense("layer < (first_k_dense_replace ?? 0)",
                                               {.shared = "n_shared_experts ?? 0",
                                                .groups = "n_group ?? 1",
                                                .groups_per_token = "topk_group ?? 1",
                                                .normalised = "norm_topk_prob ?? true",
                                                .scale = "routed_scaling_factor ?? 1"}),
      },
      {
          .name = "DeepSeek V3.2",
          .model_types = {"deepseek_v32"},
          .names = deepseek_names(),
          .mixers = {{.kind = MixerKind::kLatentAttention,
                      .name = "sparse_attention",
                      .linears = join({latent_attention(), indexer("true")}),
                      .attention = sparse_facts("index_n_heads")}},
          .feed_forwards = experts_after_dense(kDense),
          .others = {kNextTokens},
      },
      {
          // Some layers take the tokens that an indexer before them chose.
          .name = "GLM-5 to 5.2",
          .model_types = {"glm_moe_dsa"},
          .names = deepseek_names(),
          .mixers = {{.kind = MixerKind::kLatentAttention,
                      .name = "sparse_attention",
                      .when = "indexer_types[layer] == 'full' ?? true",
                      .linears = join({latent_attention(), indexer("true")}),
                      .attention = sparse_facts("index_n_heads")},
                     {.kind = MixerKind::kLatentAttention,
                      .name = "sparse_attention_with_shared_indexer",
                      .when = "indexer_types[layer] == 'shared'",
                      .linears = latent_attention(),
                      .attention = sparse_facts("0")}},
          .feed_forwards = experts_after_dense(kDense),
          .others = {kNextTokens},
      },
      {
          .name = "GLM-4.7 Flash",
          .model_types = {"glm4_moe_lite"},
          .names = deepseek_names(),
          .mixers = {{.kind = MixerKind::kLatentAttention,
                      .linears = latent_attention(),
                      .attention = latent_facts()}},
          .feed_forwards = experts_after_dense(kDense),
          .others = {kNextTokens},
      },
      {
          .name = "DeepSeek V4",
          .model_types = {"deepseek_v4"},
          .body = "",
          .head = "head",
          .names = {{"experts", "n_routed_experts"}, {"expert_inner", "moe_intermediate_size"}},
          .mixers = v4_mixers(),
          .feed_forwards =
              {{.kind = FeedForwardKind::kExperts,
                .linears = {small("ffn.gate", "experts"),
                            expert("ffn.experts.*.w1", "expert_inner", "hidden", Role::kGate),
                            expert("ffn.experts.*.w3", "expert_inner", "hidden", Role::kUp),
                            expert("ffn.experts.*.w2", "hidden", "expert_inner", Role::kDown),
                            {"ffn.shared_experts.w1", "expert_inner * n_shared_experts", "hidden",
                             Role::kGate, "gate_up_proj"},
                            {"ffn.shared_experts.w3", "expert_inner * n_shared_experts", "hidden",
                             Role::kUp, "gate_up_proj"},
                            {"ffn.shared_experts.w2", "hidden", "expert_inner * n_shared_experts",
                             Role::kDown}},
                .experts = {.shared = "n_shared_experts",
                            .scoring = "scoring_func ?? 'sqrtsoftplus'",
                            .normalised = "norm_topk_prob ?? true",
                            .scale = "routed_scaling_factor ?? 1",
                            .bias = "topk_method == 'noaux_tc' ?? true",
                            .hashed = "mlp_layer_types[layer] == 'hash_moe' ?? "
                                      "layer < (num_hash_layers ?? 3)"}}},
          .norm = {.plain_sum = "false"},
          .plain_gate = "(swiglu_limit ?? 0) == 0",  // else gates and ups are clamped
          .outside = {small("hc_head_fn", "hc_mult", "hc_mult * hidden")},
          .others = {kNextTokens},
          .note = "hc_mult residual streams are mixed before and after each half of a layer",
      },
      {
          .name = "Kimi Linear, Kimi K3",
          .model_types = {"kimi_linear"},
          .names = with(latent_names(),
                        {{"experts", "num_experts"},
                         {"expert_inner", "moe_intermediate_size"},
                         {"expert_width", "routed_expert_hidden_size ?? hidden"},
                         {"kda_heads", "linear_attn_config.num_heads ?? linear_num_heads"},
                         {"kda_head_dim", "linear_attn_config.head_dim ?? linear_head_dim"},
                         {"kda_taps",
                          "linear_attn_config.short_conv_kernel_size ?? "
                          "linear_conv_kernel_dim"},
                         {"kda_rows", "kda_heads * kda_head_dim"},
                         {"full_rank_gate", "linear_attn_config.use_full_rank_gate ?? false"}}),
          .mixers = {{.kind = MixerKind::kLinearAttention,
                      .name = "linear_attention",
                      .when = "layer_types[layer] == 'linear_attention' ?? "
                              "linear_attn_config.kda_layers has layer + 1",
                      .linears = join({kda_modules(), kimi_residuals()})},
                     {.kind = MixerKind::kLatentAttention,
                      .when = "layer_types[layer] == 'full_attention' ?? "
                              "linear_attn_config.full_attn_layers has layer + 1",
                      .linears = join({kimi_latent(), kimi_residuals()}),
                      .attention = {.kv_heads = "1",
                                    .gate = "mla_use_output_gate ?? false",
                                    .rope = {.pairing = RopePairing::kGptj,
                                             .when = "!(mla_use_nope ?? true)",
                                             .dim = "rope_dim"},
                                    .q_rank = "q_rank",
                                    .kv_rank = "kv_rank",
                                    .rope_dim = "rope_dim"}}},
          .feed_forwards =
              {{.when = "layer < first_k_dense_replace || layer % (moe_layer_freq ?? 1) != 0",
                .linears = gated_mlp()},
               {.kind = FeedForwardKind::kExperts,
                .linears = kimi_experts(),
                .experts = {.per_token = "num_experts_per_token ?? num_experts_per_tok",
                            .latent = "routed_expert_hidden_size ?? 0",
                            .shared = "num_shared_experts ?? 0",
                            .scoring = "moe_router_activation_func ?? 'sigmoid'",
                            .groups = "num_expert_group ?? 1",
                            .groups_per_token = "topk_group ?? 1",
                            .normalised = "moe_renormalize ?? true",
                            .scale = "routed_scaling_factor ?? 1",
                            .bias = "true"}}},
          .norm = {.plain_sum = "!given(attn_res_block_size)"},
          .outside = {small("output_attn_res_proj", "1", "hidden", "given(attn_res_block_size)")},
          .others = {kNextTokens},
      },
  };
  return rows;
}

}  // namespace heddle

// DeepSeek V2 to V4, Kimi and GLM-5: latent attention and many small experts.
#include "generator/model/families/rows.h"

namespace heddle {
namespace {

std::vector<NamedExpression> deepseek_names() {
  return with(latent_names(), {{"experts", "num_experts ?? n_routed_experts"},
                               {"expert_inner", "moe_intermediate_size"},
                               {"q_rank", "assumed(q_lora_rank, class_default_q_rank) ?? 0"},
                               {"shared", "assumed(n_shared_experts, class_default_shared) ?? 0"},
                               {"class_default_q_rank", "1536"},
                               {"class_default_shared", "1"},
                               {"class_default_dense", "3"},
                               {"class_default_groups", "1"},
                               {"class_default_groups_per_token", "1"},
                               {"class_default_scale", "1"}});
}

// Fields that latent attention has no use for.
std::vector<std::string_view> not_latent() {
  return {"num_key_value_heads", "head_dim", "qk_head_dim"};
}

// An indexer scores tokens with few heads; attention takes the best ones.
LinearRows indexer(Expression when) {
  return {{"self_attn.indexer.wq_b", "index_n_heads * index_head_dim", "q_rank", Role::kOther, "",
           "false", when},
          {"self_attn.indexer.wk", "index_head_dim", "hidden", Role::kOther, "", "false", when},
          small("self_attn.indexer.weights_proj", "index_n_heads", "hidden", when)};
}

// Layers of another kind would have other modules.
const RemarkRow kAllIndexed = {
    "layer_types[layer] != 'indexed_attention' && "
    "layer_types[layer] != 'deepseek_sparse_attention'",
    "layer_types: only layers of attention to chosen tokens are known of this model type",
    Consequence::kRefusal};

const RemarkRow kPartOfRope = {
    "(partial_rotary_factor ?? rope_parameters.partial_rotary_factor ?? 1) != 1",
    "partial_rotary_factor: a part of qk_rope_head_dim is turned", Consequence::kAttentionNote};

const RemarkRow kIndexerHalves = {"!indexer_rope_interleave",
                                  "the indexer turns halves of its heads "
                                  "(indexer_rope_interleave)",
                                  Consequence::kAttentionNote};

AttentionRow sparse_facts(Expression heads) {
  AttentionRow row = latent_facts();
  row.index_heads = heads;
  row.index_tokens = "index_topk";
  return row;
}

const ExpertsRow kDeepseekExperts = {
    .shared = "shared",
    .scoring = "scoring_func ?? 'sigmoid'",
    .groups = "assumed(n_group, class_default_groups) ?? 1",
    .groups_per_token = "assumed(topk_group, class_default_groups_per_token) ?? 1",
    .normalised = "norm_topk_prob ?? true",
    .scale = "assumed(routed_scaling_factor, class_default_scale) ?? 1",
    .bias = "topk_method == 'noaux_tc' ?? true",
    .routed = "(topk_method == 'noaux_tc' ?? true) && (scoring_func == 'sigmoid' ?? true)"};

const ExpertsRow kV2Experts = {
    .shared = "shared",
    .scoring = "scoring_func ?? 'softmax'",
    .groups = "when(topk_method == 'group_limited_greedy', n_group) ?? 1",
    .groups_per_token = "when(topk_method == 'group_limited_greedy', topk_group) ?? 1",
    .normalised = "norm_topk_prob ?? false",
    .scale = "routed_scaling_factor ?? 1",
    // Classes differ in whether weights that add up to 1 are scaled.
    .routed =
        "(topk_method == 'greedy' || topk_method == 'group_limited_greedy' ?? false) && "
        "!(norm_topk_prob ?? false)"};

// Dense layers first, then experts, in every moe_layer_freq-th layer.
std::vector<FeedForwardRow> experts_after_dense(Expression is_dense,
                                                const ExpertsRow& experts = kDeepseekExperts) {
  return {
      {.when = is_dense, .linears = gated_mlp("inner", kMlpBias)},
      {.kind = FeedForwardKind::kExperts,
       .linears = join({gated_experts(), shared_experts("expert_inner * shared", "shared > 0")}),
       .experts = experts}};
}

constexpr Expression kDense =
    "mlp_layer_types[layer] == 'dense' ?? "
    "layer < assumed(first_k_dense_replace, class_default_dense) || layer % (moe_layer_freq ?? 1) "
    "!= 0";

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

AttentionRow v4_facts(std::string_view kind, Expression base, Expression scaling) {
  AttentionRow row;
  row.kv_heads = "1";
  row.window = "sliding_window";
  row.sinks = "true";
  row.sinks_path = "attn.attn_sink";
  row.rope = {.pairing = RopePairing::kGptj,
              .kind = kind,
              .dim = "rope_dim",
              .base = base,
              .scaling = scaling};
  row.q_rank = "q_lora_rank";
  row.kv_rank = "head_dim - rope_dim";
  row.rope_dim = "rope_dim";
  return row;
}

std::vector<MixerRow> v4_mixers() {
  constexpr Expression kCompressedBase =
      "rope_parameters.compress.rope_theta ?? compress_rope_theta ?? 160000";
  constexpr Expression kScaling =
      "rope_parameters.compress.rope_type ?? rope_scaling.rope_type ?? rope_scaling.type ?? "
      "rope_parameters.rope_type ?? ''";
  AttentionRow sparse = v4_facts("compress", kCompressedBase, kScaling);
  sparse.index_heads = "index_n_heads";
  sparse.index_tokens = "index_topk";
  return {
      {.kind = MixerKind::kLatentAttention,
       .name = "sliding_attention",
       .when = "layer_types[layer] == 'sliding_attention' ?? compress_ratios[layer] == 0",
       .linears = join({v4_attention(), v4_mixing()}),
       .attention =
           v4_facts("main", "rope_parameters.main.rope_theta ?? rope_theta ?? 10000", "''")},
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
       .attention = v4_facts("compress", kCompressedBase, kScaling)}};
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
      {"block_sparse_moe.shared_experts.gate_proj", "expert_inner * shared", "hidden", Role::kGate,
       "gate_up_proj", "false", "shared > 0"},
      {"block_sparse_moe.shared_experts.up_proj", "expert_inner * shared", "hidden", Role::kUp,
       "gate_up_proj", "false", "shared > 0"},
      {"block_sparse_moe.shared_experts.down_proj", "hidden", "expert_inner * shared", Role::kDown,
       "", "false", "shared > 0"},
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
          .names =
              with(deepseek_names(), {{"class_default_shared", "2"}, {"class_default_dense", "0"}}),
          .mixers = {{.kind = MixerKind::kLatentAttention,
                      .linears = latent_attention(),
                      .attention = latent_facts()}},
          .feed_forwards = experts_after_dense(kDense, kV2Experts),
          .remarks = {kLatentScale},
          .unused = not_latent(),
      },
      {
          .name = "DeepSeek V3 and R1, Kimi K2",
          .model_types = {"deepseek_v3", "kimi_k2"},
          .names = with(deepseek_names(), {{"class_default_groups", "8"},
                                           {"class_default_groups_per_token", "4"},
                                           {"class_default_scale", "2.5"}}),
          .mixers = {{.kind = MixerKind::kLatentAttention,
                      .linears = latent_attention(),
                      .attention = latent_facts()}},
          .feed_forwards = experts_after_dense(kDense),
          .others = {kNextTokens},
          .remarks = {kLatentScale},
          .unused = not_latent(),
      },
      {
          .name = "Mistral 4",
          .model_types = {"mistral4"},
          .names = with(deepseek_names(), {{"class_default_q_rank", "1024"}}),
          .mixers = {{.kind = MixerKind::kLatentAttention,
                      .linears = latent_attention(),
                      .attention = latent_facts()}},
          .feed_forwards = experts_after_dense("layer < (first_k_dense_replace ?? 0)",
                                               {.shared = "shared",
                                                .groups = "n_group ?? 1",
                                                .groups_per_token = "topk_group ?? 1",
                                                .normalised = "norm_topk_prob ?? true",
                                                .scale = "routed_scaling_factor ?? 1",
                                                // Groups count by two experts without a bias.
                                                .routed = "(n_group ?? 1) == 1"}),
          .remarks = {kLlama4Scaling},
          .unused = {"num_key_value_heads", "head_dim", "partial_rotary_factor",
                     "rope_parameters.partial_rotary_factor"},
      },
      {
          .name = "DeepSeek V3.2",
          .model_types = {"deepseek_v32"},
          .names = with(deepseek_names(), {{"class_default_groups", "8"},
                                           {"class_default_groups_per_token", "4"},
                                           {"class_default_scale", "2.5"}}),
          .mixers = {{.kind = MixerKind::kLatentAttention,
                      .name = "sparse_attention",
                      .linears = join({latent_attention(), indexer("true")}),
                      .attention = sparse_facts("index_n_heads")}},
          .feed_forwards = experts_after_dense(kDense),
          .others = {kNextTokens},
          .remarks = {kLatentScale, kIndexerHalves, kAllIndexed},
          .unused = not_latent(),
      },
      {
          // Some layers take the tokens that an indexer before them chose.
          .name = "GLM-5 to 5.2",
          .model_types = {"glm_moe_dsa"},
          .names = with(deepseek_names(), {{"class_default_epsilon", "0.00001"},
                                           {"class_default_q_rank", "2048"},
                                           {"class_default_scale", "2.5"}}),
          .mixers = {{.kind = MixerKind::kLatentAttention,
                      .name = "sparse_attention",
                      .when = "indexer_types[layer] == 'full' ?? index_topk_pattern[layer] == 'F' "
                              "?? layer + 1 <= (index_skip_topk_offset ?? 2) || (layer + 1 - "
                              "(index_skip_topk_offset ?? 2)) % (index_topk_freq ?? 1) == 0",
                      .linears = join({latent_attention(), indexer("true")}),
                      .attention = sparse_facts("index_n_heads")},
                     {.kind = MixerKind::kLatentAttention,
                      .name = "sparse_attention_with_shared_indexer",
                      .when = "indexer_types[layer] == 'shared' ?? "
                              "index_topk_pattern[layer] == 'S' ?? true",
                      .linears = latent_attention(),
                      .attention = sparse_facts("0")}},
          .feed_forwards = experts_after_dense(kDense),
          .others = {kNextTokens},
          .remarks = {kLatentScale, kIndexerHalves, kAllIndexed},
          .unused = not_latent(),
      },
      {
          .name = "GLM-4.7 Flash",
          .model_types = {"glm4_moe_lite"},
          .names = with(deepseek_names(), {{"class_default_epsilon", "0.00001"},
                                           {"class_default_q_rank", "768"},
                                           {"class_default_dense", "1"},
                                           {"class_default_scale", "1.8"}}),
          .mixers = {{.kind = MixerKind::kLatentAttention,
                      .linears = latent_attention(),
                      .attention = latent_facts()}},
          .feed_forwards = experts_after_dense(kDense),
          .others = {kNextTokens},
          .remarks = {kLatentScale, kPartOfRope},
          .unused = not_latent(),
      },
      {
          .name = "DeepSeek V4",
          .model_types = {"deepseek_v4"},
          .body = "",
          .head = "head",
          .names = {{"head_dim", "assumed(head_dim, 512) ?? hidden / heads"},
                    {"experts", "n_routed_experts"},
                    {"expert_inner", "moe_intermediate_size"},
                    {"rope_dim", "qk_rope_head_dim ?? floor(head_dim * partial_rotary_factor)"}},
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
                            .scale = "assumed(routed_scaling_factor, 1.5) ?? 1",
                            .bias = "topk_method == 'noaux_tc' ?? true",
                            .hashed = "mlp_layer_types[layer] == 'hash_moe' ?? "
                                      "layer < (num_hash_layers ?? 3)",
                            .routed = "(topk_method == 'noaux_tc' ?? true) && "
                                      "(scoring_func != 'softmax' ?? true) && "
                                      "(norm_topk_prob ?? true)",
                            .clamp_limit = "assumed(swiglu_limit, 10) ?? 0",
                            .clamp_factor = "0"}}},
          .norm = {.plain_sum = "false"},
          .plain_gate = "(assumed(swiglu_limit, 10) ?? 0) == 0",  // else gates and ups are clamped
          .outside = {small("hc_head_fn", "hc_mult", "hc_mult * hidden")},
          .others = {{kNextTokens.name, "assumed(num_nextn_predict_layers, 1) ?? 0",
                      kNextTokens.reason}},
          .remarks = {{"true",
                       "{hc_mult} residual streams are mixed before and after each half of a layer "
                       "(hc_mult; hc_sinkhorn_iters {hc_sinkhorn_iters ?? 20}, hc_eps "
                       "{hc_eps ?? 0.000001})"},
                      {"(assumed(swiglu_limit, 10) ?? 0) > 0",
                       "gates and ups are clamped to {swiglu_limit ?? 10} (swiglu_limit)"},
                      {"given(rope_scaling) || given(rope_parameters)",
                       "cosines and sines of scaled rotations are not multiplied by YaRN's factor",
                       Consequence::kAttentionNote},
                      {"mlp_bias", "mlp_bias: biases of experts are not known of this model type",
                       Consequence::kRefusal},
                      {"given(compress_rates) || given(compress_rate_csa) || "
                       "given(compress_rate_hca)",
                       "compress_rates, compress_rate_csa or compress_rate_hca say how many tokens "
                       "a compressed one stands for",
                       Consequence::kAttentionNote}},
          .unused = {"attention_bias", "num_key_value_heads", "intermediate_size"},
      },
      {
          .name = "Kimi Linear, Kimi K3",
          .model_types = {"kimi_linear"},
          .names = with(latent_names(),
                        {{"class_default_epsilon", "0.00001"},
                         {"class_default_dense", "1"},
                         {"experts", "num_experts ?? num_local_experts"},
                         {"expert_inner", "moe_intermediate_size"},
                         {"shared", "num_shared_experts ?? n_shared_experts ?? 0"},
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
          .feed_forwards = {{.when = kDense, .linears = gated_mlp()},
                            {.kind = FeedForwardKind::kExperts,
                             .linears = kimi_experts(),
                             .experts = {.per_token =
                                             "num_experts_per_token ?? num_experts_per_tok",
                                         .latent = "routed_expert_hidden_size ?? 0",
                                         .shared = "shared",
                                         .scoring = "moe_router_activation_func ?? 'sigmoid'",
                                         .groups = "num_expert_group ?? n_group ?? 1",
                                         .groups_per_token = "topk_group ?? 1",
                                         .normalised = "moe_renormalize ?? norm_topk_prob ?? true",
                                         .scale = "assumed(routed_scaling_factor, 2.446) ?? 1",
                                         .bias = "true",
                                         .routed = "(num_experts_per_token ?? "
                                                   "num_experts_per_tok) > 1",
                                         .clamp_limit = "when(hidden_act == 'situ', "
                                                        "activation_situ_linear_beta) ?? 0",
                                         .clamp_factor = "0",
                                         .gate_limit = "when(hidden_act == 'situ', "
                                                       "activation_situ_beta) ?? 0"}}},
          .norm = {.plain_sum = "!given(attn_res_block_size)"},
          .outside = {small("output_attn_res_proj", "1", "hidden", "given(attn_res_block_size)")},
          .others = {kNextTokens},
          .remarks = {{"given(activation_situ_beta) || given(activation_situ_linear_beta)",
                       "the activation has the numbers activation_situ_beta "
                       "{activation_situ_beta} and activation_situ_linear_beta "
                       "{activation_situ_linear_beta}"},
                      {"latent_moe_use_norm",
                       "what experts take in common is normalised (latent_moe_use_norm)"}},
          .unused = {"num_key_value_heads", "head_dim", "use_grouped_topk", "topk_method"},
      },
  };
  return rows;
}

}  // namespace heddle

// Models that mix attention with Mamba.
#include "generator/model/families/rows.h"

namespace heddle {
namespace {

// Mamba 2: one matrix makes the gate, the input of the convolution and the steps.
LinearRows mamba(std::string_view in, std::string_view conv, std::string_view the_scan,
                 std::string_view out, Expression bias) {
  return {
      {in, "2 * mamba_inner + 2 * mamba_groups * mamba_state + mamba_heads", "hidden", Role::kOther,
       "", bias},
      convolution(conv, "mamba_inner + 2 * mamba_groups * mamba_state", "mamba_taps"),
      scan(the_scan),
      {out, "hidden", "mamba_inner", Role::kOther, "", bias},
  };
}

// A layer of Nemotron-H is one mixer: Mamba, attention, or a feed-forward layer.
constexpr Expression kIsMamba =
    "layers_block_type[layer] == 'mamba' ?? hybrid_override_pattern[layer] == 'M'";
constexpr Expression kIsAttention =
    "layers_block_type[layer] == 'attention' ?? hybrid_override_pattern[layer] == '*'";
constexpr Expression kIsNemotronExperts =
    "layers_block_type[layer] == 'moe' ?? hybrid_override_pattern[layer] == 'E'";
constexpr Expression kIsMlp =
    "layers_block_type[layer] == 'mlp' ?? hybrid_override_pattern[layer] == '-'";

LinearRows nemotron_experts() {
  return {
      small("mixer.gate", "experts"),
      {"mixer.fc1_latent_proj", "moe_latent_size", "hidden", Role::kOther, "", "false",
       "given(moe_latent_size)"},
      expert("mixer.experts.*.up_proj", "expert_inner", "expert_width", Role::kUp),
      expert("mixer.experts.*.down_proj", "expert_width", "expert_inner", Role::kDown),
      {"mixer.fc2_latent_proj", "hidden", "moe_latent_size", Role::kOther, "", "false",
       "given(moe_latent_size)"},
      {"mixer.shared_experts.up_proj", "moe_shared_expert_intermediate_size", "hidden", Role::kUp,
       "", "false", "shared > 0"},
      {"mixer.shared_experts.down_proj", "hidden", "moe_shared_expert_intermediate_size",
       Role::kDown, "", "false", "shared > 0"},
  };
}

}  // namespace

const std::vector<FamilyRow>& hybrids() {
  static const std::vector<FamilyRow> rows = {
      {
          .name = "Nemotron-H, Nemotron 3",
          .model_types = {"nemotron_h"},
          .body = "backbone",
          .names = {{"class_default_kv_heads", "8"},
                    {"class_default_epsilon", "0.00001"},
                    {"shared", "n_shared_experts ?? 1"},
                    {"layers", "num_hidden_layers ?? length(layers_block_type)"},
                    kKvHeadsGiven,
                    {"head_dim", "head_dim ?? attention_head_dim"},
                    {"experts", "n_routed_experts"},
                    {"expert_inner", "moe_intermediate_size"},
                    {"expert_width", "moe_latent_size ?? hidden"},
                    {"mamba_heads", "mamba_num_heads"},
                    {"mamba_inner", "mamba_num_heads * mamba_head_dim"},
                    {"mamba_groups", "n_groups ?? mamba_n_groups"},
                    {"mamba_state", "ssm_state_size"},
                    {"mamba_taps", "conv_kernel ?? mamba_d_conv"}},
          .mixers = {{.kind = MixerKind::kMamba,
                      .name = "mamba",
                      .when = kIsMamba,
                      .linears = mamba("mixer.in_proj", "mixer.conv1d", "mixer.scan",
                                       "mixer.out_proj", "use_bias ?? false")},
                     {.name = "attention",
                      .when = kIsAttention,
                      .linears = {{"mixer.q_proj", "heads * head_dim", "hidden", Role::kQ,
                                   "qkv_proj", kAttentionBias},
                                  {"mixer.k_proj", "kv_heads * head_dim", "hidden", Role::kK,
                                   "qkv_proj", kAttentionBias},
                                  {"mixer.v_proj", "kv_heads * head_dim", "hidden", Role::kV,
                                   "qkv_proj", kAttentionBias},
                                  {"mixer.o_proj", "hidden", "heads * head_dim", Role::kOut, "",
                                   kAttentionBias}},
                      // Its layers of Mamba tell positions apart.
                      .attention = {.rope = {.when = "false"}}},
                     {.kind = MixerKind::kNone, .name = "moe", .when = kIsNemotronExperts},
                     {.kind = MixerKind::kNone, .name = "mlp", .when = kIsMlp}},
          .feed_forwards = {{.kind = FeedForwardKind::kExperts,
                             .when = kIsNemotronExperts,
                             .linears = nemotron_experts(),
                             .experts = {.latent = "moe_latent_size ?? 0",
                                         .shared = "shared",
                                         .scoring = "'sigmoid'",
                                         .groups = "n_group ?? 1",
                                         .groups_per_token = "topk_group ?? 1",
                                         .normalised = "norm_topk_prob ?? true",
                                         .scale = "routed_scaling_factor ?? 1",
                                         .bias = "true",
                                         .routed = "true"}},
                            {.when = kIsMlp,
                             .linears = {{"mixer.up_proj", "inner", "hidden", Role::kUp, "",
                                          "mlp_bias ?? false"},
                                         {"mixer.down_proj", "hidden", "inner", Role::kDown, "",
                                          "mlp_bias ?? false"}}},
                            {.kind = FeedForwardKind::kNone}},
          .norm = {.epsilon = "norm_eps ?? layer_norm_epsilon"},
          .activation = "mlp_hidden_act ?? 'relu2'",
          .others = {kNextTokens},
          .remarks = {{"given(sliding_window)",
                       "sliding_window: windows are not known of this model type",
                       Consequence::kNoAttention}},
          .unused = {"mamba_proj_bias", "partial_rotary_factor", "rope_theta"},
      },
      {
          .name = "Granite 4",
          .model_types = {"granitemoehybrid"},
          .names = {kKvHeadsGiven,
                    {"experts", "num_local_experts"},
                    {"expert_inner", "inner"},
                    {"mamba_heads", "mamba_n_heads"},
                    {"mamba_inner", "mamba_expand * hidden"},
                    {"mamba_groups", "mamba_n_groups"},
                    {"mamba_state", "mamba_d_state"},
                    {"mamba_taps", "mamba_d_conv"}},
          .mixers = {{.kind = MixerKind::kMamba,
                      .name = "mamba",
                      .when = "layer_types[layer] == 'mamba' ?? layers_block_type[layer] == "
                              "'mamba'",
                      .linears = mamba("mamba.in_proj", "mamba.conv1d", "mamba.scan",
                                       "mamba.out_proj", "mamba_proj_bias ?? false")},
                     {.name = "attention",
                      .when = "layer_types[layer] == 'attention' ?? layers_block_type[layer] == "
                              "'attention'",
                      .linears = self_attention(kAttentionBias, kAttentionBias),
                      .attention = {.scale_dim =
                                        "ratio(1, attention_multiplier * attention_multiplier)",
                                    .rope = {.when = "position_embedding_type == 'rope' ?? "
                                                     "false"}}}},
          .feed_forwards = {{.kind = FeedForwardKind::kExperts,
                             .when = "(required_else(num_local_experts, 8) ?? 0) > 0",
                             .linears = {small("block_sparse_moe.router.layer", "experts"),
                                         expert("block_sparse_moe.input_linear", "2 * inner",
                                                "hidden", Role::kGateUp),
                                         expert("block_sparse_moe.output_linear", "hidden", "inner",
                                                Role::kDown),
                                         {"shared_mlp.input_linear", "2 * shared_intermediate_size",
                                          "hidden", Role::kGateUp},
                                         {"shared_mlp.output_linear", "hidden",
                                          "shared_intermediate_size", Role::kDown}},
                             .experts = {.shared = "1", .routed = "true"}},
                            {.linears = {{"shared_mlp.input_linear", "2 * shared_intermediate_size",
                                          "hidden", Role::kGateUp},
                                         {"shared_mlp.output_linear", "hidden",
                                          "shared_intermediate_size", Role::kDown}}}},
          .norm = {.plain_sum = kGranitePlainSum},
          .multipliers = {{"embedding", "embedding_multiplier ?? 1"},
                          {"residual", "residual_multiplier ?? 1"},
                          {"logits", "ratio(1, logits_scaling ?? 1)"}},
      },
  };
  return rows;
}

}  // namespace heddle

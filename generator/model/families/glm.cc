// ChatGLM and GLM-4 to GLM-4.7 with grouped-query attention; GLM-5 is beside DeepSeek.
#include "generator/model/families/rows.h"

namespace heddle {
namespace {

// Half of each head is turned, neighbouring elements together.
const RopeRow kHalf = {.pairing = RopePairing::kGptj, .part = "0.5"};

std::vector<FeedForwardRow> stored_fused() {
  return {{.linears = {{"mlp.gate_up_proj", "2 * inner", "hidden", Role::kGateUp},
                       {"mlp.down_proj", "hidden", "inner", Role::kDown}}}};
}

}  // namespace

const std::vector<FamilyRow>& glm_relatives() {
  static const std::vector<FamilyRow> rows = {
      {
          .name = "ChatGLM 2 and 3, GLM-4 of 2024",
          .model_types = {"chatglm"},
          .body = "transformer.encoder",
          .head = "transformer.output_layer",
          .names = {{"head_dim", "kv_channels ?? hidden / heads"},
                    {"grouped", "multi_query_attention ?? false"},
                    {"kv_heads", "when(grouped, multi_query_group_num ?? 1) ?? heads"},
                    {"inner", "ffn_hidden_size"},
                    {"vocabulary", "padded_vocab_size ?? vocab_size"}},
          .mixers = {{.linears = {{"self_attention.query_key_value",
                                   "(heads + 2 * kv_heads) * head_dim", "hidden", Role::kQkv, "",
                                   "add_qkv_bias ?? add_bias_linear ?? false", "true",
                                   Module::kLinear, "1", RowOrder::kByKvHeads, "!grouped"},
                                  {"self_attention.dense", "hidden", "heads * head_dim", Role::kOut,
                                   "", "add_bias_linear ?? false"}},
                      .attention = {.rope = {.pairing = RopePairing::kGptj,
                                             .dim = "floor(head_dim / 2)",
                                             .base = "10000 * (rope_ratio ?? 1)"}}}},
          .feed_forwards = {{.linears = {{"mlp.dense_h_to_4h", "2 * inner", "hidden", Role::kGateUp,
                                          "", "add_bias_linear ?? false"},
                                         {"mlp.dense_4h_to_h", "hidden", "inner", Role::kDown, "",
                                          "add_bias_linear ?? false"}}}},
          .norm = {.kind = NormKind::kLayer,
                   .epsilon = "layernorm_epsilon",
                   .kind_when = "!(rmsnorm ?? true)",
                   .plain_sum = "!(apply_residual_connection_post_layernorm ?? false)"},
          .remarks = {{"!post_layer_norm",
                       "there is no norm behind the last layer (post_layer_norm)"},
                      {"(pre_seq_len ?? 0) > 0",
                       "pre_seq_len: keys and values of a prefix that is no text come first",
                       Consequence::kAttentionNote},
                      {"(quantization_bit ?? 0) > 0",
                       "quantization_bit: ChatGLM's own quantisation is not read",
                       Consequence::kRefusal}},
          .unused = {"original_rope", "prefix_projection"},
      },
      {
          .name = "GLM-4",
          .model_types = {"glm"},
          .names = {{"class_default_kv_heads", "2"},
                    {"head_dim", "assumed(head_dim, 128) ?? hidden / heads"},
                    {"class_default_epsilon", "0.00000015625"},
                    kKvHeadsGiven},
          .mixers = {{.linears = self_attention("attention_bias ?? true"),
                      .attention = {.rope = kHalf}}},
          .feed_forwards = stored_fused(),
      },
      {
          .name = "GLM-4 of 2025, GLM-4V",
          .model_types = {"glm4", "glm4v_text"},
          .names =
              {{"class_default_kv_heads", "2"},
               {"head_dim",
                "when(model_type == 'glm4', assumed(head_dim, 128)) ?? head_dim ?? hidden / heads"},
               {"class_default_epsilon", "when(model_type == 'glm4', 0.00000015625) ?? 0.00001"},
               kKvHeadsGiven},
          .mixers = {{.linears = self_attention("attention_bias ?? true"),
                      .attention = {.rope = kHalf}}},
          .feed_forwards = stored_fused(),
          .norm = {.place = NormPlace::kAround},
      },
      {
          .name = "GLM-4.5 to 4.7",
          .model_types = {"glm4_moe", "glm4v_moe_text"},
          .names = {{"class_default_kv_heads", "8"},
                    {"class_default_epsilon", "0.00001"},
                    {"shared", "assumed(n_shared_experts, 1) ?? 0"},
                    kKvHeadsGiven,
                    {"experts", "n_routed_experts"},
                    {"expert_inner", "moe_intermediate_size"}},
          .mixers = {{.linears = self_attention("attention_bias ?? model_type == 'glm4v_moe_text'"),
                      .attention = {.qk_norm = QkNorm::kHead,
                                    .qk_norm_when = "use_qk_norm ?? false",
                                    .append_norms = true,
                                    .rope = {.part = "0.5"}}}},
          .feed_forwards =
              {{.when = "layer < assumed(first_k_dense_replace, 1)", .linears = gated_mlp()},
               {.kind = FeedForwardKind::kExperts,
                .linears =
                    join({gated_experts(), shared_experts("expert_inner * shared", "shared > 0")}),
                .experts = {.shared = "shared",
                            .scoring = "scoring_func ?? 'sigmoid'",
                            .groups = "n_group ?? 1",
                            .groups_per_token = "topk_group ?? 1",
                            .normalised = "norm_topk_prob ?? true",
                            .scale = "routed_scaling_factor ?? 1",
                            .bias = "true",
                            .routed = "true"}}},
          .others = {kNextTokens},
      },
  };
  return rows;
}

}  // namespace heddle

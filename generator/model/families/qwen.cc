// Qwen 1 to 3.6. The language models of the VL and Omni wrappers are rows as well.
#include <string>

#include "generator/model/families/rows.h"

namespace heddle {
namespace {

// Layers before max_window_layers see everything, if windows are in use at all.
constexpr Expression kWindowed =
    "layer_types[layer] == 'sliding_attention' ?? (use_sliding_window ?? false) && "
    "given(sliding_window) && layer >= required_else(max_window_layers, 28)";
constexpr Expression kIsQwenExperts =
    "!(mlp_only_layers has layer ?? false) && (num_experts ?? num_local_experts ?? "
    "required_else(num_experts, class_default_experts)) > 0 && "
    "(layer + 1) % (decoder_sparse_step ?? 1) == 0";
// Not where the number of experts is null.
Expression is_qwen_dense() {
  static const std::string text = "!(" + std::string(kIsQwenExperts) + ")";
  return text;
}

// Both kinds of attention differ in the window alone.
std::vector<MixerRow> windowed(const LinearRows& linears, const AttentionRow& attention) {
  AttentionRow window = attention;
  window.window = "sliding_window";
  return {{.name = "sliding_attention", .when = kWindowed, .linears = linears, .attention = window},
          {.linears = linears, .attention = attention}};
}

const AttentionRow kPlain = {};
const AttentionRow kHeadNorm = {.qk_norm = QkNorm::kHead, .append_norms = true};

const ExpertsRow kQwenExperts = {
    .normalised = "norm_topk_prob ?? model_type == 'qwen3_omni_moe_text' ?? false",
    .routed = "true"};
const ExpertsRow kExpertsAndShared = {
    .shared = "1", .shared_gate = "true", .normalised = "norm_topk_prob ?? true", .routed = "true"};

// An expert that every token takes, times a gate of its own.
LinearRows gated_shared_expert() {
  return {
      {"mlp.shared_expert.gate_proj", "shared_expert_intermediate_size", "hidden", Role::kGate,
       "gate_up_proj"},
      {"mlp.shared_expert.up_proj", "shared_expert_intermediate_size", "hidden", Role::kUp,
       "gate_up_proj"},
      {"mlp.shared_expert.down_proj", "hidden", "shared_expert_intermediate_size", Role::kDown},
      small("mlp.shared_expert_gate", "1"),
  };
}

std::vector<FeedForwardRow> mixture() {
  return {{.kind = FeedForwardKind::kExperts,
           .when = kIsQwenExperts,
           .linears = gated_experts(),
           .experts = kQwenExperts},
          {.when = is_qwen_dense(), .linears = gated_mlp()}};
}

std::vector<FeedForwardRow> mixture_with_shared(const ExpertsRow& experts = kExpertsAndShared) {
  return {{.kind = FeedForwardKind::kExperts,
           .when = kIsQwenExperts,
           .linears = join({gated_experts(), gated_shared_expert()}),
           .experts = experts},
          {.when = is_qwen_dense(), .linears = gated_mlp()}};
}

// Attention whose output is multiplied by a gate, which q_proj makes as well, head by head.
MixerRow gated_attention() {
  return {.when =
              "layer_types[layer] == 'full_attention' ?? "
              "(layer + 1) % (full_attention_interval ?? 4) == 0",
          .linears = self_attention(kAttentionBias, kAttentionBias, "2 * heads * head_dim"),
          .attention = {.gate = "true", .qk_norm = QkNorm::kHead, .append_norms = true}};
}

std::vector<NamedExpression> delta_names() {
  return {kKvHeadsGiven,
          {"head_dim", "assumed(head_dim, 256) ?? hidden / heads"},
          {"class_default_experts", "512"},
          {"key_rows", "linear_num_key_heads * linear_key_head_dim"},
          {"value_rows", "linear_num_value_heads * linear_value_head_dim"}};
}

// Linear attention with the gated delta rule. Qwen3-Next stores its projections in two matrices,
// Qwen3.5 in four, which engines fuse to the same two.
MixerRow delta_rule(bool stored_fused) {
  const LinearRows two = {
      {"linear_attn.in_proj_qkvz", "2 * key_rows + 2 * value_rows", "hidden"},
      {"linear_attn.in_proj_ba", "2 * linear_num_value_heads", "hidden"},
  };
  const LinearRows four = {
      {"linear_attn.in_proj_qkv", "2 * key_rows + value_rows", "hidden", Role::kOther,
       "in_proj_qkvz"},
      {"linear_attn.in_proj_z", "value_rows", "hidden", Role::kOther, "in_proj_qkvz"},
      {"linear_attn.in_proj_b", "linear_num_value_heads", "hidden", Role::kOther, "in_proj_ba"},
      {"linear_attn.in_proj_a", "linear_num_value_heads", "hidden", Role::kOther, "in_proj_ba"},
  };
  return {.kind = MixerKind::kLinearAttention,
          .name = "linear_attention",
          .when = "layer_types[layer] == 'linear_attention' ?? true",
          .linears = join({stored_fused ? two : four,
                           {convolution("linear_attn.conv1d", "2 * key_rows + value_rows",
                                        "linear_conv_kernel_dim"),
                            scan("linear_attn.delta_rule"),
                            {"linear_attn.out_proj", "hidden", "value_rows", Role::kOut}}})};
}

const OtherRow kMtp = {"mtp", "mtp_num_hidden_layers ?? num_nextn_predict_layers ?? 0",
                       "layers that predict further tokens are not described yet"};
const NormRow kPlusOne = {.kind = NormKind::kRmsPlusOne};
const RemarkRow kOutputGate = {
    "!attn_output_gate", "attn_output_gate is false: q_proj makes no gates", Consequence::kRefusal};

}  // namespace

const std::vector<FamilyRow>& qwen_relatives() {
  static const std::vector<FamilyRow> rows = {
      {
          .name = "Qwen",
          .model_types = {"qwen"},
          .body = "transformer",
          .layers = "h",
          .names = {{"head_dim", "kv_channels ?? hidden / heads"}},
          .mixers = {{.linears = {{"attn.c_attn", "3 * heads * head_dim", "hidden", Role::kQkv, "",
                                   "true"},
                                  {"attn.c_proj", "hidden", "heads * head_dim", Role::kOut, "",
                                   "!(no_bias ?? true)"}},
                      .attention = {.scale_dim = "when(scale_attn_weights ?? true, head_dim) ?? 1",
                                    .rope = {.dim = "floor(head_dim * (rotary_pct ?? 1))",
                                             .base = "rotary_emb_base ?? 10000",
                                             .scaling = "when(use_dynamic_ntk ?? true, 'dynamic') "
                                                        "?? ''"}}}},
          // w1 makes features, w2 their gate.
          .feed_forwards = {{.linears = {{"mlp.w2", "intermediate_size / 2", "hidden", Role::kGate,
                                          "gate_up_proj", "!(no_bias ?? true)"},
                                         {"mlp.w1", "intermediate_size / 2", "hidden", Role::kUp,
                                          "gate_up_proj", "!(no_bias ?? true)"},
                                         {"mlp.c_proj", "hidden", "intermediate_size / 2",
                                          Role::kDown, "", "!(no_bias ?? true)"}}}},
          .norm = {.epsilon = "layer_norm_epsilon"},
          .remarks = {{"use_dynamic_ntk ?? true",
                       "the base of rotations grows with sequences beyond {seq_length ?? 8192} "
                       "tokens (use_dynamic_ntk, seq_length): the table of cosines and sines has "
                       "to follow",
                       Consequence::kAttentionNote},
                      {"use_logn_attn ?? true",
                       "beyond {seq_length ?? 8192} tokens queries are multiplied by the logarithm "
                       "of their place, from 1, to that base (use_logn_attn, seq_length), which "
                       "kv_append does not do",
                       Consequence::kAttentionNote}},
      },
      {
          .name = "Qwen 1.5, 2 and 2.5",
          .model_types = {"qwen2", "qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text",
                          "qwen2_5_omni_text"},
          .names = {{"class_default_base", "when(model_type != 'qwen2', 1000000) ?? 10000"},
                    {"class_default_epsilon",
                     "when(model_type != 'qwen2' && model_type != 'qwen2_5_omni_text', 0.00001) ?? "
                     "0.000001"},
                    kKvHeadsGiven},
          .mixers = windowed(self_attention("true"), kPlain),
          .feed_forwards = {{.linears = gated_mlp()}},
          .tied = kTied,
          .remarks = {kDualChunks},
      },
      {
          .name = "Qwen 1.5 and 2 MoE",
          .model_types = {"qwen2_moe"},
          .names = {{"class_default_kv_heads", "16"},
                    {"class_default_experts", "60"},
                    kKvHeadsGiven},
          .mixers = windowed(self_attention("qkv_bias ?? true"), kPlain),
          .feed_forwards = mixture_with_shared({.shared = "1",
                                                .shared_gate = "true",
                                                .normalised = "norm_topk_prob ?? false",
                                                .routed = "true"}),
          .tied = kTied,
          .remarks = {kDualChunks},
      },
      {
          .name = "Qwen 3",
          .model_types = {"qwen3", "qwen3_vl_text", "qwen3_omni_text"},
          .names = {{"class_default_kv_heads", "32"},
                    {"class_default_base", "when(model_type == 'qwen3_vl_text', 500000) ?? 10000"},
                    kKvHeadsGiven,
                    {"head_dim", "head_dim ?? 128"}},
          .mixers = windowed(self_attention(kAttentionBias, kAttentionBias), kHeadNorm),
          .feed_forwards = {{.linears = gated_mlp()}},
          .tied = kTied,
          .remarks = {kDualChunks},
      },
      {
          .name = "Qwen 3 MoE",
          .model_types = {"qwen3_moe", "qwen3_vl_moe_text", "qwen3_omni_moe_text"},
          .names = {{"class_default_experts", "when(model_type == 'qwen3_vl_moe_text', 60) ?? 128"},
                    {"class_default_base",
                     "when(model_type == 'qwen3_vl_moe_text', 500000) ?? when(model_type == "
                     "'qwen3_omni_moe_text', 1000000) ?? 10000"},
                    kKvHeadsGiven},
          .mixers = windowed(self_attention(kAttentionBias, kAttentionBias), kHeadNorm),
          .feed_forwards = mixture(),
          .tied = kTied,
          .remarks = {kDualChunks},
          .unused = {"qkv_bias", "shared_expert_intermediate_size", "use_qk_norm"},
      },
      {
          .name = "Qwen3-Next",
          .model_types = {"qwen3_next"},
          .names = with(delta_names(), {{"class_default_kv_heads", "2"}}),
          .mixers = {gated_attention(), delta_rule(true)},
          .feed_forwards = mixture_with_shared(),
          .norm = kPlusOne,
          .tied = kTied,
          .others = {kMtp},
          .remarks = {kOutputGate},
      },
      {
          .name = "Qwen 3.5 and 3.6",
          .model_types = {"qwen3_5_text", "qwen3_5"},
          .names = with(delta_names(), {{"class_default_kv_heads", "4"}}),
          .mixers = {gated_attention(), delta_rule(false)},
          .feed_forwards = {{.linears = gated_mlp()}},
          .norm = kPlusOne,
          .tied = kTied,
          .others = {kMtp},
          .remarks = {kOutputGate},
      },
      {
          .name = "Qwen 3.5 and 3.6 MoE",
          .model_types = {"qwen3_5_moe_text", "qwen3_5_moe"},
          .names = with(delta_names(), {{"class_default_kv_heads", "2"}}),
          .mixers = {gated_attention(), delta_rule(false)},
          .feed_forwards = {{.kind = FeedForwardKind::kExperts,
                             .linears = join({gated_experts(), gated_shared_expert()}),
                             .experts = kExpertsAndShared}},
          .norm = kPlusOne,
          .tied = kTied,
          .others = {kMtp},
          .remarks = {kOutputGate},
      },
  };
  return rows;
}

}  // namespace heddle

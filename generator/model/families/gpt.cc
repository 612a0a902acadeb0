// GPT-2 and the models of its time: LayerNorm, biases, feed-forward layers of two matrices.
#include "generator/model/families/rows.h"

namespace heddle {
namespace {

const RopeRow kNoRope = {.when = "false"};
constexpr Expression kTied = "tie_word_embeddings ?? true";

LinearRow gpt2_conv(std::string_view path, Expression n, Expression k, Role role) {
  return {path, n, k, role, "", "true", "true", Module::kConv1D};
}

}  // namespace

const std::vector<FamilyRow>& gpt_relatives() {
  static const std::vector<FamilyRow> rows = {
      {
          .name = "GPT-2",
          .model_types = {"gpt2"},
          .body = "transformer",
          .layers = "h",
          .names = {{"kv_heads", "heads"}, {"inner", "n_inner ?? 4 * hidden"}},
          .mixers = {{.linears = {gpt2_conv("attn.c_attn", "3 * hidden", "hidden", Role::kQkv),
                                  gpt2_conv("attn.c_proj", "hidden", "hidden", Role::kOut)},
                      .attention = {.rope = kNoRope}}},
          .feed_forwards = {{.linears = {gpt2_conv("mlp.c_fc", "inner", "hidden", Role::kUp),
                                         gpt2_conv("mlp.c_proj", "hidden", "inner", Role::kDown)}}},
          .norm = {NormKind::kLayer, NormPlace::kBefore, "layer_norm_epsilon"},
          .activation = "activation_function ?? 'gelu_new'",
          .tied = kTied,
          .note = "positions are embeddings of their own (wpe)",
      },
      {
          .name = "GPT",
          .model_types = {"openai-gpt"},
          .body = "transformer",
          .layers = "h",
          .names = {{"kv_heads", "heads"}},
          .mixers = {{.linears = {gpt2_conv("attn.c_attn", "3 * hidden", "hidden", Role::kQkv),
                                  gpt2_conv("attn.c_proj", "hidden", "hidden", Role::kOut)},
                      .attention = {.rope = kNoRope}}},
          .feed_forwards = {{.linears = {gpt2_conv("mlp.c_fc", "4 * hidden", "hidden", Role::kUp),
                                         gpt2_conv("mlp.c_proj", "hidden", "4 * hidden",
                                                   Role::kDown)}}},
          .norm = {NormKind::kLayer, NormPlace::kAfter, "layer_norm_epsilon"},
          .activation = "afn ?? 'gelu'",
          .tied = kTied,
          .note = "positions are embeddings of their own",
      },
      {
          .name = "GPT-BigCode, StarCoder",
          .model_types = {"gpt_bigcode"},
          .body = "transformer",
          .layers = "h",
          .names = {{"one_for_all", "multi_query ?? true"},
                    {"kv_heads", "one_for_all + !one_for_all * heads"},
                    {"inner", "n_inner ?? 4 * hidden"}},
          .mixers = {{.linears = {{"attn.c_attn", "hidden + 2 * kv_heads * head_dim", "hidden",
                                   Role::kQkv, "", "true", "true", Module::kLinear, "1",
                                   RowOrder::kByKvHeads, "!one_for_all"},
                                  {"attn.c_proj", "hidden", "hidden", Role::kOut, "", "true"}},
                      .attention = {.rope = kNoRope}}},
          .feed_forwards = {{.linears = {{"mlp.c_fc", "inner", "hidden", Role::kUp, "", "true"},
                                         {"mlp.c_proj", "hidden", "inner", Role::kDown, "",
                                          "true"}}}},
          .norm = {NormKind::kLayer, NormPlace::kBefore, "layer_norm_epsilon"},
          .activation = "activation_function ?? 'gelu_pytorch_tanh'",
          .tied = kTied,
          .note = "positions are embeddings of their own (wpe)",
      },
      {
          .name = "GPT-J",
          .model_types = {"gptj"},
          .body = "transformer",
          .layers = "h",
          .names = {{"kv_heads", "heads"}, {"inner", "n_inner ?? 4 * hidden"}},
          .mixers = {{.linears = {{"attn.q_proj", "hidden", "hidden", Role::kQ, "qkv_proj"},
                                  {"attn.k_proj", "hidden", "hidden", Role::kK, "qkv_proj"},
                                  {"attn.v_proj", "hidden", "hidden", Role::kV, "qkv_proj"},
                                  {"attn.out_proj", "hidden", "hidden", Role::kOut}},
                      .attention = {.rope = {.pairing = RopePairing::kGptj,
                                             .dim = "rotary_dim ?? head_dim",
                                             .base = "10000"}}}},
          .feed_forwards = {{.linears = {{"mlp.fc_in", "inner", "hidden", Role::kUp, "", "true"},
                                         {"mlp.fc_out", "hidden", "inner", Role::kDown, "",
                                          "true"}}}},
          .norm = {NormKind::kLayer, NormPlace::kParallel, "layer_norm_epsilon"},
          .activation = "activation_function ?? 'gelu_new'",
          .head_bias = "true",
      },
      {
          .name = "GPT-NeoX, Pythia",
          .model_types = {"gpt_neox", "gpt_neox_japanese"},
          .body = "gpt_neox",
          .head = "embed_out",
          .names = {{"kv_heads", "heads"}},
          .mixers = {{.linears = {{"attention.query_key_value", "3 * hidden", "hidden", Role::kQkv,
                                   "", "attention_bias ?? true", "true", Module::kLinear, "1",
                                   RowOrder::kByKvHeads},
                                  {"attention.dense", "hidden", "hidden", Role::kOut, "",
                                   "attention_bias ?? true"}},
                      .attention = {.rope = {.dim = "floor(head_dim * (rotary_pct ?? "
                                                    "rope_parameters.partial_rotary_factor ?? "
                                                    "partial_rotary_factor ?? 0.25))",
                                             .base = "rotary_emb_base ?? rope_theta ?? "
                                                     "rope_parameters.rope_theta ?? 10000"}}}},
          .feed_forwards =
              {{.linears = {{"mlp.dense_h_to_4h", "inner", "hidden", Role::kUp, "", "true"},
                            {"mlp.dense_4h_to_h", "hidden", "inner", Role::kDown, "", "true"}}}},
          .norm = {NormKind::kLayer, NormPlace::kBefore, "layer_norm_eps ?? layer_norm_epsilon"},
          .activation = "hidden_act ?? 'gelu'",
          .note = "use_parallel_residual (the default) adds attention and feed-forward at once",
      },
      {
          .name = "Persimmon",
          .model_types = {"persimmon"},
          .names = {{"kv_heads", "heads"}},
          .mixers = {{.linears = {{"self_attn.query_key_value", "3 * hidden", "hidden", Role::kQkv,
                                   "", "true", "true", Module::kLinear, "1", RowOrder::kByKvHeads},
                                  {"self_attn.dense", "hidden", "hidden", Role::kOut, "", "true"}},
                      .attention = {.qk_norm = QkNorm::kHead,
                                    .qk_norm_when = "qk_layernorm ?? true",
                                    .rope = {.dim = "floor(head_dim * (partial_rotary_factor ?? "
                                                    "rope_parameters.partial_rotary_factor ?? "
                                                    "0.5))"}}}},
          .feed_forwards =
              {{.linears = {{"mlp.dense_h_to_4h", "inner", "hidden", Role::kUp, "", "true"},
                            {"mlp.dense_4h_to_h", "hidden", "inner", Role::kDown, "", "true"}}}},
          .norm = {NormKind::kLayer, NormPlace::kBefore, "layer_norm_eps"},
          .activation = "hidden_act ?? 'relu2'",
      },
      {
          .name = "OPT",
          .model_types = {"opt"},
          .body = "model.decoder",
          .names = {{"kv_heads", "heads"},
                    {"inner", "ffn_dim"},
                    {"head_width", "word_embed_proj_dim ?? hidden"}},
          .mixers = {{.linears = {{"self_attn.q_proj", "hidden", "hidden", Role::kQ, "qkv_proj",
                                   "enable_bias ?? true"},
                                  {"self_attn.k_proj", "hidden", "hidden", Role::kK, "qkv_proj",
                                   "enable_bias ?? true"},
                                  {"self_attn.v_proj", "hidden", "hidden", Role::kV, "qkv_proj",
                                   "enable_bias ?? true"},
                                  {"self_attn.out_proj", "hidden", "hidden", Role::kOut, "",
                                   "enable_bias ?? true"}},
                      .attention = {.rope = kNoRope}}},
          .feed_forwards =
              {{.linears = {{"fc1", "inner", "hidden", Role::kUp, "", "enable_bias ?? true"},
                            {"fc2", "hidden", "inner", Role::kDown, "", "enable_bias ?? true"}}}},
          .norm = {NormKind::kLayer, NormPlace::kBefore, "0.00001"},
          .activation = "activation_function ?? 'relu'",
          .tied = kTied,
          .head_width = "head_width",
          .outside = {{"project_in", "hidden", "head_width", Role::kOther, "", "false",
                       "head_width != hidden"},
                      {"project_out", "head_width", "hidden", Role::kOther, "", "false",
                       "head_width != hidden"}},
          .note =
              "positions are embeddings of their own; do_layer_norm_before false moves the norms",
      },
      {
          .name = "BLOOM",
          .model_types = {"bloom"},
          .body = "transformer",
          .layers = "h",
          .names = {{"hidden", "hidden_size ?? n_embed"},
                    {"layers", "n_layer ?? num_hidden_layers"},
                    {"heads", "n_head ?? num_attention_heads"},
                    {"kv_heads", "heads"}},
          .mixers =
              {{.linears = {{"self_attention.query_key_value", "3 * hidden", "hidden", Role::kQkv,
                             "", "true", "true", Module::kLinear, "1", RowOrder::kByKvHeads},
                            {"self_attention.dense", "hidden", "hidden", Role::kOut, "", "true"}},
                .attention = {.alibi = "true", .rope = kNoRope}}},
          .feed_forwards = {{.linears = {{"mlp.dense_h_to_4h", "4 * hidden", "hidden", Role::kUp,
                                          "", "true"},
                                         {"mlp.dense_4h_to_h", "hidden", "4 * hidden", Role::kDown,
                                          "", "true"}}}},
          .norm = {NormKind::kLayer, NormPlace::kBefore, "layer_norm_epsilon ?? 0.00001"},
          .activation = "'gelu'",
          .tied = kTied,
      },
      {
          // Its older models have one head of keys for all queries or as many as of queries, its
          // newer ones groups. Configs of the time before the flag for that say it by n_head_kv.
          .name = "Falcon",
          .model_types = {"falcon", "RefinedWeb", "RefinedWebModel"},
          .body = "transformer",
          .layers = "h",
          .names = {{"grouped", "new_decoder_architecture ?? given(n_head_kv)"},
                    {"one_for_all", "!grouped && (multi_query ?? true)"},
                    {"kv_heads",
                     "one_for_all + grouped * (num_kv_heads ?? n_head_kv ?? heads) + "
                     "(!grouped && !one_for_all) * heads"},
                    {"inner", "ffn_hidden_size ?? 4 * hidden"}},
          .mixers =
              {{.linears = {{"self_attention.query_key_value", "(heads + 2 * kv_heads) * head_dim",
                             "hidden", Role::kQkv, "", "bias ?? false", "true", Module::kLinear,
                             "1", RowOrder::kByKvHeads, "!one_for_all"},
                            {"self_attention.dense", "hidden", "hidden", Role::kOut, "",
                             "bias ?? false"}},
                .attention = {.alibi = "alibi ?? false", .rope = {.when = "!(alibi ?? false)"}}}},
          .feed_forwards = {{.linears = {{"mlp.dense_h_to_4h", "inner", "hidden", Role::kUp, "",
                                          "bias ?? false"},
                                         {"mlp.dense_4h_to_h", "hidden", "inner", Role::kDown, "",
                                          "bias ?? false"}}}},
          .norm = {NormKind::kLayer, NormPlace::kParallel, "layer_norm_epsilon"},
          .activation = "activation ?? 'gelu'",
          .tied = kTied,
      },
      {
          .name = "MPT",
          .model_types = {"mpt"},
          .body = "transformer",
          .layers = "blocks",
          .names = {{"hidden", "d_model"},
                    {"heads", "n_heads"},
                    {"layers", "n_layers"},
                    {"kv_heads", "heads"},
                    {"inner", "(expansion_ratio ?? 4) * hidden"},
                    {"biased", "!(no_bias ?? true)"}},
          .mixers = {{.linears = {{"attn.Wqkv", "3 * hidden", "hidden", Role::kQkv, "", "biased"},
                                  {"attn.out_proj", "hidden", "hidden", Role::kOut, "", "biased"}},
                      .attention = {.alibi = "attn_config.alibi ?? true", .rope = kNoRope}}},
          .feed_forwards =
              {{.linears = {{"ffn.up_proj", "inner", "hidden", Role::kUp, "", "biased"},
                            {"ffn.down_proj", "hidden", "inner", Role::kDown, "", "biased"}}}},
          .norm = {NormKind::kLayer, NormPlace::kBefore, "layer_norm_epsilon ?? 0.00001"},
          .activation = "'gelu'",
          .tied = kTied,
      },
  };
  return rows;
}

}  // namespace heddle

// Llama and the dense models that differ from it in a few modules.
#include "generator/model/families/rows.h"

namespace heddle {
namespace {

AttentionRow neox_latent_facts() {
  AttentionRow row = latent_facts();
  row.rope.pairing = RopePairing::kNeox;
  return row;
}

const AttentionRow kWindow = {.window = "sliding_window ?? 0"};

}  // namespace

const std::vector<FamilyRow>& llama_relatives() {
  static const std::vector<FamilyRow> rows = {
      {
          .name = "Llama 2 and 3",
          .model_types = {"llama"},
          .mixers = {{.linears = self_attention(kAttentionBias, kAttentionBias)}},
          .feed_forwards = {{.linears = gated_mlp("inner", kMlpBias)}},
      },
      {
          // Some layers attend to images instead of the tokens before.
          .name = "Llama 3.2 Vision",
          .model_types = {"mllama_text_model"},
          .names = {{"usual_kv_heads", "8"},
                    {"usual_epsilon", "0.00001"},
                    {"usual_base", "500000"},
                    kKvHeadsGiven},
          .mixers = {{.kind = MixerKind::kCrossAttention,
                      .name = "cross_attention",
                      .when = "cross_attention_layers has layer",
                      .linears = {{"cross_attn.q_proj", "heads * head_dim", "hidden", Role::kQ},
                                  {"cross_attn.k_proj", "kv_heads * head_dim", "hidden", Role::kK},
                                  {"cross_attn.v_proj", "kv_heads * head_dim", "hidden", Role::kV},
                                  {"cross_attn.o_proj", "hidden", "heads * head_dim", Role::kOut}}},
                     {.linears = self_attention()}},
          .feed_forwards = {{.linears = gated_mlp()}},
          .norm = {.plain_sum = "false"},  // halves of cross attention are gated
      },
      {
          .name = "Mistral",
          .model_types = {"mistral", "ministral3"},
          .names = {{"usual_kv_heads", "8"},
                    {"head_dim",
                     "when(model_type == 'ministral3', assumed(head_dim, 128)) ?? head_dim ?? "
                     "hidden / heads"},
                    {"usual_epsilon", "when(model_type == 'ministral3', 0.00001) ?? 0.000001"},
                    kKvHeadsGiven},
          .mixers = {{.linears = self_attention(),
                      .attention = {.window = "sliding_window ?? when(model_type == 'mistral', "
                                              "assumed(sliding_window, 4096)) ?? 0"}}},
          .feed_forwards = {{.linears = gated_mlp()}},
          .remarks = {kLlama4Scaling},
      },
      {
          .name = "Ministral",
          .model_types = {"ministral"},
          .names = {{"usual_kv_heads", "8"}, kKvHeadsGiven},
          .mixers = {{.name = "sliding_attention",
                      .when = "layer_types[layer] == 'sliding_attention' ?? true",
                      .linears = self_attention(),
                      .attention = {.window = "assumed(sliding_window, 4096) ?? 0"}},
                     {.when = kIsFull, .linears = self_attention()}},
          .feed_forwards = {{.linears = gated_mlp()}},
      },
      {
          .name = "Granite",
          .model_types = {"granite"},
          .mixers = {{.linears = self_attention(kAttentionBias, kAttentionBias),
                      .attention = {.scale_dim =
                                        "ratio(1, attention_multiplier * attention_multiplier)"}}},
          .feed_forwards = {{.linears = gated_mlp("inner", kMlpBias)}},
          .norm = {.plain_sum = kGranitePlainSum},
          .multipliers = {{"embedding", "embedding_multiplier ?? 1"},
                          {"residual", "residual_multiplier ?? 1"},
                          {"logits", "ratio(1, logits_scaling ?? 1)"}},
      },
      {
          .name = "OLMo",
          .model_types = {"olmo"},
          .mixers = {{.linears = self_attention(kAttentionBias, kAttentionBias)}},
          .feed_forwards = {{.linears = gated_mlp()}},
          .norm = {.kind = NormKind::kLayer, .epsilon = "0.00001"},
          .remarks = {{"true", "its LayerNorm has no weights"}, kClippedQkv},
      },
      {
          .name = "OLMo 2",
          .model_types = {"olmo2"},
          .names = {{"usual_epsilon", "0.00001"}},
          .mixers = {{.linears = self_attention(kAttentionBias, kAttentionBias),
                      .attention = {.qk_norm = QkNorm::kAll}}},
          .feed_forwards = {{.linears = gated_mlp()}},
          .norm = {.place = NormPlace::kAfter},
      },
      {
          .name = "OLMo 3",
          .model_types = {"olmo3"},
          .names = {{"usual_epsilon", "0.00001"}, {"usual_base", "500000"}},
          .mixers =
              {{.name = "sliding_attention",
                .when = "layer_types[layer] == 'sliding_attention' ?? (layer + 1) % 4 != 0",
                .linears = self_attention(kAttentionBias, kAttentionBias),
                .attention = {.window = "sliding_window",
                              .qk_norm = QkNorm::kAll,
                              .rope = {.kind = "sliding_attention",
                                       .scaling =
                                           "rope_parameters.sliding_attention.rope_type ?? ''"}}},
               {.when = "layer_types[layer] == 'full_attention' ?? true",
                .linears = self_attention(kAttentionBias, kAttentionBias),
                .attention = {.qk_norm = QkNorm::kAll, .rope = {.kind = "full_attention"}}}},
          .feed_forwards = {{.linears = gated_mlp()}},
          .norm = {.place = NormPlace::kAfter},
      },
      {
          .name = "Cohere",
          .model_types = {"cohere"},
          .names = {{"usual_epsilon", "0.00001"}, {"usual_base", "500000"}},
          .mixers = {{.linears = self_attention(kAttentionBias, kAttentionBias),
                      .attention = {.qk_norm = QkNorm::kEachHead,
                                    .qk_norm_when = "use_qk_norm ?? false",
                                    .rope = {.pairing = RopePairing::kGptj}}}},
          .feed_forwards = {{.linears = gated_mlp()}},
          .norm = {NormKind::kLayer, NormPlace::kParallel, "layer_norm_eps"},
          .tied = kTiedByDefault,
          .multipliers = {{"logits", "logit_scale"}},
      },
      {
          .name = "Cohere 2",
          .model_types = {"cohere2"},
          .names = {{"usual_epsilon", "0.00001"}},
          .mixers = {{.name = "sliding_attention",
                      .when = "layer_types[layer] == 'sliding_attention' ?? "
                              "(layer + 1) % (sliding_window_pattern ?? 4) != 0",
                      .linears = self_attention(kAttentionBias, kAttentionBias),
                      .attention = {.window = "sliding_window",
                                    .rope = {.pairing = RopePairing::kGptj}}},
                     {.when = "layer_types[layer] == 'full_attention' ?? true",
                      .linears = self_attention(kAttentionBias, kAttentionBias),
                      .attention = {.rope = {.when = "false"}}}},
          .feed_forwards = {{.linears = gated_mlp()}},
          .norm = {NormKind::kLayer, NormPlace::kParallel, "layer_norm_eps"},
          .tied = kTiedByDefault,
          .multipliers = {{"logits", "logit_scale"}},
      },
      {
          .name = "InternLM 2",
          .model_types = {"internlm2"},
          .head = "output",
          .mixers = {{.linears = {{"attention.wqkv", "(heads + 2 * kv_heads) * head_dim", "hidden",
                                   Role::kQkv, "", "bias ?? false", "true", Module::kLinear, "1",
                                   RowOrder::kByKvHeads},
                                  {"attention.wo", "hidden", "heads * head_dim", Role::kOut, "",
                                   "bias ?? false"}}}},
          .feed_forwards =
              {{.linears = {{"feed_forward.w1", "inner", "hidden", Role::kGate, "gate_up_proj"},
                            {"feed_forward.w3", "inner", "hidden", Role::kUp, "gate_up_proj"},
                            {"feed_forward.w2", "hidden", "inner", Role::kDown}}}},
      },
      {
          .name = "InternLM 3",
          .model_types = {"internlm3"},
          .names = {{"head_dim", "assumed(head_dim, 128) ?? hidden / heads"},
                    {"kv_heads", "assumed(num_key_value_heads, 2) ?? heads"},
                    {"usual_epsilon", "0.00001"}},
          .mixers = {{.linears = self_attention("qkv_bias ?? attention_bias ?? false",
                                                "bias ?? mlp_bias ?? false")}},
          .feed_forwards = {{.linears = gated_mlp("inner", "bias ?? mlp_bias ?? false")}},
      },
      {
          .name = "Baichuan",
          .model_types = {"baichuan"},
          .mixers = {{.linears = {{"self_attn.W_pack", "3 * hidden", "hidden", Role::kQkv},
                                  {"self_attn.o_proj", "hidden", "hidden", Role::kOut}},
                      // The models of 7 B turn queries and keys, the wider ones have ALiBi: no
                      // field tells.
                      .attention = {.alibi = "hidden > 4096", .rope = {.when = "hidden <= 4096"}}}},
          .feed_forwards = {{.linears = gated_mlp()}},
          .remarks = {{"true",
                       "no field says it: models wider than 4096 have ALiBi, as those of 13 B, and "
                       "others rotations, as those of 7 B",
                       Consequence::kAttentionNote}},
      },
      {
          .name = "StarCoder 2",
          .model_types = {"starcoder2"},
          .names = {{"usual_kv_heads", "2"}, {"usual_epsilon", "0.00001"}, kKvHeadsGiven},
          .mixers = {{.linears = self_attention("use_bias ?? true", "use_bias ?? true"),
                      .attention = kWindow}},
          .feed_forwards = {{.linears = {{"mlp.c_fc", "inner", "hidden", Role::kUp, "",
                                          "use_bias ?? true"},
                                         {"mlp.c_proj", "hidden", "inner", Role::kDown, "",
                                          "use_bias ?? true"}}}},
          .norm = {NormKind::kLayer, NormPlace::kBefore, "norm_epsilon"},
          .activation = "hidden_act ?? 'gelu_pytorch_tanh'",
          .tied = kTiedByDefault,
      },
      {
          .name = "StableLM",
          .model_types = {"stablelm"},
          .names = {{"usual_kv_heads", "32"}, {"usual_epsilon", "0.00001"}, kKvHeadsGiven},
          .mixers = {{.linears = self_attention("use_qkv_bias ?? false"),
                      .attention = {.qk_norm = QkNorm::kEachHead,
                                    .qk_norm_when = "qk_layernorm ?? false",
                                    .rope = {.part = "0.25"}}}},
          .feed_forwards = {{.linears = gated_mlp()}},
          .norm = {.kind = NormKind::kLayer,
                   .epsilon = "layer_norm_eps",
                   .parallel = "use_parallel_residual ?? false"},
      },
      {
          .name = "MiniCPM",
          .model_types = {"minicpm"},
          .mixers = {{.linears = self_attention(kAttentionBias, kAttentionBias)}},
          .feed_forwards = {{.linears = gated_mlp()}},
          .norm = {.plain_sum = "false"},  // outputs are scaled by depth
          .tied = kTiedByDefault,
          .multipliers = {{"embedding", "scale_emb ?? 1"},
                          {"residual_depth", "scale_depth ?? 1"},
                          {"logits", "ratio(dim_model_base ?? hidden, hidden)"}},
      },
      {
          .name = "MiniCPM 3",
          .model_types = {"minicpm3"},
          .names = with(latent_names(), {{"q_rank", "assumed(q_lora_rank, 768) ?? 0"},
                                         {"usual_epsilon", "0.00001"},
                                         {"value_dim", "v_head_dim ?? hidden / heads"}}),
          .mixers = {{.kind = MixerKind::kLatentAttention,
                      .linears = latent_attention(),
                      .attention = neox_latent_facts()}},
          .feed_forwards = {{.linears = gated_mlp("inner", kMlpBias)}},
          .norm = {.plain_sum = "false"},  // outputs are scaled by depth
          .tied = kTiedByDefault,
          .multipliers = {{"embedding", "scale_emb ?? 12"},
                          {"residual_depth", "scale_depth ?? 1.4"},
                          {"logits", "ratio(dim_model_base ?? 256, hidden)"}},
          .unused = {"num_key_value_heads", "head_dim"},
      },
      {
          .name = "Phi 1 and 2",
          .model_types = {"phi"},
          .names = {{"usual_epsilon", "0.00001"}},
          .mixers = {{.linears = {{"self_attn.q_proj", "heads * head_dim", "hidden", Role::kQ,
                                   "qkv_proj", "true"},
                                  {"self_attn.k_proj", "kv_heads * head_dim", "hidden", Role::kK,
                                   "qkv_proj", "true"},
                                  {"self_attn.v_proj", "kv_heads * head_dim", "hidden", Role::kV,
                                   "qkv_proj", "true"},
                                  {"self_attn.dense", "hidden", "heads * head_dim", Role::kOut, "",
                                   "true"}},
                      .attention = {.qk_norm = QkNorm::kHead,
                                    .qk_norm_when = "qk_layernorm ?? false",
                                    .rope = {.part = "0.5"}}}},
          .feed_forwards = {{.linears = {{"mlp.fc1", "inner", "hidden", Role::kUp, "", "true"},
                                         {"mlp.fc2", "hidden", "inner", Role::kDown, "", "true"}}}},
          .norm = {NormKind::kLayer, NormPlace::kParallel, "layer_norm_eps"},
          .activation = "hidden_act ?? 'gelu_new'",
          .head_bias = "true",
      },
      {
          .name = "Phi 3 and 4",
          .model_types = {"phi3", "phi3_v", "phi4mm", "phi4_multimodal"},
          .names = {{"usual_epsilon", "0.00001"}},
          .mixers = {{.linears = {{"self_attn.qkv_proj", "(heads + 2 * kv_heads) * head_dim",
                                   "hidden", Role::kQkv},
                                  {"self_attn.o_proj", "hidden", "heads * head_dim", Role::kOut}},
                      .attention = kWindow}},
          .feed_forwards = {{.linears = {{"mlp.gate_up_proj", "2 * inner", "hidden", Role::kGateUp},
                                         {"mlp.down_proj", "hidden", "inner", Role::kDown}}}},
      },
      {
          .name = "SmolLM 3",
          .model_types = {"smollm3"},
          .names = {{"usual_kv_heads", "4"}, kKvHeadsGiven},
          .mixers = {{.when = "no_rope_layers[layer] != 0 ?? "
                              "(layer + 1) % (no_rope_layer_interval ?? 4) != 0",
                      .linears = self_attention(kAttentionBias, kAttentionBias),
                      .attention = {.window = "when((use_sliding_window ?? false) && "
                                              "(layer_types[layer] == 'sliding_attention' ?? "
                                              "false), sliding_window) ?? 0",
                                    .rope = {.usual_base = "2000000"}}},
                     {.name = "full_attention_without_rope",
                      .linears = self_attention(kAttentionBias, kAttentionBias),
                      .attention = {.window = "when((use_sliding_window ?? false) && "
                                              "(layer_types[layer] == 'sliding_attention' ?? "
                                              "true), sliding_window) ?? 0",
                                    .rope = {.when = "false"}}}},
          .feed_forwards = {{.linears = gated_mlp("inner", kMlpBias)}},
          .tied = kTiedByDefault,
      },
      {
          .name = "Seed-OSS",
          .model_types = {"seed_oss"},
          .names = {{"usual_kv_heads", "8"},
                    {"head_dim", "assumed(head_dim, 128) ?? hidden / heads"},
                    kKvHeadsGiven},
          .mixers = {{.linears =
                          self_attention("attention_bias ?? true", "attention_out_bias ?? false")}},
          .feed_forwards = {{.linears = gated_mlp("inner", kMlpBias)}},
      },
      {
          .name = "ERNIE 4.5",
          .model_types = {"ernie4_5"},
          .names = {{"usual_kv_heads", "2"},
                    {"head_dim", "assumed(head_dim, 128) ?? hidden / heads"},
                    {"usual_base", "500000"},
                    {"usual_epsilon", "0.00001"},
                    kKvHeadsGiven},
          .mixers = {{.linears = self_attention("use_bias ?? false", "use_bias ?? false"),
                      .attention = {.rope = {.pairing = RopePairing::kGptj}}}},
          .feed_forwards = {{.linears = gated_mlp("inner", "use_bias ?? false")}},
          .tied = kTiedByDefault,
      },
      {
          .name = "EXAONE 4",
          .model_types = {"exaone4"},
          .names = {{"usual_kv_heads", "32"}, {"usual_epsilon", "0.00001"}, kKvHeadsGiven},
          .mixers = {{.name = "sliding_attention",
                      .when = kIsSliding,
                      .linears = self_attention(),
                      .attention = {.window = "sliding_window",
                                    .qk_norm = QkNorm::kHead,
                                    .append_norms = true}},
                     // Without a window every layer turns queries and keys; beside layers with one,
                     // those without do not.
                     {.when = kIsFull,
                      .linears = self_attention(),
                      .attention = {.qk_norm = QkNorm::kHead,
                                    .append_norms = true,
                                    .rope = {.when = "(sliding_window ?? 0) == 0"}}}},
          .feed_forwards = {{.linears = gated_mlp()}},
          .norm = {.place = NormPlace::kAfter},
          .unused = {"sliding_window_pattern"},  // layer_types has to say it
      },
      {
          .name = "Nemotron 3 and 4",
          .model_types = {"nemotron"},
          .names = {{"usual_epsilon", "0.00001"}},
          .mixers = {{.linears = self_attention(kAttentionBias, kAttentionBias),
                      .attention = {.rope = {.part = "0.5"}}}},
          .feed_forwards =
              {{.linears = {{"mlp.up_proj", "inner", "hidden", Role::kUp, "", kMlpBias},
                            {"mlp.down_proj", "hidden", "inner", Role::kDown, "", kMlpBias}}}},
          .norm = {NormKind::kLayerPlusOne, NormPlace::kBefore, "norm_eps"},
          .activation = "hidden_act ?? 'relu2'",
      },
      {
          // Layers without attention or feed-forward, and with fewer heads or rows than others.
          .name = "DeciLM, Nemotron NAS",
          .model_types = {"nemotron-nas", "deci"},
          .names = {{"kv_heads",
                     "heads / block_configs[layer].attention.n_heads_in_group ?? "
                     "num_key_value_heads_per_layer[layer]"},
                    {"inner",
                     "even(quotient(2 * block_configs[layer].ffn.ffn_mult * hidden, 3), "
                     "256) ?? intermediate_size"}},
          .mixers = {{.kind = MixerKind::kNone,
                      .name = "none",
                      .when = "block_configs[layer].attention.no_op ?? false"},
                     {.kind = MixerKind::kNone,
                      .name = "linear",
                      .when = "block_configs[layer].attention.replace_with_linear ?? false",
                      .linears = {{"self_attn.linear_attn", "hidden", "hidden"}}},
                     {.linears = self_attention(kAttentionBias, kAttentionBias),
                      .attention = {.window =
                                        "block_configs[layer].attention.window_length ?? 0"}}},
          .feed_forwards = {{.kind = FeedForwardKind::kNone,
                             .when = "block_configs[layer].ffn.no_op ?? false"},
                            {.when = "block_configs[layer].ffn.replace_with_linear ?? false",
                             .linears = {{"mlp.linear_mlp", "hidden", "hidden"}}},
                            {.linears = gated_mlp("inner", kMlpBias)}},
          .remarks = {{"(block_configs[layer].attention.num_sink_tokens ?? 0) > 0",
                       "block_configs: windows also hold the first tokens (num_sink_tokens)",
                       Consequence::kNoAttention},
                      {"block_configs[layer].attention.unshifted_sink || "
                       "block_configs[layer].attention.use_prefill_window_in_sink_attention",
                       "block_configs: sinks are of a kind of their own (unshifted_sink, "
                       "use_prefill_window_in_sink_attention)",
                       Consequence::kNoAttention},
                      {"given(block_configs[layer].attention.sparsify) || "
                       "given(block_configs[layer].ffn.sparsify)",
                       "block_configs: some weights are zero in a pattern (sparsify)"}},
          .unused = {"num_key_value_heads"},
      },
  };
  return rows;
}

}  // namespace heddle

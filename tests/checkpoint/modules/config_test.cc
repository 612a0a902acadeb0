// What the configs of a model say of its tensors' order and sizes.
#include "checkpoint/modules/config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "heddle/error.h"

namespace heddle {
namespace {

TEST(CheckpointConfig, TypesAndSizes) {
  const CheckpointConfig config = read_checkpoint_config(
      R"({"model_type": "llama", "torch_dtype": "torch.bfloat16", "hidden_size": 256})");
  EXPECT_EQ(config.model_type, "llama");
  EXPECT_EQ(config.dtype, DType::kBf16);
  EXPECT_EQ(config.hidden_size, 256);
  EXPECT_FALSE(config.transposed_linears);
  EXPECT_FALSE(config.fused_qkv);
  EXPECT_EQ(config.quantization.method(), "");
  EXPECT_FALSE(read_checkpoint_config(R"({"torch_dtype": "float32"})").dtype);
}

TEST(CheckpointConfig, OfTheLanguageModel) {
  const CheckpointConfig config = read_checkpoint_config(R"({"model_type": "outer",
    "vision_config": {"hidden_size": 9}, "dtype": "float16",
    "text_config": {"model_type": "gpt2", "hidden_size": 64}})");
  EXPECT_EQ(config.model_type, "gpt2");
  EXPECT_EQ(config.hidden_size, 64);
  EXPECT_EQ(config.dtype, DType::kFp16);
  EXPECT_TRUE(config.transposed_linears);
}

std::optional<FusedQkv> fused(const std::string& fields) {
  return read_checkpoint_config("{" + fields + "}").fused_qkv;
}

TEST(CheckpointConfig, OrdersOfFusedRows) {
  EXPECT_EQ(fused(R"("model_type": "bloom", "n_head": 4)"), (FusedQkv{"query_key_value", 4, 1}));
  EXPECT_EQ(fused(R"("model_type": "gpt_neox", "num_attention_heads": 8)"),
            (FusedQkv{"query_key_value", 8, 1}));
  EXPECT_EQ(fused(R"("model_type": "falcon", "num_attention_heads": 71, "multi_query": true)"),
            std::nullopt);
  EXPECT_EQ(fused(R"("model_type": "falcon", "num_attention_heads": 32, "multi_query": false)"),
            (FusedQkv{"query_key_value", 32, 1}));
  EXPECT_EQ(fused(R"("model_type": "falcon", "num_attention_heads": 128, "num_kv_heads": 8,
                     "new_decoder_architecture": true)"),
            (FusedQkv{"query_key_value", 8, 16}));
  EXPECT_EQ(fused(R"("model_type": "internlm2", "num_attention_heads": 32,
                     "num_key_value_heads": 8)"),
            (FusedQkv{"wqkv", 8, 4}));
  EXPECT_EQ(fused(R"("model_type": "llama", "num_attention_heads": 32)"), std::nullopt);
}

TEST(CheckpointConfig, TypesThatAreNotKnownAreRefused) {
  try {
    read_checkpoint_config(R"({"torch_dtype": "bfloat61"})");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "model.dtype");
  }
}

TEST(CheckpointConfig, NoSuchConfig) {
  for (const char* text : {"", "[]", "{", R"({"hidden_size": "many"})"}) {
    try {
      read_checkpoint_config(text);
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), ErrorCategory::kSpec) << text;
    }
  }
}

// A mixture of experts whose config has all that its layers need, and the changes.
std::string mixture(const std::string& changes) {
  nlohmann::json config = {{"model_type", "qwen3_moe"},
                           {"hidden_size", 128},
                           {"intermediate_size", 64},
                           {"num_hidden_layers", 2},
                           {"num_attention_heads", 2},
                           {"num_key_value_heads", 2},
                           {"head_dim", 64},
                           {"vocab_size", 96},
                           {"rms_norm_eps", 1e-6},
                           {"hidden_act", "silu"},
                           {"num_experts", 4},
                           {"num_experts_per_tok", 2},
                           {"moe_intermediate_size", 64}};
  config.update(nlohmann::json::parse(changes));
  return config.dump();
}

// Each would make another layer than the model has, or none of its experts.
TEST(CheckpointConfig, FieldsOfExpertsThatAreNotUnderstoodAreRefused) {
  struct Case {
    const char* change;
    const char* text;
  };
  const Case cases[] = {
      {R"({"num_experts": -3})", "/num_experts: is out of range, got -3"},
      {R"({"num_experts": "4"})", "/num_experts: must be a number, got \"4\""},
      {R"({"num_experts": true})", "/num_experts: must be a number, got true"},
      {R"({"num_experts": [4]})", "/num_experts: must be a number, got [4]"},
      {R"({"num_experts_per_tok": "2"})", "/num_experts_per_tok: must be an integer, got \"2\""},
      {R"({"num_experts_per_tok": 0})", "/num_experts_per_tok: is out of range, got 0"},
      {R"({"num_experts_per_tok": true})", "/num_experts_per_tok: must be an integer, got true"},
      {R"({"num_experts_per_tok": 1.5})", "/num_experts_per_tok: must be an integer, got 1.5"},
      {R"({"num_experts_per_tok": 5})",
       "/num_experts_per_tok: is more than there are experts (/num_experts), got 5; allowed: 1 to "
       "4"},
      {R"({"moe_intermediate_size": "64"})", "/moe_intermediate_size: must be an integer"},
      {R"({"mlp_only_layers": "0"})", "/mlp_only_layers: must be an array, got \"0\""},
      {R"({"mlp_only_layers": {}})", "/mlp_only_layers: must be an array, got {}"},
      {R"({"mlp_only_layers": [true]})", "/mlp_only_layers/0: must be an integer, got true"},
      {R"({"decoder_sparse_step": "1"})", "/decoder_sparse_step: must be a number, got \"1\""},
      {R"({"decoder_sparse_step": true})", "/decoder_sparse_step: must be a number, got true"},
      {R"({"decoder_sparse_step": 0})", "/decoder_sparse_step: is no interval of layers, got 0"},
      {R"({"norm_topk_prob": "yes"})", "/norm_topk_prob: must be a boolean, got \"yes\""},
      {R"({"model_type": "mixtral", "num_experts": null, "num_local_experts": 0})",
       "/num_local_experts: is out of range, got 0"},
      {R"({"model_type": "gpt_oss", "num_local_experts": 4, "sliding_window": 128,
           "swiglu_limit": "7"})",
       "/swiglu_limit: must be a number, got \"7\""},
      {R"({"model_type": "gpt_oss", "num_local_experts": 4, "sliding_window": 128,
           "swiglu_limit": true})",
       "/swiglu_limit: must be a number, got true"},
  };
  for (const Case& one : cases) {
    try {
      read_checkpoint_config(mixture(one.change));
      ADD_FAILURE() << one.change << " is read";
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), ErrorCategory::kSpec) << one.change;
      EXPECT_NE(std::string(error.what()).find(one.text), std::string::npos) << error.what();
    }
  }
}

// Tensors are served without what is missing or not described; a note may name it.
TEST(CheckpointConfig, WhatTheConfigLacksIsNamed) {
  EXPECT_TRUE(read_checkpoint_config(mixture("{}")).decoder);
  EXPECT_EQ(read_checkpoint_config(mixture("{}")).why_no_decoder, "");
  struct Case {
    const char* change;
    const char* text;
  };
  const Case cases[] = {
      {R"({"num_experts_per_tok": null})", "/num_experts_per_tok: the field is required, got null"},
      {R"({"num_experts": null})", "/num_experts is null"},
      {R"({"model_type": "mixtral"})", "/num_local_experts: the field is required"},
      {R"({"model_type": "gpt_oss", "num_local_experts": 4, "sliding_window": 128,
           "layer_types": ["other", "other"]})",
       "/layer_types/0 is \"other\""},
      {R"({"add_cross_attention": true})", "/add_cross_attention: add_cross_attention adds"},
  };
  for (const Case& one : cases) {
    const CheckpointConfig config = read_checkpoint_config(mixture(one.change));
    EXPECT_FALSE(config.decoder) << one.change;
    EXPECT_NE(config.why_no_decoder.find(one.text), std::string::npos) << config.why_no_decoder;
  }
}

}  // namespace
}  // namespace heddle

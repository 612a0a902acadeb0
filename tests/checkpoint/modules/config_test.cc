// What the configs of a model say of its tensors' order and sizes.
#include "checkpoint/modules/config.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace heddle

// What config.json may say, and what is refused because the tensors would be read wrongly.
#include "checkpoint/config.h"

#include <gtest/gtest.h>

#include <string>

#include "heddle/error.h"

namespace heddle {
namespace {

CheckpointConfig read(const std::string& quantization) {
  return read_checkpoint_config("{\"quantization_config\": " + quantization + "}");
}

std::string refusal(const std::string& quantization) {
  try {
    read(quantization);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "checkpoint.quantization") << error.what();
    return error.problems().at(0).pointer;
  }
  return {};
}

TEST(CheckpointConfig, GptqWhoseModulesDiffer) {
  const std::string start = R"({"quant_method": "gptq", "bits": 4, "group_size": 128, "dynamic": )";
  EXPECT_EQ(refusal(start + R"({"+:.*down_proj": {"bits": 8}}})"), "/quantization_config/dynamic");
  EXPECT_EQ(read(start + "{}}").bits, 4);
  EXPECT_EQ(read(start + "null}").bits, 4);
}

TEST(CheckpointConfig, BlocksOfFp8) {
  EXPECT_EQ(read(R"({"quant_method": "fp8", "weight_block_size": [64, 256]})").fp8_block_k, 256);
  const CheckpointConfig config = read(R"({"quant_method": "compressed-tensors", "config_groups":
    {"group_0": {"weights": {"type": "float", "num_bits": 8, "block_structure": [32, 64]}}}})");
  EXPECT_EQ(config.method, CheckpointConfig::Method::kCompressedTensors);
  EXPECT_EQ(config.fp8_block_n, 32);
  EXPECT_EQ(config.fp8_block_k, 64);
}

TEST(CheckpointConfig, ModelOptimizer) {
  for (const char* algorithm : {"NVFP4", "FP8", "fp8_pb_wo", "MXFP8", "W4A16_NVFP4"}) {
    EXPECT_EQ(
        read(std::string(R"({"quant_method": "modelopt", "quant_algo": ")") + algorithm + "\"}")
            .method,
        CheckpointConfig::Method::kModelopt);
  }
  for (const char* algorithm : {"W4A16_AWQ", "MIXED_PRECISION"}) {
    EXPECT_EQ(
        refusal(std::string(R"({"quant_method": "modelopt", "quant_algo": ")") + algorithm + "\"}"),
        "/quantization_config/quant_algo");
  }
}

}  // namespace
}  // namespace heddle

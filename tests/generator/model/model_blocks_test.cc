// Models whose weights have scales of blocks and whose activations those of 128 columns: the specs
// of their kernels, and which of them take 16 bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "generator/model/model_block.h"
#include "heddle/inspect/plan.h"
#include "heddle/target.h"
#include "tests/generator/activation_helpers.h"

namespace heddle {
namespace {

// DeepSeek's scheme in a model of Llama's shape.
Json blocks() {
  Json config = fp8();
  config["quantization_config"]["weight_block_size"] = {128, 128};
  return config;
}

Json compressed_blocks() {
  return with_quantization(Json::parse(R"({"quant_method": "compressed-tensors",
    "format": "float-quantized", "ignore": ["lm_head"], "config_groups": {"group_0": {
      "targets": ["Linear"],
      "weights": {"num_bits": 8, "type": "float", "strategy": "block", "symmetric": true,
                  "block_structure": [128, 128], "scale_dtype": "torch.bfloat16"},
      "input_activations": {"num_bits": 8, "type": "float", "strategy": "group",
                            "group_size": 128, "symmetric": true, "dynamic": true}}}})"));
}

Json of_family(const std::string& name) {
  std::ifstream file(std::filesystem::path(HEDDLE_MODEL_CONFIGS) / (name + ".json"));
  Json config = Json::parse(file);
  config["quantization_config"] = blocks()["quantization_config"];
  return config;
}

GemmSpec gemm_named(const Model& model, const std::string& name) {
  const auto found =
      std::find_if(model.kernels.begin(), model.kernels.end(),
                   [&](const ModelKernel& kernel) { return kernel.spec.name() == name; });
  EXPECT_NE(found, model.kernels.end()) << name;
  return found->spec.gemm();
}

void expect_blocks(const Model& model, RowScaleDtype scales) {
  ASSERT_FALSE(model.kernels.empty());
  for (const ModelKernel& kernel : model.kernels) {
    const GemmSpec& gemm = kernel.spec.gemm();
    EXPECT_EQ(gemm.activation, DType::kFp8E4m3);
    EXPECT_EQ(gemm.activation_scale.granularity, RowGranularity::kGroup);
    EXPECT_EQ(gemm.activation_scale.scale_dtype, scales);
    EXPECT_TRUE(gemm.activation_scale.symmetric);
    EXPECT_EQ(gemm.weight.type, WeightType::kE4m3);
    EXPECT_EQ(gemm.weight.group_size, 128);
    EXPECT_EQ(gemm.weight.group_rows, 128);
    EXPECT_EQ(gemm.weight.scale_dtype, DType::kFp32);
    EXPECT_EQ(gemm.weight.interleave, Interleave::kSwizzle128b);
  }
  for (const ModelKernel& kernel : model.rows) {
    const RowOutputSpec& output = kernel.spec.row_transform().output;
    if (!output.is_quantized()) continue;
    EXPECT_EQ(output.scale_dtype, scales);
    EXPECT_EQ(output.scale_layout, ScaleLayout::kColumnMajor);
  }
}

TEST(ModelBlocks, GroupsOf128Columns) {
  for (const Json& config : {blocks(), compressed_blocks()}) {
    const Model model = model_of(config, 90);
    expect_blocks(model, RowScaleDtype::kFp32);
    EXPECT_NE(notes_of(model).find("8 bits (fp8_e4m3 per group of 128 columns)"), std::string::npos)
        << notes_of(model);
    EXPECT_EQ(model.layers.front().weights, "e4m3, blocks of 128 x 128");
    EXPECT_EQ(
        rows_of(model),
        (Lines{"norm 4096 fp8_e4m3 group x 1", "add_norm 4096 fp8_e4m3 group x 63",
               "add_norm 4096 " + std::string(to_string(*first_gemm(model).output)) + " none x 1",
               "activation 14336 fp8_e4m3 group x 32", "quantize 4096 fp8_e4m3 group x 32"}));
  }
}

// DeepSeek's later models: scales are powers of two.
TEST(ModelBlocks, ScalesThatArePowersOfTwo) {
  Json config = blocks();
  config["quantization_config"]["scale_fmt"] = "ue8m0";
  const Model model = model_of(config, 90);
  expect_blocks(model, RowScaleDtype::kE8m0);
  EXPECT_NE(notes_of(model).find("scales e8m0"), std::string::npos) << notes_of(model);
  config["quantization_config"]["scale_fmt"] = nullptr;
  expect_blocks(model_of(config, 90), RowScaleDtype::kFp32);
  config["quantization_config"]["scale_fmt"] = "ue4m3";
  expect_sixteen(config, "\"ue4m3\"");
  config["quantization_config"]["scale_fmt"] = 7;
  expect_sixteen(config, "the form 7");
  config = compressed_blocks();
  group_of(config)["input_activations"]["scale_dtype"] = "torch.float32";
  expect_blocks(model_of(config, 90), RowScaleDtype::kFp32);
  group_of(config)["input_activations"]["scale_dtype"] = "torch.uint8";
  expect_sixteen(config, "\"group\" of 128 columns");
}

TEST(ModelBlocks, KernelsAreMadeForSm90) {
  Json ragged = blocks();
  ragged["intermediate_size"] = 10944;  // 85 blocks and a half
  for (const bool gated : {false, true}) {
    for (const Json& config : {blocks(), compressed_blocks(), ragged, of_family("deepseek_v3")}) {
      const Model model = model_of(config, 90, 0, gated);
      EXPECT_TRUE(has_bytes(model));
      for (const auto* kernels : {&model.kernels, &model.rows}) {
        for (const ModelKernel& kernel : *kernels) {
          EXPECT_NO_THROW(resolve(kernel.spec, target_from_name("h200"))) << kernel.spec.name();
        }
      }
    }
  }
}

// Parts follow each other in whole blocks; the last of them and K may end inside of one.
TEST(ModelBlocks, PartsThatEndInsideOfABlock) {
  Json config = blocks();
  config["intermediate_size"] = 10944;
  const Model model = model_of(config, 90);
  EXPECT_FALSE(gemm_named(model, "gate_up_proj").has_byte_activations());
  EXPECT_TRUE(gemm_named(model, "down_proj").has_byte_activations());
  EXPECT_NE(notes_of(model).find("gate_up_proj: the scheme quantises activations, too: the kernels "
                                 "take them in 16 bits, which is at least as accurate, because a "
                                 "part ends inside of a block of 128 rows"),
            std::string::npos)
      << notes_of(model);
  // q_a_proj has 128 rows, kv_a_proj_with_mqa 80 behind them.
  config = of_family("deepseek_v3");
  config["q_lora_rank"] = 128;
  const GemmSpec latent = gemm_named(model_of(config, 90), "fused_qkv_a_proj");
  EXPECT_EQ(latent.shape.n, 208);
  EXPECT_TRUE(latent.has_byte_activations());
  config["q_lora_rank"] = 96;
  EXPECT_FALSE(gemm_named(model_of(config, 90), "fused_qkv_a_proj").has_byte_activations());
}

// One module with gates and ups: only a gated epilogue asks for blocks of each.
TEST(ModelBlocks, GatesAndUpsHaveWholeBlocks) {
  Json config = of_family("phi3");
  config["intermediate_size"] = 576;
  EXPECT_TRUE(gemm_named(model_of(config, 90), "gate_up_proj").has_byte_activations());
  const Model gated = model_of(config, 90, 0, true);
  EXPECT_TRUE(gemm_named(gated, "gate_up_proj").epilogue.gated);
  EXPECT_FALSE(gemm_named(gated, "gate_up_proj").has_byte_activations());
  EXPECT_NE(notes_of(gated).find("gates and ups have whole blocks"), std::string::npos)
      << notes_of(gated);
  config["intermediate_size"] = 640;
  EXPECT_TRUE(gemm_named(model_of(config, 90, 0, true), "gate_up_proj").has_byte_activations());
}

TEST(ModelBlocks, OtherBlocksAndOtherActivations) {
  Json config = blocks();
  Json& sides = config["quantization_config"]["weight_block_size"];
  sides = {64, 128};
  expect_sixteen(config, "a block has 128 rows, and here it is 64");
  sides = {128, 64};
  expect_sixteen(config, "each 64 columns");
  sides = {1, 128};
  expect_sixteen(config, "meet blocks of 128 by 128 weights");
  sides = {128, 128};
  config["quantization_config"]["activation_scheme"] = "static";
  expect_sixteen(config, "the sums of all of K are scaled at once");
  config["quantization_config"]["activation_scheme"] = "dynamic";
  config["quantization_config"]["fmt"] = "e5m2";
  EXPECT_EQ(first_gemm(model_of(config, 90)).weight.type, WeightType::kE5m2);
  config = compressed_blocks();
  Json& inputs = group_of(config)["input_activations"];
  inputs["symmetric"] = false;
  expect_sixteen(config, "zero points");
  inputs["symmetric"] = true;
  inputs["dynamic"] = false;
  expect_sixteen(config, "stored by the strategy \"group\" of 128 columns");
  inputs["dynamic"] = true;
  inputs["strategy"] = "token";
  inputs["group_size"] = nullptr;
  expect_sixteen(config, "the sums of all of K are scaled at once");
  config = compressed_blocks();
  group_of(config)["weights"]["strategy"] = "channel";
  expect_sixteen(config, "meet blocks of 128 by 128 weights");
}

// On request, and where no kernel takes 8: what a config says that has no activations.
TEST(ModelBlocks, SixteenBitsAreWhatTheyWere) {
  Json none = blocks();
  none["quantization_config"].erase("activation_scheme");
  const Model want = model_of(none, 90);
  EXPECT_EQ(first_gemm(want).weight.group_rows, 1);
  for (const Model& model : {model_of(blocks(), 90, 16), model_of(blocks(), 80, 0)}) {
    ASSERT_EQ(model.kernels.size(), want.kernels.size());
    for (std::size_t i = 0; i < want.kernels.size(); ++i) {
      EXPECT_EQ(model.kernels[i].spec.canonical_json(), want.kernels[i].spec.canonical_json());
    }
    EXPECT_EQ(rows_of(model), rows_of(want));
  }
  EXPECT_NE(notes_of(model_of(blocks(), 100))
                .find("sm_100 has no kernel that takes fp8_e4m3 per "
                      "group of 128 columns"),
            std::string::npos);
}

}  // namespace
}  // namespace heddle

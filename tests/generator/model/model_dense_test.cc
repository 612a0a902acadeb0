// Kernels for the dense linear layers of a model that are not quantised.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "heddle/model.h"
#include "tests/generator/model/model_helpers.h"

namespace heddle {
namespace {

Model dense_model(const Json& config) {
  const std::string text = config.dump();
  ModelConfigTexts texts;
  texts.config = text;
  texts.dense = true;
  return model_from_config(texts);
}

const ModelKernel* kernel_named(const Model& model, const std::string& name) {
  for (const ModelKernel& kernel : model.kernels) {
    if (kernel.spec.name() == name) return &kernel;
  }
  return nullptr;
}

TEST(ModelDense, HeadHasAKernelBesideTheQuantisedLayers) {
  const Model usual = model_from_config(llama().dump());
  const Model dense = dense_model(llama());
  EXPECT_EQ(kernel_named(usual, "lm_head"), nullptr);
  ASSERT_EQ(dense.kernels.size(), usual.kernels.size() + 1);
  const ModelKernel* head = kernel_named(dense, "lm_head");
  ASSERT_NE(head, nullptr);
  const GemmSpec& gemm = head->spec.gemm();
  EXPECT_EQ(gemm.shape.n, 128256);
  EXPECT_EQ(gemm.shape.k, 4096);
  EXPECT_EQ(gemm.weight.type, WeightType::kFp16);
  EXPECT_EQ(gemm.weight.bits, 16);
  EXPECT_EQ(gemm.activation, DType::kFp16);
  EXPECT_TRUE(dense.notes.empty()) << dense.notes[0];
  EXPECT_EQ(dense.layers.back().weights, "16 bits");
  EXPECT_GE(dense.layers.back().kernel, 0);
}

TEST(ModelDense, LayersThatTheQuantiserLeftAlone) {
  Json config = llama();
  config["torch_dtype"] = "bfloat16";
  config["quantization_config"]["modules_to_not_convert"] = {"self_attn"};
  const Model dense = dense_model(config);
  const ModelKernel* qkv = kernel_named(dense, "qkv_proj");
  ASSERT_NE(qkv, nullptr);
  EXPECT_EQ(qkv->covers, "q_proj + k_proj + v_proj") << "as engines fuse it";
  EXPECT_EQ(qkv->spec.gemm().weight.type, WeightType::kBf16);
  EXPECT_EQ(qkv->spec.gemm().shape.n, 6144);
  EXPECT_EQ(qkv->layers, 32);
  EXPECT_EQ(kernel_named(dense, "down_proj")->spec.gemm().weight.bits, 4);
}

TEST(ModelDense, AModelThatIsNotQuantisedIsServed) {
  Json config = llama();
  config.erase("quantization_config");
  EXPECT_THROW(model_from_config(config.dump()), Error);
  const Model dense = dense_model(config);
  for (const char* name : {"qkv_proj", "o_proj", "gate_up_proj", "down_proj", "lm_head"}) {
    const ModelKernel* kernel = kernel_named(dense, name);
    ASSERT_NE(kernel, nullptr) << name;
    EXPECT_FALSE(kernel->spec.weight().has_scales()) << name;
  }
  for (const ModelLayer& layer : dense.layers) EXPECT_GE(layer.kernel, 0) << layer.name;
}

// The head has weights of its own once they are packed.
TEST(ModelDense, AHeadThatSharesTheEmbeddings) {
  Json config = llama();
  config["tie_word_embeddings"] = true;
  ASSERT_NE(kernel_named(dense_model(config), "lm_head"), nullptr);
}

TEST(ModelDense, RoutersHaveAKernel) {
  std::ifstream file(std::string(HEDDLE_MODEL_CONFIGS) + "/mixtral.json");
  const Model dense = dense_model(Json::parse(file));
  EXPECT_NE(kernel_named(dense, "gate"), nullptr);
  EXPECT_NE(kernel_named(dense, "experts"), nullptr);
}

Model head_model(const Json& config, int bits, bool dense = false) {
  const std::string text = config.dump();
  ModelConfigTexts texts;
  texts.config = text;
  texts.dense = dense;
  texts.lm_head_bits = bits;
  return model_from_config(texts);
}

TEST(ModelHead, IsQuantisedOnRequest) {
  Json config = llama();
  for (const bool tied : {false, true}) {
    config["tie_word_embeddings"] = tied;
    for (const bool dense : {false, true}) {
      const Model eight = head_model(config, 8, dense);
      const WeightSpec& weight = kernel_named(eight, "lm_head")->spec.weight();
      EXPECT_EQ(weight.bits, 8);
      EXPECT_EQ(weight.type, WeightType::kInt);
      EXPECT_EQ(weight.zero_point, ZeroPoint::kNone);
      EXPECT_EQ(weight.group_size, 128);
      EXPECT_EQ(weight.scale_dtype, DType::kFp16);
      EXPECT_EQ(eight.layers.back().weights, "int8, groups of 128");
      EXPECT_TRUE(eight.notes.empty());
      const Model four = head_model(config, 4, dense);
      EXPECT_EQ(kernel_named(four, "lm_head")->spec.weight().type, WeightType::kUint);
      EXPECT_EQ(kernel_named(four, "lm_head")->spec.weight().zero_point, ZeroPoint::kInt);
    }
  }
}

TEST(ModelHead, AModelThatIsNotQuantisedHasThatKernelAlone) {
  Json config = llama();
  config.erase("quantization_config");
  const Model model = head_model(config, 8);
  ASSERT_EQ(model.kernels.size(), 1U);
  EXPECT_EQ(model.kernels[0].spec.name(), "lm_head");
}

TEST(ModelHead, WhatCannotBeIsRefused) {
  const auto code = [](const Json& config, int bits) -> std::string {
    try {
      head_model(config, bits);
    } catch (const Error& error) {
      return error.code();
    }
    return "";
  };
  for (const int bits : {-8, 1, 5, 16}) EXPECT_EQ(code(llama(), bits), "model.lm_head") << bits;
  Json config = llama();
  config["quantization_config"] = {{"quant_method", "gptq"},
                                   {"bits", 4},
                                   {"group_size", 128},
                                   {"desc_act", false},
                                   {"lm_head", true}};
  EXPECT_EQ(code(config, 0), "");
  EXPECT_EQ(code(config, 8), "model.lm_head");
  config["tie_word_embeddings"] = true;  // the embeddings are not
  EXPECT_EQ(code(config, 8), "");
  config = llama();
  config.erase("vocab_size");
  const Model unknown = head_model(config, 8);
  EXPECT_EQ(kernel_named(unknown, "lm_head"), nullptr);
  EXPECT_NE(unknown.layers.back().reason.find("vocab_size"), std::string::npos);
}

}  // namespace
}  // namespace heddle

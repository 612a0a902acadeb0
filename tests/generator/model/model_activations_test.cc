// Models whose activations have eight bits: the specs of their kernels, and why others have 16.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "heddle/inspect/plan.h"
#include "heddle/target.h"
#include "tests/generator/activation_helpers.h"

namespace heddle {
namespace {

TEST(ModelActivations, Int8PerTokenOfCompressedTensors) {
  const Model model = model_of(w8a8(), 90);
  ASSERT_EQ(model.kernels.size(), 4U);
  for (const ModelKernel& kernel : model.kernels) {
    const GemmSpec& gemm = kernel.spec.gemm();
    EXPECT_EQ(gemm.activation, DType::kInt8);
    EXPECT_EQ(gemm.activation_scale.granularity, RowGranularity::kToken);
    EXPECT_TRUE(gemm.activation_scale.symmetric);
    EXPECT_EQ(gemm.output, DType::kBf16);
    EXPECT_EQ(gemm.weight.type, WeightType::kInt);
    EXPECT_EQ(gemm.weight.group_size, kPerChannel);
    EXPECT_EQ(gemm.weight.interleave, Interleave::kSwizzle128b);
  }
  EXPECT_NE(notes_of(model).find("int8 per token"), std::string::npos) << notes_of(model);
  EXPECT_EQ(rows_of(model),
            (Lines{"norm 4096 int8 token x 1", "add_norm 4096 int8 token x 63",
                   "add_norm 4096 bf16 none x 1", "activation 14336 int8 token x 32",
                   "quantize 4096 int8 token x 32"}));
}

// What build makes of it can be made, for every kernel of a step.
TEST(ModelActivations, KernelsAreMadeForSm90) {
  for (const Json& config : {w8a8(), fp8()}) {
    const Model model = model_of(config, 90);
    for (const auto* kernels : {&model.kernels, &model.rows}) {
      for (const ModelKernel& kernel : *kernels) {
        EXPECT_NO_THROW(resolve(kernel.spec, target_from_name("h200"))) << kernel.spec.name();
      }
    }
  }
}

TEST(ModelActivations, ZeroPointsOfActivations) {
  Json config = w8a8();
  group_of(config)["input_activations"]["symmetric"] = false;
  const Model model = model_of(config);
  EXPECT_FALSE(first_gemm(model).activation_scale.symmetric);
  EXPECT_EQ(rows_of(model).front(), "norm 4096 int8 token zeros x 1");
}

TEST(ModelActivations, StaticScalesArePerTensor) {
  Json config = w8a8();
  group_of(config)["input_activations"] = {
      {"num_bits", 8}, {"type", "int"}, {"strategy", "tensor"}};
  const Model model = model_of(config);
  EXPECT_EQ(first_gemm(model).activation_scale.granularity, RowGranularity::kTensor);
  EXPECT_EQ(rows_of(model).at(1), "add_norm 4096 int8 tensor x 63");
  EXPECT_NE(notes_of(model).find("int8 per tensor, static"), std::string::npos);
  group_of(config)["input_activations"]["symmetric"] = false;
  expect_sixteen(config, "only INT8 per token has zero points");
  config = fp8();
  config["quantization_config"]["activation_scheme"] = "static";
  EXPECT_EQ(first_gemm(model_of(config)).activation, DType::kFp8E4m3);
  EXPECT_EQ(first_gemm(model_of(config)).activation_scale.granularity, RowGranularity::kTensor);
}

TEST(ModelActivations, DynamicScalesOfTensors) {
  Json config = w8a8();
  group_of(config)["input_activations"] = {{"strategy", "tensor"}, {"dynamic", true}};
  EXPECT_EQ(first_gemm(model_of(config)).activation_scale.granularity, RowGranularity::kToken);
  EXPECT_EQ(notes_of(model_of(config)).find("static"), std::string::npos);
}

// "dynamic" says nothing of rows: as other engines, one scale for each.
TEST(ModelActivations, Fp8) {
  const Model model = model_of(fp8());
  EXPECT_EQ(first_gemm(model).activation, DType::kFp8E4m3);
  EXPECT_EQ(first_gemm(model).activation_scale.granularity, RowGranularity::kToken);
  // q, k and v have a scale each.
  EXPECT_EQ(first_gemm(model).weight.group_size, kPerChannel);
  EXPECT_EQ(model.kernels.at(1).spec.gemm().weight.group_size, kPerTensor);
  EXPECT_EQ(first_gemm(model).weight.scale_dtype, DType::kFp32);
  EXPECT_EQ(rows_of(model).back(), "quantize 4096 fp8_e4m3 token x 32");
}

TEST(ModelActivations, OtherMethods) {
  const auto granularity = [](const Json& quantization) {
    const GemmSpec gemm = first_gemm(model_of(with_quantization(quantization)));
    return std::string(to_string(gemm.activation)) + ' ' +
           std::string(to_string(gemm.activation_scale.granularity));
  };
  EXPECT_EQ(granularity({{"quant_method", "modelopt"}, {"quant_algo", "FP8"}}), "fp8_e4m3 tensor");
  EXPECT_EQ(
      granularity({{"quant_method", "modelopt"}, {"quant_algo", "FP8_PER_CHANNEL_PER_TOKEN"}}),
      "fp8_e4m3 token");
  EXPECT_EQ(granularity({{"quant_method", "fbgemm_fp8"}}), "fp8_e4m3 token");
  const Json quark = Json::parse(R"({"quant_method": "quark", "global_quant_config": {
    "weight": {"dtype": "int8", "qscheme": "per_channel"},
    "input_tensors": {"dtype": "int8", "qscheme": "per_token", "is_dynamic": true}}})");
  EXPECT_EQ(granularity(quark), "int8 token");
  const Model bounded = model_of(
      with_quantization({{"quant_method", "fbgemm_fp8"}, {"activation_scale_ub", 1200.0}}));
  EXPECT_NE(notes_of(bounded).find("activation_scale_ub"), std::string::npos);
}

TEST(ModelActivations, SixteenBitsOnRequestAreWhatTheyWere) {
  const Model model = model_of(w8a8(), 90, 16);
  EXPECT_FALSE(has_bytes(model));
  EXPECT_EQ(first_gemm(model).activation, DType::kBf16);
  EXPECT_EQ(first_gemm(model).weight.interleave, Interleave::kFragment);
  EXPECT_FALSE(first_gemm(model).output.has_value());
  EXPECT_EQ(rows_of(model), (Lines{"norm 4096 bf16 none x 1", "add_norm 4096 bf16 none x 64",
                                   "activation 14336 bf16 none x 32"}));
  try {
    model_of(w8a8(), 90, 8);
    FAIL() << "8 bits cannot be asked for";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "model.activations");
  }
}

// The specs of a model that takes 8 bits are the same on all of them.
TEST(ModelActivations, ArchitecturesWithKernelsTakeEightBits) {
  Json four = w8a8();
  four["quantization_config"]["format"] = "pack-quantized";
  group_of(four)["weights"]["num_bits"] = 4;
  const struct {
    Json config;
    std::vector<int> take, take_not;
    std::string whose;
  } cases[] = {{w8a8(), {75, 80, 86, 89, 90, 100, 120}, {}, "sm_75 and newer"},
               {fp8(), {89, 90, 120}, {75, 80, 86}, "sm_89, sm_90, sm_120 and newer"},
               {four, {90}, {75, 80, 89, 100, 120}, "sm_90 alone"}};
  for (const auto& one : cases) {
    const Model any = model_of(one.config);
    ASSERT_TRUE(has_bytes(any)) << one.whose;
    for (const int arch : one.take) {
      const Model model = model_of(one.config, arch);
      SCOPED_TRACE(arch);
      EXPECT_NE(notes_of(model).find("kernels of " + one.whose + " take"), std::string::npos)
          << notes_of(model);
      ASSERT_EQ(model.kernels.size(), any.kernels.size());
      EXPECT_EQ(first_gemm(model).activation, first_gemm(any).activation);
    }
    for (const int arch : one.take_not) {
      const Model model = model_of(one.config, arch);
      const std::string name = "sm_" + std::to_string(arch);
      EXPECT_FALSE(has_bytes(model)) << name;
      EXPECT_NE(notes_of(model).find(name + " has no kernel that takes"), std::string::npos);
      EXPECT_NE(notes_of(model).find("those of " + one.whose + " do"), std::string::npos);
    }
  }
}

TEST(ModelActivations, CodesThatBecomeFp16StaySixteenBits) {
  const Model model = model_of(fp8(), 100);
  EXPECT_FALSE(has_bytes(model));
  EXPECT_NE(notes_of(model).find("because mma.sync of sm_100 multiplies FP8 as FP16"),
            std::string::npos)
      << notes_of(model);
  EXPECT_TRUE(has_bytes(model_of(w8a8(), 100)));
}

TEST(ModelActivations, WhatIsTakenHasAPlan) {
  const Model int8 = model_of(w8a8(), 80);
  EXPECT_FALSE(resolve(int8.kernels.at(0).spec, target_from_name("sm_80")).kernels.empty());
  const Model floats = model_of(fp8(), 89);
  EXPECT_FALSE(resolve(floats.kernels.at(0).spec, target_from_name("sm_89")).kernels.empty());
}

TEST(ModelActivations, FormsThatNoKernelTakes) {
  Json config = fp8();
  config["quantization_config"]["activation_scheme"] = "learned";
  expect_sixteen(config, "\"learned\"");
  config = w8a8();
  Json& inputs = group_of(config)["input_activations"];
  inputs["num_bits"] = 4;
  expect_sixteen(config, "activations of 4 bits");
  inputs["num_bits"] = 8;
  inputs["strategy"] = "group";
  inputs["group_size"] = 64;
  expect_sixteen(config, "\"group\" of 64 columns");
  inputs["group_size"] = 128;
  expect_sixteen(config, "integer sums are scaled once all of K has been added");
  inputs["strategy"] = "token";
  inputs["dynamic"] = "local";
  expect_sixteen(config, "\"token\"");
  inputs["dynamic"] = true;
  inputs["type"] = "float";
  expect_sixteen(config, "weights of the same kind");
  inputs["type"] = "int";
  group_of(config)["weights"]["symmetric"] = false;
  expect_sixteen(config, "codes are multiplied as they are");
  config = w8a8();
  group_of(config)["weights"]["num_bits"] = 3;
  config["quantization_config"]["format"] = "pack-quantized";
  expect_sixteen(config, "3 bits");
  for (const char* name : {"MXFP8", "NVFP4"}) {
    expect_sixteen(with_quantization({{"quant_method", "modelopt"}, {"quant_algo", name}}),
                   "none is made for checkpoints");
  }
}

// Layers of 16 bits among them take X of 16 bits.
TEST(ModelActivations, ANormMakesWhatItsLayersTake) {
  Json config = w8a8();
  config["quantization_config"]["ignore"] = {"lm_head", "re:.*mlp.*"};
  EXPECT_EQ(rows_of(model_of(config, 90, 0, false, true)),
            (Lines{"norm 4096 int8 token x 1", "add_norm 4096 bf16 none x 33",
                   "add_norm 4096 int8 token x 31", "activation 14336 bf16 none x 32",
                   "quantize 4096 int8 token x 32"}));
  // Some of those that a norm feeds: X of 16 bits and, once for q and k, of 8.
  config["quantization_config"]["ignore"] = {"lm_head", "re:.*(mlp|v_proj|o_proj).*"};
  EXPECT_EQ(rows_of(model_of(config, 90, 0, false, true)),
            (Lines{"quantize 4096 int8 token x 32", "norm 4096 bf16 none x 1",
                   "add_norm 4096 bf16 none x 64", "activation 14336 bf16 none x 32"}));
}

TEST(ModelActivations, AGatedEpilogueLeavesDownToQuantize) {
  const Model model = model_of(w8a8(), 90, 0, true);
  EXPECT_TRUE(model.kernels.at(2).spec.gemm().epilogue.gated);
  const Lines rows = rows_of(model);
  EXPECT_EQ(std::count(rows.begin(), rows.end(), "quantize 14336 int8 token x 32"), 1);
  EXPECT_EQ(std::count_if(rows.begin(), rows.end(),
                          [](const std::string& row) { return row.starts_with("activation"); }),
            0);
}

}  // namespace
}  // namespace heddle

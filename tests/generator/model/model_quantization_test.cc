// "quantization_config": what each method's weights are as a spec says them.
#include <gtest/gtest.h>

#include <string>

#include "tests/generator/model/model_helpers.h"

namespace heddle {
namespace {

TEST(ModelQuantization, ActOrder) {
  const Model model = model_from_config(example("mistral-7b-gptq-actorder"));
  EXPECT_EQ(model.kernels.size(), 4U);
  EXPECT_EQ(model.kernels[0].spec.gemm().weight.group_size, 32);
  for (const ModelKernel& kernel : model.kernels) EXPECT_TRUE(kernel.spec.gemm().act_order);
  EXPECT_EQ(model.notes.size(), 1U);
  ASSERT_EQ(model.assumptions.size(), 2U);
  EXPECT_NE(model.assumptions[1].find("act-order"), std::string::npos);
  // One group of all K, or groups that were fixed first: the columns are in order.
  Json config = Json::parse(example("mistral-7b-gptq-actorder"));
  config["quantization_config"]["static_groups"] = true;
  EXPECT_FALSE(model_from_config(config.dump()).kernels[0].spec.gemm().act_order);
  config["quantization_config"]["static_groups"] = false;
  config["quantization_config"]["group_size"] = -1;
  EXPECT_FALSE(model_from_config(config.dump()).kernels[0].spec.gemm().act_order);
}

TEST(ModelQuantization, FormsThatCannotBeImported) {
  Json config = Json::parse(example("mistral-7b-gptq-actorder"));
  config["quantization_config"]["checkpoint_format"] = "gptq_v2";
  EXPECT_EQ(model_from_config(config.dump()).kernels.size(), 4U);
  config["quantization_config"]["checkpoint_format"] = "marlin";
  EXPECT_EQ(config_error(config.dump()).problems().at(0).pointer,
            "/quantization_config/checkpoint_format");
  Json fp8 = Json::parse(example("llama-3-8b-fp8"));
  fp8["quantization_config"]["fmt"] = "e5m2";
  EXPECT_EQ(model_from_config(fp8.dump()).kernels[0].spec.gemm().weight.type, WeightType::kE5m2);
  fp8["quantization_config"]["fmt"] = "e4m3fnuz";
  EXPECT_EQ(config_error(fp8.dump()).problems().at(0).pointer, "/quantization_config/fmt");
}

TEST(ModelQuantization, GroupsThatNoSpecHasAreNamedWhereTheyStand) {
  Json config = Json::parse(example("mistral-7b-gptq-actorder"));
  for (const int group : {0, -2, (1 << 20) + 16}) {
    config["quantization_config"]["group_size"] = group;
    const Error error = config_error(config.dump());
    EXPECT_EQ(error.code(), "model.out_of_range") << group;
    EXPECT_EQ(error.problems().at(0).pointer, "/quantization_config/group_size") << group;
  }
  // Checkpoints have such groups, but no kernel does.
  for (const int group : {8, 100}) {
    config["quantization_config"]["group_size"] = group;
    const Model model = model_from_config(config.dump());
    EXPECT_TRUE(model.kernels.empty()) << group;
    ASSERT_EQ(model.unserved.size(), 4U) << group;
    EXPECT_EQ(model.unserved[0].layers, 32) << group;
    EXPECT_NE(model.unserved[0].reason.find("groups of "), std::string::npos) << group;
  }
}

// The weights of `quantization`, and that its kernels are no others.
WeightSpec weight_of(const Json& quantization, std::size_t kernel = 1) {
  Json config = llama();
  config["quantization_config"] = quantization;
  return model_from_config(config.dump()).kernels.at(kernel).spec.gemm().weight;
}

TEST(ModelQuantization, Fp8) {
  const Model model = model_from_config(example("llama-3-8b-fp8"));
  ASSERT_EQ(model.kernels.size(), 4U);
  const WeightSpec& o_proj = model.kernels[1].spec.gemm().weight;
  EXPECT_EQ(o_proj.bits, 8);
  EXPECT_EQ(o_proj.type, WeightType::kE4m3);
  EXPECT_EQ(o_proj.group_size, kPerTensor);
  EXPECT_EQ(o_proj.scale_dtype, DType::kFp32);
  // q, k and v have a scale each.
  EXPECT_EQ(model.kernels[0].spec.gemm().weight.group_size, kPerChannel);
  EXPECT_NE(model.notes.at(0).find("activations"), std::string::npos);
  Json config = Json::parse(example("llama-3-8b-fp8"));
  config["quantization_config"]["weight_block_size"] = {128, 128};
  EXPECT_EQ(model_from_config(config.dump()).kernels[0].spec.gemm().weight.group_size, 128);
  config["quantization_config"]["weight_block_size"] = {128, 8};
  EXPECT_EQ(model_from_config(config.dump()).unserved.size(), 4U);
  config["quantization_config"]["weight_block_size"] = {128, 0};
  EXPECT_EQ(config_error(config.dump()).problems().at(0).pointer,
            "/quantization_config/weight_block_size");
  config["quantization_config"]["weight_block_size"] = "128";
  EXPECT_EQ(config_error(config.dump()).code(), "model.wrong_type");
}

TEST(ModelQuantization, Int8WithQuantisedActivations) {
  const Model model = model_from_config(example("llama-3-8b-w8a8"));
  const WeightSpec& weight = model.kernels[0].spec.gemm().weight;
  EXPECT_EQ(weight.bits, 8);
  EXPECT_EQ(weight.type, WeightType::kInt);
  EXPECT_EQ(weight.group_size, kPerChannel);
  EXPECT_EQ(weight.scale_dtype, DType::kBf16);
  EXPECT_NE(model.notes.at(0).find("activations have 8 bits"), std::string::npos);
  Json config = Json::parse(example("llama-3-8b-w8a8"));
  config["quantization_config"]["config_groups"]["group_0"]["weights"]["symmetric"] = false;
  const WeightSpec with_zeros = model_from_config(config.dump()).kernels[0].spec.gemm().weight;
  EXPECT_EQ(with_zeros.type, WeightType::kUint);
  EXPECT_EQ(with_zeros.zero_point, ZeroPoint::kInt);
}

TEST(ModelQuantization, ModelOptimizer) {
  const auto algorithm = [](const char* name) {
    return Json{{"quant_method", "modelopt"}, {"quant_algo", name}, {"ignore", {"lm_head"}}};
  };
  const WeightSpec nv = weight_of(algorithm("NVFP4"));
  EXPECT_EQ(nv.type, WeightType::kE2m1);
  EXPECT_EQ(nv.bits, 4);
  EXPECT_EQ(nv.group_size, 16);
  EXPECT_EQ(nv.scale_dtype, DType::kE4m3);
  EXPECT_TRUE(nv.tensor_scale);
  EXPECT_EQ(weight_of(algorithm("fp8")).group_size, kPerTensor);
  EXPECT_EQ(weight_of(algorithm("FP8"), 0).group_size, kPerChannel);
  EXPECT_EQ(weight_of(algorithm("FP8_PB_WO")).group_size, 128);
  EXPECT_EQ(weight_of(algorithm("MXFP8")).scale_dtype, DType::kE8m0);
  Json config = llama();
  config["quantization_config"] = algorithm("NVFP4_AWQ");
  EXPECT_TRUE(model_from_config(config.dump()).kernels[0].spec.gemm().pre_scale);
  EXPECT_EQ(model_from_config(config.dump()).kernels.size(), 4U);
  config["quantization_config"].erase("ignore");
  EXPECT_EQ(model_from_config(config.dump()).kernels.size(), 5U);
  config["quantization_config"] = algorithm("W4A16_AWQ");
  EXPECT_EQ(config_error(config.dump()).code(), "model.quantization");
}

TEST(ModelQuantization, Mxfp4) {
  const WeightSpec weight = weight_of({{"quant_method", "mxfp4"}});
  EXPECT_EQ(weight.type, WeightType::kE2m1);
  EXPECT_EQ(weight.group_size, 32);
  EXPECT_EQ(weight.scale_dtype, DType::kE8m0);
  EXPECT_FALSE(weight.tensor_scale);
}

Json compressed(const char* format, const Json& weights) {
  return {{"quant_method", "compressed-tensors"},
          {"format", format},
          {"ignore", {"lm_head"}},
          {"config_groups", {{"group_0", {{"weights", weights}}}}}};
}

TEST(ModelQuantization, CompressedTensorsFloats) {
  Json fp8 = {{"num_bits", 8}, {"type", "float"}, {"strategy", "channel"}};
  EXPECT_EQ(weight_of(compressed("float-quantized", fp8)).type, WeightType::kE4m3);
  EXPECT_EQ(weight_of(compressed("float-quantized", fp8)).group_size, kPerChannel);
  EXPECT_EQ(weight_of(compressed("float-quantized", fp8)).scale_dtype, DType::kFp16);
  fp8["scale_dtype"] = "torch.bfloat16";
  EXPECT_EQ(weight_of(compressed("float-quantized", fp8)).scale_dtype, DType::kBf16);
  fp8["strategy"] = "block";
  fp8["block_structure"] = {128, 64};
  EXPECT_EQ(weight_of(compressed("naive-quantized", fp8)).group_size, 64);
  fp8["strategy"] = "tensor";
  EXPECT_EQ(weight_of(compressed("float-quantized", fp8)).group_size, kPerTensor);
  EXPECT_EQ(weight_of(compressed("float-quantized", fp8), 0).group_size, kPerChannel);
  const Json fp4 = {{"num_bits", 4}, {"type", "float"}, {"group_size", 16}};
  EXPECT_TRUE(weight_of(compressed("nvfp4-pack-quantized", fp4)).tensor_scale);
  EXPECT_EQ(weight_of(compressed("mxfp4-pack-quantized", fp4)).scale_dtype, DType::kE8m0);
  EXPECT_EQ(weight_of(compressed("mxfp8-quantized", fp8)).group_size, 32);
  Json config = llama();
  config["quantization_config"] = compressed("pack-quantized", fp8);
  EXPECT_EQ(config_error(config.dump()).code(), "model.quantization");
  config["quantization_config"] = compressed("marlin-24", fp8);
  EXPECT_EQ(config_error(config.dump()).code(), "model.quantization");
}

TEST(ModelQuantization, CompressedTensorsActOrder) {
  Json weights = {{"num_bits", 4}, {"type", "int"}, {"strategy", "group"}, {"group_size", 128}};
  const auto act_order = [&](const Json& order) {
    weights["actorder"] = order;
    Json config = llama();
    config["quantization_config"] = compressed("pack-quantized", weights);
    return model_from_config(config.dump()).kernels[0].spec.gemm().act_order;
  };
  EXPECT_TRUE(act_order("group"));
  EXPECT_TRUE(act_order(true));
  EXPECT_FALSE(act_order("weight"));
  EXPECT_FALSE(act_order("static"));
  EXPECT_FALSE(act_order(nullptr));
}

TEST(ModelQuantization, CompressedTensorsPackQuantized) {
  Json config = llama();
  config["quantization_config"] = Json::parse(R"({"quant_method": "compressed-tensors",
    "format": "pack-quantized", "ignore": ["lm_head", "model.layers.0.mlp.down_proj"],
    "config_groups": {"group_0": {"targets": ["Linear"], "input_activations": null, "weights":
      {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 64, "symmetric": false}}}
  })");
  const Model model = model_from_config(config.dump());
  const WeightSpec& weight = model.kernels[0].spec.gemm().weight;
  EXPECT_EQ(weight.bits, 4);
  EXPECT_EQ(weight.type, WeightType::kUint);
  EXPECT_EQ(weight.group_size, 64);
  EXPECT_EQ(weight.zero_point, ZeroPoint::kInt);
  EXPECT_EQ(model.notes.size(), 2U);
  Json& group = config["quantization_config"]["config_groups"]["group_0"];
  group["weights"]["strategy"] = "channel";
  group["weights"]["symmetric"] = true;
  EXPECT_EQ(model_from_config(config.dump()).kernels[0].spec.gemm().weight.group_size, kPerChannel);
  group["input_activations"] = Json::object();
  EXPECT_EQ(model_from_config(config.dump()).notes.size(), 3U);
  config["quantization_config"]["config_groups"]["group_0"] = nullptr;
  EXPECT_EQ(config_error(config.dump()).code(), "model.wrong_type");
}

}  // namespace
}  // namespace heddle

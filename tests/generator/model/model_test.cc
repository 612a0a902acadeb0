#include "heddle/model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/generator/model/model_helpers.h"

namespace heddle {
namespace {

struct Row {
  std::string name;
  std::int64_t n;
  std::int64_t k;
  bool bias;
  int layers;
  bool operator==(const Row&) const = default;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name << ' ' << row.n << 'x' << row.k << (row.bias ? " bias " : " ") << row.layers;
}

std::vector<Row> rows(const Model& model) {
  std::vector<Row> found;
  for (const ModelKernel& kernel : model.kernels) {
    const GemmSpec& gemm = kernel.spec.gemm();
    found.push_back(
        {kernel.spec.name(), gemm.shape.n, gemm.shape.k, gemm.epilogue.bias, kernel.layers});
  }
  return found;
}

TEST(Model, LlamaAwq) {
  const Model model = model_from_config(example("llama-3-8b-awq"));
  EXPECT_EQ(model.model_type, "llama");
  EXPECT_EQ(model.quant_method, "awq");
  EXPECT_EQ(rows(model), (std::vector<Row>{{"qkv_proj", 6144, 4096, false, 32},
                                           {"o_proj", 4096, 4096, false, 32},
                                           {"gate_up_proj", 28672, 4096, false, 32},
                                           {"down_proj", 4096, 14336, false, 32}}));
  EXPECT_EQ(model.kernels[0].covers, "q_proj + k_proj + v_proj");
  const GemmSpec& gemm = model.kernels[0].spec.gemm();
  EXPECT_EQ(gemm.weight.bits, 4);
  EXPECT_EQ(gemm.weight.type, WeightType::kUint);
  EXPECT_EQ(gemm.weight.group_size, 128);
  EXPECT_EQ(gemm.weight.zero_point, ZeroPoint::kInt);
  EXPECT_EQ(gemm.weight.scale_dtype, DType::kFp16);
  EXPECT_EQ(gemm.activation, DType::kFp16);
  ASSERT_EQ(model.notes.size(), 1U);
  EXPECT_EQ(model.notes[0].substr(0, 24), "lm_head is not quantised");
}

TEST(Model, LlamaGptqIsSymmetricAndBf16) {
  const Model model = model_from_config(example("llama-3.1-70b-gptq"));
  EXPECT_EQ(rows(model), (std::vector<Row>{{"qkv_proj", 10240, 8192, false, 80},
                                           {"o_proj", 8192, 8192, false, 80},
                                           {"gate_up_proj", 57344, 8192, false, 80},
                                           {"down_proj", 8192, 28672, false, 80}}));
  EXPECT_EQ(model.kernels[0].spec.gemm().weight.zero_point, ZeroPoint::kNone);
  EXPECT_EQ(model.kernels[0].spec.gemm().activation, DType::kBf16);
  EXPECT_EQ(model.kernels[0].spec.gemm().weight.scale_dtype, DType::kBf16);
}

TEST(Model, QwenHasBiasInQkvOnly) {
  EXPECT_EQ(rows(model_from_config(example("qwen2.5-0.5b-gptq"))),
            (std::vector<Row>{{"qkv_proj", 1152, 896, true, 24},
                              {"o_proj", 896, 896, false, 24},
                              {"gate_up_proj", 9728, 896, false, 24},
                              {"down_proj", 896, 4864, false, 24}}));
  EXPECT_EQ(model_from_config(example("qwen2.5-7b-gptq-int8")).kernels[0].spec.gemm().weight.bits,
            8);
}

TEST(Model, BloomHasItsOwnLayersWithBias) {
  const Model model = model_from_config(example("bloom-176b-gptq"));
  EXPECT_EQ(rows(model), (std::vector<Row>{{"query_key_value", 43008, 14336, true, 70},
                                           {"dense", 14336, 14336, true, 70},
                                           {"dense_h_to_4h", 57344, 14336, true, 70},
                                           {"dense_4h_to_h", 14336, 57344, true, 70}}));
  EXPECT_EQ(model.kernels[0].spec.gemm().weight.zero_point, ZeroPoint::kInt);
}

TEST(Model, WhatASpecCannotSayIsUnsupportedByName) {
  Json other = llama();
  other["quantization_config"] = {{"quant_method", "bitsandbytes"}};
  const Error error = config_error(other.dump());
  EXPECT_EQ(error.category(), ErrorCategory::kUnsupported);
  EXPECT_EQ(error.code(), "model.quantization");
  EXPECT_NE(std::string(error.what()).find("\"bitsandbytes\""), std::string::npos);
  Json config = llama();
  config.erase("quantization_config");
  EXPECT_EQ(config_error(config.dump()).code(), "model.not_quantized");
  config = llama();
  config["quantization_config"]["version"] = "gemv_fast";
  EXPECT_EQ(config_error(config.dump()).code(), "model.quantization");
  config = llama();
  config["torch_dtype"] = "float32";
  EXPECT_EQ(config_error(config.dump()).code(), "model.dtype");
}

TEST(Model, OtherTypesAreUnsupportedWithAReason) {
  Json config = llama();
  config["model_type"] = "lama";
  const Error error = config_error(config.dump());
  EXPECT_EQ(error.category(), ErrorCategory::kUnsupported);
  EXPECT_EQ(error.problems()[0].hint, "did you mean \"llama\"?");
  EXPECT_NE(std::string(error.what()).find("text_config"), std::string::npos);
}

TEST(Model, HeadDimAndBiases) {
  Json config = llama();
  config["head_dim"] = 64;
  config["attention_bias"] = true;
  EXPECT_EQ(rows(model_from_config(config.dump()))[0],
            (Row{"qkv_proj", (32 + 16) * 64, 4096, true, 32}));
  EXPECT_EQ(rows(model_from_config(config.dump()))[1], (Row{"o_proj", 4096, 2048, true, 32}));
  EXPECT_FALSE(rows(model_from_config(config.dump()))[2].bias);
  config["mlp_bias"] = true;
  EXPECT_TRUE(rows(model_from_config(config.dump()))[2].bias);
  config = llama();
  config.erase("num_key_value_heads");
  EXPECT_EQ(rows(model_from_config(config.dump()))[0].n, 3 * 4096);
  config["model_type"] = "qwen3";
  EXPECT_EQ(config_error(config.dump()).problems()[0].pointer, "/num_key_value_heads");
  config["num_key_value_heads"] = 4;
  config["hidden_size"] = 1024;
  EXPECT_EQ(rows(model_from_config(config.dump()))[0].n, (32 + 8) * 128);
  config["model_type"] = "phi3";
  EXPECT_EQ(model_from_config(config.dump()).kernels[0].covers, "qkv_proj");
}

TEST(Model, DtypeSpellings) {
  Json config = llama();
  config.erase("torch_dtype");
  const Model model = model_from_config(config.dump());
  EXPECT_EQ(model.kernels[0].spec.gemm().activation, DType::kBf16);
  EXPECT_NE(model.assumptions.at(0).find("activations are BF16"), std::string::npos);
  config["dtype"] = "torch.bfloat16";
  EXPECT_EQ(model_from_config(config.dump()).kernels[0].spec.gemm().activation, DType::kBf16);
}

TEST(Model, QuantisedLmHeadIsAKernel) {
  Json config = Json::parse(example("llama-3.1-70b-gptq"));
  config["quantization_config"]["lm_head"] = true;
  const Model model = model_from_config(config.dump());
  EXPECT_EQ(rows(model).back(), (Row{"lm_head", 128256, 8192, false, 1}));
  EXPECT_TRUE(model.notes.empty());
}

TEST(Model, MalformedConfigsHavePointers) {
  Json config = llama();
  config["hidden_size"] = "4096";
  config["num_hidden_layers"] = 0;
  config.erase("intermediate_size");
  config["quantization_config"]["bits"] = 16;
  config["quantization_config"]["group_size"] = 0;
  const Error error = config_error(config.dump());
  EXPECT_EQ(error.category(), ErrorCategory::kSpec);
  EXPECT_EQ(error.code(), "model.invalid");
  std::vector<std::string> pointers;
  for (const Problem& problem : error.problems()) pointers.push_back(problem.pointer);
  for (const char* pointer : {"/quantization_config/bits", "/quantization_config/group_size",
                              "/hidden_size", "/intermediate_size", "/num_hidden_layers"}) {
    EXPECT_NE(std::find(pointers.begin(), pointers.end(), pointer), pointers.end()) << pointer;
  }
  EXPECT_EQ(pointers.size(), 5U) << error.what();
  config = llama();
  config["num_key_value_heads"] = 5;
  EXPECT_EQ(config_error(config.dump()).problems().at(0).pointer, "/num_key_value_heads");
  EXPECT_EQ(config_error("[]").code(), "model.wrong_type");
  EXPECT_EQ(config_error("{}").problems()[0].pointer, "/model_type");
  EXPECT_EQ(config_error("{").code(), "model.syntax");
  config = llama();
  config["quantization_config"] = 4;
  EXPECT_EQ(config_error(config.dump()).category(), ErrorCategory::kSpec);
}

TEST(Model, WhatIsWorkedOutFromAFieldNamesIt) {
  Json config = Json::parse(example("llama-3.1-70b-gptq"));
  config["quantization_config"]["lm_head"] = true;
  const std::string text = config.dump();
  ModelConfigTexts texts;
  texts.config = text;
  texts.lm_head_bits = 8;
  try {
    model_from_config(texts);
    ADD_FAILURE() << "a head that is quantised was quantised again";
  } catch (const Error& error) {
    EXPECT_EQ(error.problems().at(0).pointer, "/quantization_config");
  }
}

// As in Transformers, whose class asks whether the value is true.
TEST(Model, OneHeadForAllIsAQuestion) {
  std::ifstream file(std::string(HEDDLE_MODEL_CONFIGS) + "/gpt_bigcode.json");
  Json config = Json::parse(file);
  const std::int64_t n = rows(model_from_config(config.dump()))[0].n;
  config["multi_query"] = 128;
  EXPECT_EQ(rows(model_from_config(config.dump()))[0].n, n);
}

TEST(Model, SidesBeyondTheSpecsRange) {
  Json config = llama();
  config["intermediate_size"] = 1 << 20;
  const Error error = config_error(config.dump());
  EXPECT_EQ(error.code(), "model.out_of_range");
  EXPECT_NE(std::string(error.what()).find("gate_up_proj"), std::string::npos);
}

// Every value of every example, replaced by every kind of other value.
TEST(Model, DamagedConfigsNeverCrash) {
  const Json others[] = {nullptr,
                         true,
                         0,
                         -1,
                         1,
                         1.5,
                         1e300,
                         "",
                         "x",
                         Json::array(),
                         Json::object(),
                         Json::array({1, nullptr}),
                         Json{{"a", 1}}};
  int damaged = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HEDDLE_EXAMPLE_MODELS)) {
    const Json good = Json::parse(example(entry.path().filename()));
    const Json flat = good.flatten();
    std::vector<std::string> pointers;
    for (const auto& item : flat.items()) pointers.push_back(item.key());
    for (const std::string& text : pointers) {
      for (Json::json_pointer at(text); !at.empty(); at = at.parent_pointer()) {
        for (const Json& other : others) {
          Json config = good;
          config[at] = other;
          ++damaged;
          try {
            model_from_config(config.dump());
          } catch (const Error& error) {
            EXPECT_TRUE(error.category() == ErrorCategory::kSpec ||
                        error.category() == ErrorCategory::kUnsupported)
                << error.what();
          }
        }
      }
    }
  }
  EXPECT_GT(damaged, 1000);
}

}  // namespace
}  // namespace heddle

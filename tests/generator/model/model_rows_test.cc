// The norms and activations between the linear layers of a model.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "generator/model/model_block.h"
#include "tests/generator/model/model_helpers.h"

namespace heddle {
namespace {

Json family_config(const std::string& name) {
  std::ifstream file(std::string(HEDDLE_MODEL_CONFIGS) + "/" + name + ".json");
  EXPECT_TRUE(file) << name;
  return Json::parse(file);
}

Model rows_model(const Json& config, bool gated = false) {
  const std::string text = config.dump();
  ModelConfigTexts texts;
  texts.config = text;
  texts.plain_too = true;
  texts.gated = gated;
  return model_from_config(texts);
}

const ModelKernel* row_named(const Model& model, const std::string& name) {
  for (const ModelKernel& kernel : model.rows) {
    if (kernel.spec.name() == name) return &kernel;
  }
  return nullptr;
}

bool has_note(const Model& model, const std::string& text) {
  return std::any_of(model.notes.begin(), model.notes.end(),
                     [&](const std::string& note) { return note.find(text) != note.npos; });
}

TEST(ModelRows, NormsAddTheOutputOfTheHalfBeforeThem) {
  const Model model = rows_model(llama());
  ASSERT_EQ(model.rows.size(), 3U);
  const ModelKernel* first = row_named(model, "norm");
  const ModelKernel* others = row_named(model, "add_norm");
  ASSERT_TRUE(first != nullptr && others != nullptr);
  EXPECT_EQ(first->layers, 1);
  EXPECT_EQ(others->layers, 64);  // two of each layer but the first norm, and the final one
  const RowTransformSpec& spec = others->spec.row_transform();
  EXPECT_EQ(spec.shape.columns, 4096);
  EXPECT_EQ(spec.input, DType::kFp16);
  EXPECT_EQ(spec.output.dtype, RowDtype::kFp16);
  EXPECT_EQ(spec.norm.type, NormType::kRms);
  EXPECT_EQ(spec.norm.epsilon, 1e-5F);
  EXPECT_EQ(spec.norm.weight_offset, 0);
  EXPECT_TRUE(spec.residual);
  EXPECT_FALSE(first->spec.row_transform().residual);
}

TEST(ModelRows, ActivationsAreOfGateAndUpUnlessAnEpilogueHasThem) {
  const Model model = rows_model(llama());
  const ModelKernel* activation = row_named(model, "activation");
  ASSERT_NE(activation, nullptr);
  EXPECT_EQ(activation->layers, 32);
  EXPECT_EQ(activation->covers, "silu(gate) * up");
  const RowTransformSpec& spec = activation->spec.row_transform();
  EXPECT_EQ(spec.shape.columns, 14336);
  EXPECT_EQ(spec.gate.order, GateOrder::kHalves);
  EXPECT_EQ(spec.gate.activation, Activation::kSilu);
  EXPECT_EQ(row_named(rows_model(llama(), true), "activation"), nullptr);
}

TEST(ModelRows, AFeedForwardLayerWithoutGatesHasAnActivationOfItsUps) {
  const ModelKernel* activation = nullptr;
  const Model model = rows_model(family_config("gpt2"));
  activation = row_named(model, "activation");
  ASSERT_NE(activation, nullptr);
  EXPECT_EQ(activation->spec.row_transform().gate.order, GateOrder::kNone);
  EXPECT_EQ(row_named(model, "norm"), nullptr);
  EXPECT_TRUE(has_note(model, "LayerNorm"));
}

TEST(ModelRows, GatesThatAreAMatrixOfTheirOwnHaveNoKernel) {
  Json config = llama();
  config["quantization_config"]["modules_to_not_convert"] = {"gate_proj"};
  EXPECT_EQ(row_named(rows_model(config), "activation"), nullptr);
}

TEST(ModelRows, GemmaHasNormsAroundThatMultiplyByOnePlusTheWeight) {
  const Model model = rows_model(family_config("gemma2"));
  const ModelKernel* norm = row_named(model, "norm");
  const ModelKernel* add_norm = row_named(model, "add_norm");
  ASSERT_TRUE(norm != nullptr && add_norm != nullptr);
  EXPECT_EQ(norm->spec.row_transform().norm.weight_offset, 1);
  EXPECT_EQ(add_norm->spec.row_transform().norm.weight_offset, 1);
  EXPECT_EQ(norm->layers, add_norm->layers + 1);
}

TEST(ModelRows, SumsThatTheModelMultipliesAreNoPartOfANorm) {
  Json config = family_config("granite");
  config["residual_multiplier"] = 0.22;
  EXPECT_EQ(row_named(rows_model(config), "add_norm"), nullptr);
  EXPECT_NE(row_named(rows_model(config), "norm"), nullptr);
  config["residual_multiplier"] = 1;
  EXPECT_NE(row_named(rows_model(config), "add_norm"), nullptr);
  EXPECT_EQ(row_named(rows_model(family_config("minicpm")), "add_norm"), nullptr);
}

TEST(ModelRows, SumsOfOtherKindsAreNoPartOfANorm) {
  for (const char* name :
       {"minimax", "deepseek_v4", "kimi_k3", "gemma3n", "gemma4", "mllama", "minicpm3"}) {
    const Model model = rows_model(family_config(name));
    EXPECT_EQ(row_named(model, "add_norm"), nullptr) << name;
    EXPECT_NE(row_named(model, "norm"), nullptr) << name;
  }
  // Models that share their rows or their names, and add plainly.
  for (const char* name : {"kimi_linear", "minimax_m2", "deepseek_v3", "gemma3", "chatglm"}) {
    EXPECT_NE(row_named(rows_model(family_config(name)), "add_norm"), nullptr) << name;
  }
  Json config = family_config("chatglm");
  config["apply_residual_connection_post_layernorm"] = true;
  EXPECT_EQ(row_named(rows_model(config), "add_norm"), nullptr);
}

TEST(ModelRows, AHalfThatALayerLacksHasNoNorm) {
  // Every layer of Nemotron-H is one half.
  Json config = family_config("nemotron_h");
  Model model = rows_model(config);
  int layers = 0;
  for (const ModelBlock& block : blocks_of(model)) layers += static_cast<int>(block.layers.size());
  ASSERT_GT(layers, 1);
  EXPECT_EQ(row_named(model, "norm")->layers, 1);
  EXPECT_EQ(row_named(model, "add_norm")->layers, layers);
  model = rows_model(family_config("nemotron-nas"));
  int halves = 0;
  int all = 0;
  for (const ModelBlock& block : blocks_of(model)) {
    const int count = static_cast<int>(block.layers.size());
    // A matrix in the place of attention has the norm that attention would have.
    halves += count * (block.mixer_name != "none");
    halves += count * (block.feed_forward != FeedForwardKind::kNone);
    all += 2 * count;
  }
  ASSERT_LT(halves, all);
  EXPECT_EQ(row_named(model, "norm")->layers, 1);
  EXPECT_EQ(row_named(model, "add_norm")->layers, halves);
}

TEST(ModelRows, GeluIsTheFunctionThatTheModelTypeMeans) {
  for (const char* name : {"bloom", "openai-gpt"}) {
    Json config = family_config(name);
    if (config.contains("afn")) config["afn"] = "gelu";
    const Model model = rows_model(config);
    ASSERT_NE(row_named(model, "activation"), nullptr) << name;
    EXPECT_EQ(row_named(model, "activation")->spec.row_transform().gate.activation,
              Activation::kGeluTanh)
        << name;
    EXPECT_EQ(model.activation, "gelu_new") << name;
  }
  const Model exact = rows_model(family_config("mpt"));
  EXPECT_EQ(row_named(exact, "activation")->spec.row_transform().gate.activation,
            Activation::kGelu);
}

TEST(ModelRows, AnActivationThatNoKernelHasIsTold) {
  Json config = llama();
  config["hidden_act"] = "quick_gelu";
  const Model model = rows_model(config);
  EXPECT_EQ(row_named(model, "activation"), nullptr);
  EXPECT_TRUE(has_note(model, "none computes \"quick_gelu\""));
}

TEST(ModelRows, WhatIsNoEpsilonIsRefusedByName) {
  const struct {
    Json value;
    const char* code;
  } cases[] = {{true, "model.wrong_type"},
               {"1e-5", "model.wrong_type"},
               {0, "model.out_of_range"},
               {-1e-6, "model.out_of_range"}};
  for (const auto& wrong : cases) {
    Json config = llama();
    config["rms_norm_eps"] = wrong.value;
    try {
      rows_model(config);
      ADD_FAILURE() << "accepted " << wrong.value;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), wrong.code) << wrong.value;
      EXPECT_EQ(error.problems().front().pointer, "/rms_norm_eps");
    }
  }
}

TEST(ModelRows, ChatGlmSaysWhichNormItHas) {
  Json config = family_config("chatglm");
  config["rmsnorm"] = false;
  const Model model = rows_model(config);
  EXPECT_EQ(model.norm, NormKind::kLayer);
  EXPECT_EQ(row_named(model, "norm"), nullptr);
  EXPECT_TRUE(has_note(model, "LayerNorm"));
}

TEST(ModelRows, NormsBehindAHalfAddNothing) {
  const Model model = rows_model(family_config("olmo2"));
  EXPECT_NE(row_named(model, "norm"), nullptr);
  EXPECT_EQ(row_named(model, "add_norm"), nullptr);
}

TEST(ModelRows, AnEpsilonThatTheConfigLacksIsAssumed) {
  Json config = llama();
  config.erase("rms_norm_eps");
  const Model model = rows_model(config);
  EXPECT_EQ(row_named(model, "norm")->spec.row_transform().norm.epsilon, 1e-6F);
  EXPECT_NE(std::find(model.assumptions.begin(), model.assumptions.end(),
                      "the epsilon of norms is 1e-06, since the config has none"),
            model.assumptions.end());
  config["rms_norm_eps"] = 5.0;
  EXPECT_TRUE(has_note(rows_model(config), "norm: no kernel is made: /norm/epsilon"));
}

}  // namespace
}  // namespace heddle

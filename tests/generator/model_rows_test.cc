// The norms and activations between the linear layers of a model.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "tests/generator/model_helpers.h"

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
  EXPECT_EQ(spec.output, DType::kFp16);
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

// Gated epilogues of a model's kernels: where the config says what they compute, and nowhere else.
#include "generator/model/gate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "generator/model/family.h"
#include "tests/generator/model/model_helpers.h"

namespace heddle {
namespace {

Model gated_model(const std::string& json) {
  ModelConfigTexts texts;
  texts.config = json;
  texts.gated = true;
  return model_from_config(texts);
}

TEST(Gate, OnlyGateUpProjIsGatedAndOnlyOnRequest) {
  const std::string json = llama().dump();
  const Model plain = model_from_config(json);
  const Model gated = gated_model(json);
  ASSERT_EQ(plain.kernels.size(), gated.kernels.size());
  for (std::size_t i = 0; i < plain.kernels.size(); ++i) {
    GemmSpec wanted = plain.kernels[i].spec.gemm();
    EXPECT_FALSE(wanted.epilogue.gated);
    if (plain.kernels[i].spec.name() == "gate_up_proj") {
      wanted.epilogue.gated = true;
      wanted.epilogue.activation = Activation::kSilu;
    }
    EXPECT_EQ(gated.kernels[i].spec.canonical_json(), Spec::from_gemm(wanted).canonical_json());
  }
  EXPECT_EQ(gated.notes, plain.notes);
}

TEST(Gate, ABiasStays) {
  Json config = llama();
  config["mlp_bias"] = true;
  config["hidden_act"] = "gelu_new";
  const Model model = gated_model(config.dump());
  const auto kernel =
      std::find_if(model.kernels.begin(), model.kernels.end(),
                   [](const ModelKernel& one) { return one.spec.name() == "gate_up_proj"; });
  ASSERT_NE(kernel, model.kernels.end());
  EXPECT_TRUE(kernel->spec.gemm().epilogue.bias);
  EXPECT_TRUE(kernel->spec.gemm().epilogue.gated);
  EXPECT_EQ(kernel->spec.gemm().epilogue.activation, Activation::kGeluTanh);
}

TEST(Gate, AnActivationWithoutAnEpilogueIsRefusedByName) {
  Json config = llama();
  config["hidden_act"] = "quick_gelu";
  EXPECT_NO_THROW(model_from_config(config.dump()));
  try {
    gated_model(config.dump());
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kUnsupported);
    EXPECT_EQ(error.code(), "model.activation");
    EXPECT_EQ(error.problems().front().pointer, "/hidden_act");
    EXPECT_EQ(error.problems().front().value, "\"quick_gelu\"");
  }
}

// BLOOM has no gate; a note says that the option had no effect.
TEST(Gate, AModelWithoutGatesGetsANote) {
  const Model model = gated_model(example("bloom-176b-gptq"));
  for (const ModelKernel& kernel : model.kernels) EXPECT_FALSE(kernel.spec.gemm().epilogue.gated);
  EXPECT_TRUE(std::any_of(model.notes.begin(), model.notes.end(), [](const std::string& note) {
    return note.find("no layer is a gate and an up") != std::string::npos;
  }));
}

TEST(Gate, WhichModulesAreAGateAndAnUp) {
  EXPECT_TRUE(are_gate_and_up({Role::kGate, Role::kUp}));
  EXPECT_TRUE(are_gate_and_up({Role::kGateUp}));
  EXPECT_FALSE(are_gate_and_up({Role::kUp, Role::kGate}));  // their rows would trade places
  EXPECT_FALSE(are_gate_and_up({Role::kUp}));
  EXPECT_FALSE(are_gate_and_up({Role::kGate}));
  EXPECT_FALSE(are_gate_and_up({}));
}

}  // namespace
}  // namespace heddle

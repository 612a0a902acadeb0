// Layers of experts in a config: the moe that serves each, and why one has none.
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "heddle/inspect/plan.h"
#include "heddle/model_size.h"
#include "heddle/target.h"
#include "heddle/weights.h"
#include "tests/generator/model/model_helpers.h"

namespace heddle {
namespace {

Json experts_config(const std::string& name) {
  std::ifstream file(std::filesystem::path(HEDDLE_MODEL_CONFIGS) / (name + ".json"));
  EXPECT_TRUE(file) << name;
  return Json::parse(file);
}

Model experts_model(const Json& config, bool dense = false) {
  const std::string text = config.dump();
  ModelConfigTexts texts;
  texts.config = text;
  texts.dense = dense;
  texts.plain_too = true;
  return model_from_config(texts);
}

// The layers of experts; `served` those with a kernel.
std::vector<ModelLayer> expert_layers(const Model& model, bool served) {
  std::vector<ModelLayer> layers;
  for (const ModelLayer& layer : model.layers) {
    if (layer.kind == ModelLayer::Kind::kExperts && (layer.kernel >= 0) == served) {
      layers.push_back(layer);
    }
  }
  return layers;
}

MoeSpec moe_of(const Model& model, const ModelLayer& layer) {
  return model.kernels.at(static_cast<std::size_t>(layer.kernel)).spec.moe();
}

TEST(ModelExperts, TwoProductsHaveOneKernel) {
  Json config = experts_config("qwen3_moe");
  config["quantization_config"]["activation_scheme"] = "dynamic";
  const Model model = experts_model(config);
  EXPECT_TRUE(expert_layers(model, false).empty());
  const std::vector<ModelLayer> layers = expert_layers(model, true);
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(layers[0].kernel, layers[1].kernel);
  EXPECT_EQ(layers[0].name, "gate_up_proj");
  EXPECT_FALSE(layers[0].is_down);
  EXPECT_TRUE(layers[1].is_down);
  EXPECT_EQ(layers[0].count(), 6) << "a gate and an up of three layers";
  const ModelKernel& kernel = model.kernels.at(static_cast<std::size_t>(layers[0].kernel));
  EXPECT_EQ(kernel.layers, 3);
  EXPECT_EQ(kernel.covers, "gate_proj + up_proj + down_proj");
  const MoeSpec& moe = kernel.spec.moe();
  EXPECT_EQ(moe.shape.hidden, 256);
  EXPECT_EQ(moe.shape.intermediate, 96);
  EXPECT_EQ(moe.shape.experts, 8);
  EXPECT_EQ(moe.shape.top_k, 2);
  EXPECT_EQ(moe.activation, DType::kBf16);
  EXPECT_EQ(moe.epilogue.activation, Activation::kSilu);
  EXPECT_TRUE(moe.epilogue.gated);
  EXPECT_FALSE(moe.epilogue.bias);
  EXPECT_FALSE(moe.epilogue.residual);
  EXPECT_EQ(moe.gate_up.type, WeightType::kE4m3);
  EXPECT_EQ(moe.gate_up.group_size, 128);
  EXPECT_EQ(moe.down.group_size, 32) << "128 do not divide 96 columns";
  const auto told = [&](const char* word) {
    return std::any_of(model.notes.begin(), model.notes.end(), [&](const std::string& note) {
      return note.find(word) != std::string::npos;
    });
  };
  EXPECT_TRUE(told("kernels of experts take 16 bits")) << "FP8 blocks have activations, too";
}

// Also where a checkpoint calls them otherwise.
TEST(ModelExperts, ProductsAreNamedAsTheyArePacked) {
  for (const auto& [config, first, second] : {std::tuple("mixtral", "gate_up_proj", "down_proj"),
                                              {"nemotron_h", "up_proj", "down_proj"},
                                              {"granitemoe", "input_linear", "output_linear"}}) {
    const std::vector<ModelLayer> layers =
        expert_layers(experts_model(experts_config(config)), true);
    ASSERT_GE(layers.size(), 2U) << config;
    EXPECT_EQ(layers[0].name, first) << config;
    EXPECT_EQ(layers[1].name, second) << config;
  }
}

struct ExpertsCase {
  const char* config;
  Activation activation;
  bool gated = true;
  bool bias = false;
  bool residual = false;
  int limit = 0;
  RoutingWeight weight = RoutingWeight::kOutput;
};

TEST(ModelExperts, EveryFamilyHasItsActivation) {
  const ExpertsCase cases[] = {
      {"mixtral", Activation::kSilu},
      {"olmoe", Activation::kSilu},
      {"dbrx", Activation::kSilu},
      {"granitemoe", Activation::kSilu},
      {"qwen2_moe", Activation::kSilu, true, false, true},
      {"qwen3_5_moe", Activation::kSilu, true, false, true},
      {"deepseek_v2", Activation::kSilu, true, false, true},
      {"deepseek_v3", Activation::kSilu, true, false, true},
      {"kimi_k25", Activation::kSilu, true, false, true},
      {"glm4_moe", Activation::kSilu, true, false, true},
      {"glm_moe_dsa", Activation::kSilu, true, false, true},
      {"minimax_m2", Activation::kSilu},
      {"step3p7", Activation::kSilu, true, false, true},
      {"gemma4", Activation::kGeluTanh},          // its dense layers have a norm of their own
      {"nemotron_h", Activation::kRelu2, false},  // shared experts have another width
      {"llama4", Activation::kSilu, true, false, true, 0, RoutingWeight::kInput},
      {"gpt_oss", Activation::kClampedSwiglu, true, true, false, 7},
      {"minimax_m3", Activation::kClampedSwiglu, true, false, true, 7},
      {"deepseek_v4", Activation::kSilu, true, false, true, 10},
  };
  for (const ExpertsCase& one : cases) {
    const Model model = experts_model(experts_config(one.config), true);
    const std::vector<ModelLayer> layers = expert_layers(model, true);
    ASSERT_FALSE(layers.empty()) << one.config;
    EXPECT_TRUE(expert_layers(model, false).empty()) << one.config;
    const MoeSpec moe = moe_of(model, layers[0]);
    EXPECT_EQ(moe.epilogue.activation, one.activation) << one.config;
    EXPECT_EQ(moe.epilogue.gated, one.gated) << one.config;
    EXPECT_EQ(moe.epilogue.bias, one.bias) << one.config;
    EXPECT_EQ(moe.epilogue.residual, one.residual) << one.config;
    EXPECT_EQ(moe.epilogue.limit, one.limit) << one.config;
    EXPECT_EQ(moe.routing_weight, one.weight) << one.config;
    for (const ModelLayer& layer : layers) {
      const MoeSpec own = moe_of(model, layer);
      const MoeGemms gemms = moe_gemms(own);
      const GemmShape& shape = (layer.is_down ? gemms.down : gemms.gate_up).shape;
      EXPECT_EQ(layer.n, shape.n) << one.config;
      EXPECT_EQ(layer.k, shape.k) << one.config;
      EXPECT_EQ(layer.matrices, own.shape.experts) << one.config;
    }
  }
}

// What a router's kernel adds to its products.
TEST(ModelExperts, RoutersHaveTheBiasOfTheirModel) {
  for (const auto& [name, has_bias] : {std::pair("gpt_oss", true), std::pair("qwen3_moe", false)}) {
    const Model model = experts_model(experts_config(name), true);
    const std::int64_t experts = moe_of(model, expert_layers(model, true).at(0)).shape.experts;
    const auto router =
        std::find_if(model.kernels.begin(), model.kernels.end(), [&](const ModelKernel& kernel) {
          return kernel.spec.op() == Op::kGemm && kernel.spec.gemm().shape.n == experts;
        });
    ASSERT_NE(router, model.kernels.end()) << name;
    EXPECT_EQ(router->spec.gemm().epilogue.bias, has_bias) << name;
  }
}

// The spec with the routing of the first layer of experts, if there is one.
std::optional<MoeSpec> routed_of(const Json& config) {
  const Model model = experts_model(config, true);
  const std::vector<ModelLayer> layers = expert_layers(model, true);
  EXPECT_FALSE(layers.empty()) << config.at("model_type");
  const ModelKernel& kernel = model.kernels.at(static_cast<std::size_t>(layers.at(0).kernel));
  if (!kernel.routed) return std::nullopt;
  MoeSpec routed = kernel.routed->moe();
  EXPECT_EQ(kernel.routed->name(), kernel.spec.name());
  routed.router = kernel.spec.moe().router;
  EXPECT_EQ(Spec::from_moe(routed).canonical_json(), kernel.spec.canonical_json())
      << "nothing differs but the routing";
  EXPECT_FALSE(routed.router.chooses()) << "without it a launch takes ids and weights";
  return kernel.routed->moe();
}

TEST(ModelExperts, RoutingIsThatOfTheConfig) {
  const struct {
    const char* config;
    RouterScores scores;
    bool renormalize;
    bool correction_bias = false;
    float scaling_factor = 1;
  } cases[] = {
      {"mixtral", RouterScores::kSoftmax, true},
      {"olmoe", RouterScores::kSoftmax, false},
      {"granitemoe", RouterScores::kSoftmax, true},
      {"gpt_oss", RouterScores::kSoftmax, true},
      {"qwen2_moe", RouterScores::kSoftmax, false},
      {"qwen3_5_moe", RouterScores::kSoftmax, true},
      {"deepseek_v3", RouterScores::kSigmoid, true, true, 2.5F},
      {"glm4_moe", RouterScores::kSigmoid, true, true},
      {"deepseek_v2", RouterScores::kSoftmax, false},
      {"deepseek_v32", RouterScores::kSigmoid, true, true, 2.5F},
      {"glm_moe_dsa", RouterScores::kSigmoid, true, true, 2.5F},
      {"glm4_moe_lite", RouterScores::kSigmoid, true, true, 1.8F},
      {"kimi_k25", RouterScores::kSigmoid, true, true, 2.5F},
      {"kimi_linear", RouterScores::kSigmoid, true, true, 2.446F},
      {"mistral4", RouterScores::kSoftmax, true},
      {"minimax", RouterScores::kSoftmax, true},
      {"minimax_m2", RouterScores::kSigmoid, true, true},
      {"minimax_m3", RouterScores::kSigmoid, true, true, 2},
      {"mimo_v2_flash", RouterScores::kSigmoid, true, true},
      {"nemotron_h", RouterScores::kSigmoid, true, true},
      {"granitemoehybrid", RouterScores::kSoftmax, true},
      {"llama4", RouterScores::kSigmoid, false},
      {"gemma4", RouterScores::kSoftmax, true},
  };
  for (const auto& one : cases) {
    const std::optional<MoeSpec> moe = routed_of(experts_config(one.config));
    ASSERT_TRUE(moe) << one.config;
    const RouterSpec& router = moe->router;
    EXPECT_EQ(router.scores, one.scores) << one.config;
    EXPECT_EQ(router.logits, DType::kFp32) << one.config;
    EXPECT_EQ(router.renormalize, one.renormalize) << one.config;
    EXPECT_EQ(router.correction_bias, one.correction_bias) << one.config;
    EXPECT_EQ(router.groups, 1) << one.config;
    EXPECT_EQ(router.scaling_factor, one.scaling_factor) << one.config;
    EXPECT_EQ(router.expert_scales, one.config == std::string("gemma4")) << one.config;
  }
  Json grouped = experts_config("deepseek_v3");
  grouped["n_group"] = 4;
  grouped["topk_group"] = 2;
  const RouterSpec router = routed_of(grouped).value().router;
  EXPECT_EQ(router.groups, 4);
  EXPECT_EQ(router.top_groups, 2);
  EXPECT_EQ(router.group_score, GroupScore::kTopTwo);
  Json limited = experts_config("deepseek_v2");
  limited["topk_method"] = "group_limited_greedy";
  limited["n_group"] = 4;
  limited["topk_group"] = 2;
  EXPECT_EQ(routed_of(limited).value().router.groups, 4);
  EXPECT_EQ(routed_of(limited).value().router.group_score, GroupScore::kMax);
  // Whose first layers choose by a table of tokens.
  Json by_logits = experts_config("deepseek_v4");
  by_logits["num_hash_layers"] = 0;
  EXPECT_EQ(routed_of(by_logits).value().router.scores, RouterScores::kSqrtSoftplus);
  EXPECT_TRUE(routed_of(by_logits).value().router.correction_bias);
  Json of_sum = experts_config("dbrx");
  of_sum["ffn_config"]["moe_normalize_expert_weights"] = 1;
  EXPECT_TRUE(routed_of(of_sum).value().router.renormalize);
  for (const bool normalised : {false, true}) {
    Json config = experts_config("qwen3_moe");
    config["norm_topk_prob"] = normalised;
    EXPECT_EQ(routed_of(config).value().router.renormalize, normalised);
  }
}

// Another function of logits, logits that are changed at random, a table of tokens: a launch
// takes what the engine has chosen.
TEST(ModelExperts, RoutingThatTheConfigDoesNotSayIsNotGuessed) {
  for (const char* const name : {"phimoe", "dbrx", "step3p7", "deepseek_v4"}) {
    EXPECT_FALSE(routed_of(experts_config(name))) << name;
  }
  for (const auto& [name, change] :
       {std::pair("deepseek_v2", R"({"norm_topk_prob": true})"),
        {"deepseek_v2", R"({"topk_method": null})"},
        {"deepseek_v3", R"({"topk_method": "greedy"})"},
        {"deepseek_v3", R"({"scoring_func": "softmax"})"},
        {"dbrx", R"({"ffn_config": {"moe_normalize_expert_weights": 2}})"},
        {"mistral4", R"({"n_group": 2})"},
        {"mimo_v2_flash", R"({"num_experts_per_tok": 1})"},
        {"minimax_m2", R"({"scoring_func": "softmax"})"}}) {
    Json config = experts_config(name);
    config.merge_patch(Json::parse(change));
    EXPECT_FALSE(routed_of(config)) << name << change;
  }
  Json config = experts_config("deepseek_v3");
  config["scoring_func"] = "tanh";
  EXPECT_FALSE(routed_of(config));
}

TEST(ModelExperts, SharedExpertsAreTold) {
  const auto note_of_shared = [](const char* name) {
    const Model model = experts_model(experts_config(name));
    std::string found;
    for (const std::string& note : model.notes) {
      if (note.rfind("shared experts", 0) != 0) continue;
      EXPECT_EQ(found, "") << "told twice";
      found = note;
    }
    return found;
  };
  EXPECT_EQ(note_of_shared("mixtral"), "");
  EXPECT_NE(note_of_shared("deepseek_v3").find("residual"), std::string::npos);
  EXPECT_NE(note_of_shared("qwen2_moe").find("sigmoid"), std::string::npos);
  EXPECT_NE(note_of_shared("gemma4").find("norms of both"), std::string::npos);
  EXPECT_NE(note_of_shared("nemotron_h").find("behind the experts' projection"), std::string::npos);
}

struct RefusedExperts {
  const char* config;
  const char* change;  // merged into the config
  const char* word;    // of the reason
};

TEST(ModelExperts, WhatNoKernelComputesIsRefusedByName) {
  const RefusedExperts cases[] = {
      {"deepseek_v4", R"({"swiglu_limit": 7.5})", "7.5"},
      {"kimi_k3",
       R"({"text_config": {"hidden_act": "situ", "activation_situ_beta": 3.5,
                           "activation_situ_linear_beta": 25}})",
       "3.5"},
      {"kimi_k3", R"({"text_config": {"hidden_act": "situ"}})", "situ"},
      {"deepseek_v4", R"({"hidden_act": "relu"})", "\"relu\""},
      {"qwen3_moe", R"({"hidden_act": "tanh"})", "\"tanh\""},
      {"gpt_oss", R"({"swiglu_limit": 6.5})", "6.5"},
      {"gpt_oss", R"({"swiglu_limit": 1e30})", "1 to 65536, but the config says 1e+30"},
      {"gpt_oss", R"({"swiglu_alpha": 1.5})", "1.5"},
      {"qwen3_moe", R"({"moe_intermediate_size": 90})", "32"},
      {"qwen3_moe", R"({"num_experts_per_tok": 33, "num_experts": 64})", "33"},
      {"mixtral", R"({"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 8,
                                              "weight_block_size": null}})",
       "multiple of 16"},
  };
  for (const RefusedExperts& one : cases) {
    Json config = experts_config(one.config);
    config.merge_patch(Json::parse(one.change));
    const Model model = experts_model(config);
    EXPECT_TRUE(expert_layers(model, true).empty()) << one.config << one.change;
    const std::vector<ModelLayer> layers = expert_layers(model, false);
    ASSERT_FALSE(layers.empty());
    std::set<std::string> refused;
    for (const ModelUnserved& unserved : model.unserved) refused.insert(unserved.name);
    for (const ModelLayer& layer : layers) {
      EXPECT_NE(layer.reason.find(one.word), std::string::npos) << layer.name << layer.reason;
      EXPECT_EQ(refused.count(layer.name), 1U) << one.config << one.change << layer.name;
      EXPECT_GT(layer.stored_bytes, 0U);
    }
  }
}

TEST(ModelExperts, AConfigThatContradictsItselfIsRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"num_experts_per_tok": 9})", "/num_experts_per_tok: is more than there are experts"},
      {R"({"num_experts": true})", "/num_experts: must be a number, got true"},
  };
  for (const auto& [change, text] : cases) {
    Json config = experts_config("qwen3_moe");
    config.merge_patch(Json::parse(change));
    try {
      experts_model(config);
      ADD_FAILURE() << change << " is read";
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), ErrorCategory::kSpec);
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  }
  // Null is no number of experts, of which there are none where it is 0.
  Json config = experts_config("qwen3_moe");
  config["num_experts"] = 0;
  config["num_local_experts"] = nullptr;
  EXPECT_TRUE(expert_layers(experts_model(config), true).empty());
  config["num_experts"] = nullptr;
  EXPECT_THROW(experts_model(config), Error);
}

// Kimi K3's function has a limit of gates and one of ups.
TEST(ModelExperts, MayHaveSitu) {
  Json config = experts_config("kimi_k3");
  config["text_config"]["hidden_act"] = "situ";
  config["text_config"]["activation_situ_beta"] = 4;
  for (const int linear : {0, 25}) {
    if (linear != 0) config["text_config"]["activation_situ_linear_beta"] = linear;
    const Model model = experts_model(config, true);
    const std::vector<ModelLayer> layers = expert_layers(model, true);
    ASSERT_FALSE(layers.empty());
    const EpilogueSpec epilogue = moe_of(model, layers[0]).epilogue;
    EXPECT_EQ(epilogue.activation, Activation::kSitu);
    EXPECT_EQ(epilogue.gate_limit, 4);
    EXPECT_EQ(epilogue.limit, linear);
  }
}

// Step's list says which layers clamp.
TEST(ModelExperts, LayersMayDiffer) {
  Json config = experts_config("step3p7");
  config["text_config"]["swiglu_limits"] = {0, 0, 7, 0};
  const Model model = experts_model(config);
  for (const ModelLayer& layer : expert_layers(model, true)) {
    EXPECT_EQ(layer.layers, (std::vector<int>{1, 3}));
  }
  for (const ModelLayer& layer : expert_layers(model, false)) {
    EXPECT_EQ(layer.layers, std::vector<int>{2});
  }
}

// 16 bits are served on request, as of other layers.
TEST(ModelExperts, ThatAreNotQuantised) {
  Json config = experts_config("mixtral");
  config.erase("quantization_config");
  const Model plain = experts_model(config);
  for (const ModelLayer& layer : expert_layers(plain, false)) {
    EXPECT_NE(layer.reason.find("--dense"), std::string::npos);
  }
  EXPECT_EQ(expert_layers(plain, false).size(), 2U);
  const Model dense = experts_model(config, true);
  ASSERT_EQ(expert_layers(dense, true).size(), 2U);
  EXPECT_EQ(moe_of(dense, expert_layers(dense, true)[0]).gate_up.type, WeightType::kBf16);
}

TEST(ModelExperts, TheirBytesAreThoseOfBothStacks) {
  const Model model = experts_model(experts_config("mixtral"));
  const std::vector<ModelLayer> layers = expert_layers(model, true);
  const MoeGemms gemms = moe_gemms(moe_of(model, layers.at(0)));
  std::size_t want = 0;
  for (const GemmSpec& gemm : {gemms.gate_up, gemms.down}) {
    want += 4 * 8 * weight_layout(gemm).total_bytes;
  }
  const ModelSize size = model_size(model, {}, target_from_name("h200"), {3, 100});
  std::size_t got = 0;
  for (const ModelWeightSize& weights : size.weights) {
    if (weights.name.find("8 experts") != std::string::npos) got += weights.bytes;
  }
  EXPECT_EQ(got, want);
}

// GPTQ with desc_act: a launch takes an order of columns of each expert.
TEST(ModelExperts, MayHaveColumnsOutOfOrder) {
  const auto size_of = [](bool ordered) {
    Json config = experts_config("mixtral");
    config["quantization_config"] = {
        {"quant_method", "gptq"}, {"bits", 4}, {"group_size", 32}, {"desc_act", ordered}};
    const Model model = experts_model(config);
    EXPECT_TRUE(expert_layers(model, false).empty());
    const std::vector<ModelLayer> layers = expert_layers(model, true);
    EXPECT_EQ(moe_of(model, layers.at(0)).act_order, ordered);
    const std::optional<MoeSpec> routed = routed_of(config);
    EXPECT_TRUE(routed && routed->act_order == ordered);
    std::size_t bytes = 0;
    for (const ModelWeightSize& weights :
         model_size(model, {}, target_from_name("h200"), {3, 100}).weights) {
      if (weights.name.find("8 experts") != std::string::npos) bytes += weights.bytes;
    }
    EXPECT_EQ(std::count_if(model.assumptions.begin(), model.assumptions.end(),
                            [](const auto& one) { return one.find("act-order") != one.npos; }),
              ordered ? 1 : 0);
    return std::pair(bytes, moe_of(model, layers.at(0)).shape);
  };
  const auto [plain, shape] = size_of(false);
  EXPECT_EQ(
      size_of(true).first,
      plain + 4 * sizeof(std::int32_t) * static_cast<std::size_t>(shape.experts * shape.hidden));
}

// What a step's launch takes, and what a prompt's would: rows of all assignments lie in it.
TEST(ModelExperts, TheirWorkspaceIsThatOfALaunch) {
  const Model model = experts_model(experts_config("mixtral"));
  const Target target = target_from_name("h200");
  const Spec& spec =
      model.kernels.at(static_cast<std::size_t>(expert_layers(model, true)[0].kernel)).spec;
  const Plan plan = resolve(spec, target);
  for (const std::int64_t tokens : {1, 8, 1000}) {
    const ModelSize size = model_size(model, {}, target, {tokens, 100});
    std::size_t most = 0;
    for (std::int64_t m = 1; m <= tokens; ++m) most = std::max(most, plan.workspace_bytes(m));
    const auto experts = std::find_if(size.workspaces.begin(), size.workspaces.end(),
                                      [&](const auto& one) { return one.name == spec.name(); });
    ASSERT_NE(experts, size.workspaces.end());
    EXPECT_EQ(experts->bytes, most);
    const std::string prompt =
        "for steps of " + std::to_string(tokens) + " tokens; launches of up to " +
        std::to_string(spec.m_range().max) + ", such as prompts, need up to " +
        std::to_string(plan.max_workspace_bytes()) + " bytes (" + spec.name() + ")";
    const auto& told = size.assumptions;
    EXPECT_EQ(std::count_if(told.begin(), told.end(),
                            [&](const auto& one) { return one.find(prompt) != one.npos; }),
              1)
        << prompt;
  }
}

}  // namespace
}  // namespace heddle

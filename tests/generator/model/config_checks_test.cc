// Configs whose fields contradict each other, name layers that there are not, or say of the choice
// of experts what Heddle does not know.
#include <algorithm>

#include "tests/generator/model/model_helpers.h"

namespace heddle {
namespace {

Json mixture(const std::string& name) {
  std::ifstream file(std::filesystem::path(HEDDLE_MODEL_CONFIGS) / (name + ".json"));
  EXPECT_TRUE(file) << name;
  return Json::parse(file);
}

struct ConfigCase {
  const char* config;
  const char* change;  // merged into it
  std::vector<std::string> words;
};

void expect_refused(const ConfigCase& one) {
  Json config = mixture(one.config);
  config.merge_patch(Json::parse(one.change));
  const Error error = config_error(config.dump());
  EXPECT_EQ(error.category(), ErrorCategory::kSpec) << one.change;
  for (const std::string& word : one.words) {
    EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
        << one.change << ": " << error.what();
  }
}

TEST(ConfigChecks, NamesOfOneFieldAgree) {
  const ConfigCase cases[] = {
      {"qwen3_moe",
       R"({"num_local_experts": 4})",
       {"/num_local_experts: contradicts /num_experts, which is 8", "4"}},
      {"qwen3_moe",
       R"({"experts_per_token": 1})",
       {"/experts_per_token: contradicts /num_experts_per_tok, which is 2"}},
      {"mixtral", R"({"moe_top_k": 1})", {"/moe_top_k: contradicts /num_experts_per_tok"}},
      {"mixtral", R"({"n_routed_experts": 9})", {"/n_routed_experts", "/num_local_experts"}},
      {"gpt_oss", R"({"experts_per_token": 3})", {"/experts_per_token", "/num_experts_per_tok"}},
      {"deepseek_v3", R"({"num_experts": 3})", {"/n_routed_experts", "/num_experts"}},
      {"kimi_k25",
       R"({"text_config": {"num_experts": 3}})",
       {"/text_config/n_routed_experts", "/text_config/num_experts"}},
  };
  for (const ConfigCase& one : cases) expect_refused(one);
  // Equal ones and null say nothing else, and a model without experts has none.
  for (const auto& [name, change] :
       {std::pair("qwen3_moe", R"({"num_local_experts": 8, "moe_top_k": 2})"),
        {"qwen3_moe", R"({"num_local_experts": null, "experts_per_token": null})"},
        {"llama", R"({"num_experts": 8, "num_local_experts": 4})"}}) {
    Json config = mixture(name);
    config.merge_patch(Json::parse(change));
    EXPECT_NO_THROW(model_from_config(config.dump())) << change;
  }
}

TEST(ConfigChecks, LayersAreThere) {
  const ConfigCase cases[] = {
      {"qwen3_moe",
       R"({"mlp_only_layers": [0.5]})",
       {"/mlp_only_layers/0: must be an integer, got 0.5"}},
      {"qwen3_moe",
       R"({"mlp_only_layers": [1, -1]})",
       {"/mlp_only_layers/1: the model has no such layer, got -1", "0 to 3"}},
      {"qwen3_moe",
       R"({"mlp_only_layers": [4]})",
       {"/mlp_only_layers/0: the model has no such layer, got 4", "0 to 3"}},
      {"qwen3_moe", R"({"decoder_sparse_step": 0})", {"/decoder_sparse_step"}},
      {"qwen3_moe", R"({"decoder_sparse_step": -1})", {"/decoder_sparse_step"}},
      {"qwen3_moe", R"({"decoder_sparse_step": 0.5})", {"/decoder_sparse_step"}},
      // Also where no layer's kind depends on it.
      {"qwen3_moe",
       R"({"decoder_sparse_step": 0, "mlp_only_layers": [0, 1, 2, 3]})",
       {"/decoder_sparse_step"}},
      {"deepseek_v3",
       R"({"first_k_dense_replace": 5})",
       {"/first_k_dense_replace: is out of range, got 5", "0 to 4"}},
      {"deepseek_v3", R"({"first_k_dense_replace": -1})", {"/first_k_dense_replace"}},
      {"deepseek_v3",
       R"({"first_k_dense_replace": 1.5})",
       {"/first_k_dense_replace: must be an integer, got 1.5"}},
      {"deepseek_v3", R"({"moe_layer_freq": 0})", {"/moe_layer_freq"}},
      {"llama4", R"({"text_config": {"moe_layers": [1, 9]}})", {"moe_layers/1", "got 9"}},
  };
  for (const ConfigCase& one : cases) expect_refused(one);
  Json config = mixture("deepseek_v3");
  config["first_k_dense_replace"] = 4;
  EXPECT_NO_THROW(model_from_config(config.dump())) << "all layers are dense";
}

TEST(ConfigChecks, NumbersThatNoIntegerHoldsAreNamed) {
  const ConfigCase cases[] = {
      {"qwen3_moe",
       R"({"num_experts": 9223372036854775808})",
       {"/num_experts: is out of range, got a number beyond all sizes"}},
      {"qwen3_moe",
       R"({"num_experts": 1e30})",
       {"/num_experts: is out of range, got a number beyond all sizes"}},
      {"qwen3_moe",
       R"({"hidden_size": 18446744073709551616})",
       {"/hidden_size: is out of range, got a number beyond all sizes"}},
      {"qwen3_moe",
       R"({"num_experts_per_tok": -9223372036854775809})",
       {"/num_experts_per_tok: is out of range"}},
  };
  for (const ConfigCase& one : cases) expect_refused(one);
}

TEST(ConfigChecks, GatesThatAreAllClampedToZeroAreRefused) {
  for (const auto& [name, change] : {std::pair("gpt_oss", R"({"swiglu_limit": 0})"),
                                     {"minimax_m3", R"({"text_config": {"swiglu_limit": 0}})"}}) {
    Json config = mixture(name);
    config.merge_patch(Json::parse(change));
    const Error error = config_error(config.dump());
    EXPECT_EQ(error.category(), ErrorCategory::kUnsupported) << name;
    EXPECT_NE(std::string(error.what()).find("swiglu_limit: gates would all be clamped to 0"),
              std::string::npos)
        << error.what();
  }
}

// A field that the row does not read, and that says something else than it.
TEST(ConfigChecks, ChoicesThatAreNotKnownLeaveTheChoiceToTheEngine) {
  const auto routing_of = [](const char* name, const std::string& change, std::string* note) {
    Json config = mixture(name);
    config.merge_patch(Json::parse(change));
    const std::string text = config.dump();
    ModelConfigTexts texts;
    texts.config = text;
    texts.dense = true;
    texts.plain_too = true;
    const Model model = model_from_config(texts);
    for (const std::string& one : model.notes) {
      if (one.rfind("routing: ", 0) == 0) *note = one;
    }
    const auto experts =
        std::find_if(model.kernels.begin(), model.kernels.end(),
                     [](const ModelKernel& kernel) { return kernel.spec.op() == Op::kMoe; });
    EXPECT_NE(experts, model.kernels.end()) << name;
    return experts->routed.has_value();
  };
  for (const auto& [name, change, field] :
       {std::tuple("mixtral", R"({"norm_topk_prob": false})", "/norm_topk_prob is false"),
        {"mixtral", R"({"routed_scaling_factor": 2.5})", "/routed_scaling_factor is 2.5"},
        {"qwen3_moe", R"({"scoring_func": "sigmoid"})", "/scoring_func is \"sigmoid\""},
        {"qwen3_moe", R"({"n_group": 4, "topk_group": 2})", "/n_group is 4"},
        {"gpt_oss", R"({"topk_method": "noaux_tc"})", "/topk_method is \"noaux_tc\""},
        {"gpt_oss", R"({"use_routing_bias": true})", "/use_routing_bias is true"}}) {
    std::string note;
    EXPECT_FALSE(routing_of(name, change, &note)) << change;
    EXPECT_NE(note.find(field), std::string::npos) << change << ": " << note;
  }
  for (const auto& [name, change] :
       {std::pair("mixtral", R"({"norm_topk_prob": true, "scoring_func": "softmax"})"),
        {"mixtral", R"({"n_group": 1, "topk_group": 1, "topk_method": "greedy"})"},
        {"mixtral", R"({"routed_scaling_factor": 1.0, "n_group": null})"},
        {"qwen3_moe", R"({"norm_topk_prob": false})"},
        {"deepseek_v3", R"({"routed_scaling_factor": 3.5})"}}) {
    std::string note;
    EXPECT_TRUE(routing_of(name, change, &note)) << change;
    EXPECT_EQ(note, "") << change;
  }
}

}  // namespace
}  // namespace heddle

// Models: what the C API tells is what C++ has.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "generator/model/layer_json.h"
#include "generator/model/model_json.h"
#include "heddle/model.h"
#include "tests/runtime/c_api/rows.h"

namespace heddle {
namespace {

using nlohmann::json;
using testing::expect_rows;
using testing::info_from;
using testing::made;
using testing::string_of;
using testing::text_from;

constexpr std::string_view kLlama =
    R"({"model_type":"llama","architectures":["LlamaForCausalLM"],"hidden_size":512,)"
    R"("intermediate_size":1024,"num_attention_heads":8,"num_key_value_heads":2,)"
    R"("num_hidden_layers":3,"vocab_size":1000,"rms_norm_eps":1e-5,"hidden_act":"silu",)"
    R"("tie_word_embeddings":false,"max_position_embeddings":2048,"rope_theta":10000.0,)"
    R"("torch_dtype":"float16")";

std::string llama(const char* quantization) { return std::string(kLlama) + quantization + "}"; }

void expect_model(const heddle_model* handle, const Model& model) {
  std::size_t kernels = 0;
  std::size_t rows = 0;
  ASSERT_EQ(heddle_model_counts(handle, &kernels, &rows), HEDDLE_OK);
  std::string remarks;
  for (const std::string& line : remark_lines(model)) {
    remarks += (remarks.empty() ? "" : "\n") + line;
  }
  expect_rows({{"kernels", kernels, model.kernels.size()},
               {"rows", rows, model.rows.size()},
               {"json", text_from(heddle_model_json, handle), model_to_json(model)},
               {"remarks", text_from(heddle_model_remarks, handle), remarks}});
  const auto expect_kernel = [](const heddle_model_kernel_info& info, const ModelKernel& kernel) {
    expect_rows({{"name", string_of(info.name), kernel.spec.name()},
                 {"spec", string_of(info.spec), spec_line(kernel.spec)},
                 {"covers", string_of(info.covers), kernel.covers},
                 {"routed", string_of(info.routed), kernel.routed ? spec_line(*kernel.routed) : ""},
                 {"layers", info.layers, kernel.layers}});
  };
  for (std::size_t i = 0; i < kernels; ++i) {
    expect_kernel(info_from<heddle_model_kernel_info>(heddle_model_kernel, handle, i),
                  model.kernels[i]);
  }
  for (std::size_t i = 0; i < rows; ++i) {
    expect_kernel(info_from<heddle_model_kernel_info>(heddle_model_row, handle, i), model.rows[i]);
  }
}

TEST(CApiValues, OfModels) {
  const std::string awq =
      llama(R"(,"quantization_config":{"quant_method":"awq","bits":4,"group_size":128,)"
            R"("version":"gemm","zero_point":true})");
  const std::string fp8 = llama(R"(,"quantization_config":{"quant_method":"fbgemm_fp8"})");
  const std::string plain = llama("");
  heddle_model_texts first = {};
  first.struct_size = sizeof first;
  first.config = testing::text_of(awq);
  std::vector<heddle_model_texts> cases(10, first);
  cases[1].gated = 1;
  cases[2].config = testing::text_of(fp8);
  cases[3] = cases[4] = cases[2];
  cases[3].activation_bits = 16;
  cases[4].arch = 86;  // has no FP8
  cases[5].config = testing::text_of(plain);
  cases[5].plain_too = 1;
  cases[6].config = testing::text_of(plain);
  cases[6].dense = 1;
  cases[7] = cases[6];
  cases[7].lm_head_bits = 8;
  cases[8].config = testing::text_of(plain);
  cases[8].quantize_config =
      testing::text_of(R"({"bits":4,"group_size":128,"desc_act":false,"sym":true})");
  // The routing of these experts is known.
  std::string experts = plain;
  experts.replace(experts.find("llama"), 5, "mixtral");
  experts.insert(1, R"("num_local_experts":8,"num_experts_per_tok":2,)");
  cases[9].config = testing::text_of(experts);
  cases[9].dense = 1;
  std::vector<std::string> seen;
  for (const heddle_model_texts& texts : cases) {
    ModelConfigTexts same;
    same.config = string_of(texts.config).empty() ? "" : std::string_view(texts.config.data);
    same.quantize_config = {texts.quantize_config.data, texts.quantize_config.length};
    same.plain_too = texts.plain_too != 0;
    same.gated = texts.gated != 0;
    same.dense = texts.dense != 0;
    same.lm_head_bits = texts.lm_head_bits;
    same.activation_bits = texts.activation_bits;
    same.arch = texts.arch;
    const auto handle = made(heddle_model_destroy, heddle_model_create, &texts);
    expect_model(handle.get(), model_from_config(same));
    seen.push_back(text_from(heddle_model_json, handle.get()));
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(std::count(seen.begin(), seen.end(), seen[i]), 1) << "an option has no effect: " << i;
  }
  const std::string_view kv = R"({"dtype":"int8","granularity":"head"})";
  const auto cache = made(heddle_model_destroy, heddle_model_create_cache, plain.data(),
                          plain.size(), kv.data(), kv.size());
  expect_model(cache.get(), cache_model_from_config(plain, kv));
  expect_rows({{"families", text_from(heddle_model_families), families_json().dump()}});
}

TEST(CApiValues, OfAModelAsJson) {
  const std::string config =
      llama(R"(,"quantization_config":{"quant_method":"awq","bits":4,"group_size":128,)"
            R"("version":"gemm","zero_point":true})");
  const Model model = model_from_config(config);
  const auto told = json::parse(model_to_json(model));
  expect_rows({
      {"model_type", told.at("model_type"), "llama"},
      {"quant_method", told.at("quant_method"), "awq"},
      {"hidden", told.at("model").at("hidden"), 512},
      {"kernels", told.at("kernels").size(), 4},
      {"rows", told.at("rows").size(), model.rows.size()},
      {"layers", told.at("layers").size(), model.layers.size()},
      {"notes", told.at("notes"), model.notes},
      {"assumptions", told.at("assumptions"), model.assumptions},
      {"unserved", told.at("unserved").size(), model.unserved.size()},
  });
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const ModelLayer& layer = model.layers[i];
    const json& one = told.at("layers")[i];
    json parts = json::array();
    for (const ModelPart& part : layer.parts) {
      parts.push_back({{"module", part.path}, {"n", part.n}});
    }
    expect_rows({
        {"name", one.at("name"), layer.name},
        {"kind", one.at("kind"), to_string(layer.kind)},
        {"weights", one.at("weights"), layer.weights},
        {"n", one.at("n"), layer.n},
        {"k", one.at("k"), layer.k},
        {"matrices", one.at("matrices"), layer.matrices},
        {"count", one.at("count"), layer.count()},
        {"layers", one.at("layers"), layer.layers},
        {"bias", one.at("bias"), layer.bias},
        {"parts", one.at("parts"), parts},
        {"reason", one.value("reason", ""), layer.reason},
        {"kernel", one.at("kernel").is_null() ? "" : one.at("kernel").get<std::string>(),
         layer.kernel < 0 ? "" : model.kernels[static_cast<std::size_t>(layer.kernel)].spec.name()},
    });
  }
}

}  // namespace
}  // namespace heddle

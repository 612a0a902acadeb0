// Formats that are not read are known by what they write, and are called by their names.
#include "generator/model/unread_formats.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "generator/model/config_documents.h"
#include "heddle/error.h"
#include "heddle/model.h"

namespace heddle {
namespace {

std::string name_of(const UnreadFormat* format) {
  return format == nullptr ? "" : std::string(format->name);
}

TEST(UnreadFormats, Methods) {
  const std::pair<const char*, const char*> cases[] = {{"aqlm", "AQLM"},
                                                       {"vptq", "VPTQ"},
                                                       {"higgs", "HIGGS"},
                                                       {"quip", "QuIP"},
                                                       {"exl2", "ExLlamaV2"},
                                                       {"exl3", "ExLlamaV3"},
                                                       {"hqq", "HQQ"},
                                                       {"torchao", "torchao"},
                                                       {"bitsandbytes", "bitsandbytes"},
                                                       {"quanto", "Quanto"},
                                                       {"eetq", "EETQ"},
                                                       {"bitsandbytes-8bit", "bitsandbytes"},
                                                       {"spqr", "SpQR"},
                                                       {"bitnet", "BitNet"},
                                                       {"sinq", "SINQ"},
                                                       {"fp-quant", "FP-Quant"},
                                                       {"qqq", "QQQ"},
                                                       {"paroquant", "ParoQuant"},
                                                       {"marlin", "Marlin"},
                                                       {"bitblas", "BitBLAS"},
                                                       {"gguf", "GGUF"},
                                                       {"mlx", "MLX"},
                                                       {"awq", ""},
                                                       {"unheard-of", ""},
                                                       {"fp8", ""},
                                                       {"gptq", ""},
                                                       {"quark", ""}};
  for (const auto& [method, name] : cases) {
    EXPECT_EQ(name_of(format_of_method(method)), name) << method;
  }
}

// Where a config is refused, and what is said.
std::pair<std::string, std::string> refused(const std::string& config) {
  try {
    Findings findings("model");
    ModelConfigTexts texts;
    texts.config = config;
    static_cast<void>(ConfigDocuments(texts, findings).quantization());
    findings.throw_if_any();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "model.quantization") << error.what();
    return {error.problems().at(0).pointer, error.problems().at(0).message};
  }
  return {};
}

TEST(UnreadFormats, ConfigsWithoutAQuantMethod) {
  const struct {
    const char* config;
    const char* pointer;
    const char* name;
  } cases[] = {{R"({"quantization": {"group_size": 64, "bits": 4},
           "quantization_config": {"group_size": 64, "bits": 4}})",
                "/quantization", "MLX"},
               {R"({"quantization": {"group_size": 32, "bits": 4, "mode": "mxfp4",
           "model.embed_tokens": {"group_size": 64, "bits": 8}}})",
                "/quantization", "MLX"},
               {R"({"quantization_config": {"group_size": 64, "bits": 4, "mode": "affine"}})",
                "/quantization_config", "MLX"},
               {R"({"architecture": "LlamaForCausalLM", "quantization": {"quant_algo": "W4A16_AWQ",
           "group_size": 128}})",
                "/quantization", "TensorRT-LLM"},
               {R"({"quantization_config": {"load_in_4bit": true, "bnb_4bit_quant_type": "nf4"}})",
                "/quantization_config", "bitsandbytes"},
               {R"({"aqlm": {"nbits_per_codebook": 16}})", "/aqlm", "AQLM"},
               {R"({"quip_params": {"codebook": "E8P12"}})", "/quip_params", "QuIP"}};
  for (const auto& [config, pointer, name] : cases) {
    const auto [where, what] = refused(config);
    EXPECT_EQ(where, pointer) << config;
    EXPECT_EQ(what.find(std::string(name) + " is not read: "), 0U) << what;
    EXPECT_NE(what.find("; "), std::string::npos) << "nothing that the user can do: " << what;
    // A config that lacks all else is told the same.
    EXPECT_THROW(
        {
          try {
            static_cast<void>(model_from_config(config));
          } catch (const Error& error) {
            EXPECT_EQ(error.category(), ErrorCategory::kUnsupported) << error.what();
            throw;
          }
        },
        Error);
  }
}

// A method that is read counts, whatever else the config has; so does what says nothing.
TEST(UnreadFormats, ConfigsOfOthers) {
  for (const char* config :
       {R"({"quantization": {"group_size": 64, "bits": 4},
            "quantization_config": {"quant_method": "gptq", "group_size": 64, "bits": 4}})",
        R"({"quantization": {"quant_algo": null}})", R"({"quantization": "none"})",
        R"({"quantization_config": {"w_bit": 4, "q_group_size": 64, "zero_point": true}})"}) {
    EXPECT_EQ(refused(config).first, "") << config;
  }
}

TEST(UnreadFormats, Tensors) {
  std::set<std::string> there;
  const auto named = [&](const std::string& name) {
    return name_of(
        format_of_tensor(name, [&](const std::string& other) { return there.count(other) != 0; }));
  };
  const std::pair<const char*, const char*> cases[] = {
      {"l.codebooks", "AQLM"},
      {"l.centroids.weight", "VPTQ"},
      {"l.Qidxs", "QuIP"},
      {"l.q_weight", "ExLlamaV2"},
      {"l.trellis", "ExLlamaV3"},
      {"l.W_q", "HQQ"},
      {"l.weight.absmax", "bitsandbytes"},
      {"l._weight_qdata", "torchao"},
      {"l.weight._data", "Quanto"},
      {"l.weights_scaling_factor", ""},
      {"l.biases", ""},
      {"l.weight", ""},
      {"l.weight_scale", ""},
      {"l.scales", ""},
      {"l.weight.quant_state.bitsandbytes__nf4", "bitsandbytes"},
      {"l.weight.quant_state.bitsandbytes__fp4", "bitsandbytes"},
      {"l.weight.quant_state.bitsandbytes__int8", "bitsandbytes"}};
  for (const auto& [tensor, name] : cases) EXPECT_EQ(named(tensor), name) << tensor;
  there = {"l.biases", "l.scales", "m.weights_scaling_factor"};
  for (const char* tensor : {"l.weight", "l.scales", "l.biases"}) EXPECT_EQ(named(tensor), "MLX");
  EXPECT_EQ(named("m.weight"), "TensorRT-LLM");
  EXPECT_EQ(named("m.weights_scaling_factor"), "TensorRT-LLM");
  EXPECT_EQ(named("n.weight"), "");
}

TEST(UnreadFormats, Files) {
  const std::pair<const char*, const char*> cases[] = {
      {"a.gguf", "GGUF"},
      {"model.onnx", "ONNX"},
      {"model.onnx_data", "ONNX"},
      {"openvino_model.bin", "OpenVINO"},
      {"openvino_model.xml", "OpenVINO"},
      {"rank0.engine", "TensorRT"},
      {"params_shard_0.bin", "MLC"},
      {"pytorch_model-00001-of-00002.bin", "PyTorch"},
      {"consolidated.00.pth", "PyTorch"},
      {"model.bin", "PyTorch (or another binary format)"},
      {"weights.00.npz", "MLX"},
      {"tf_model.h5", "TensorFlow"},
      {"model.safetensors", ""},
      {"config.json", ""},
      {"pom.xml", ""},
      {"training_args.bin", ""},
      {"optimizer.bin", ""},
      {"scheduler.bin", ""},
      {"scheduler.pt", ""},
      {"rng_state_0.pth", ""},
      {"tokenizer.model", ""}};
  for (const auto& [file, name] : cases)
    EXPECT_EQ(name_of(format_of_file_name(file)), name) << file;
  EXPECT_EQ(name_of(format_of_first_bytes("GGUF\3")), "GGUF");
  EXPECT_EQ(name_of(format_of_first_bytes("PK\3\4")), "PyTorch");
  EXPECT_EQ(name_of(format_of_first_bytes("{}")), "");
}

}  // namespace
}  // namespace heddle

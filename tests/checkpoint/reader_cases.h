// Small checkpoints of every form, as folders with a config.json, for the tests of
// CheckpointReader.
#ifndef HEDDLE_TESTS_CHECKPOINT_READER_CASES_H_
#define HEDDLE_TESTS_CHECKPOINT_READER_CASES_H_

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "heddle/checkpoint.h"
#include "heddle/error.h"
#include "tests/checkpoint/quantised_formats.h"
#include "tests/checkpoint/test_util.h"

namespace heddle {

// How the names of the first layer's feed-forward begin.
inline const std::string kMlp = "model.layers.0.mlp.";

struct ReaderCase {
  std::string name;
  std::string config;
  std::vector<TestTensor> tensors;
  // Options of CheckpointOptions:
  bool dense = false;
  int lm_head_bits = 0;

  CheckpointOptions options() const {
    CheckpointOptions options;
    options.dense = dense;
    options.lm_head_bits = lm_head_bits;
    return options;
  }
};

inline std::vector<std::uint8_t> some_bytes(std::size_t count, unsigned limit = 256) {
  std::mt19937 random(static_cast<unsigned>(count));
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random() % limit);
  return bytes;
}

inline std::vector<std::uint8_t> some_floats(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = 0.25F + static_cast<float>(i % 7) / 64;
  return bytes_of_values(values);
}

inline TestTensor some_halves(const std::string& name, std::vector<std::int64_t> shape) {
  std::size_t count = 1;
  for (const std::int64_t side : shape) count *= static_cast<std::size_t>(side);
  std::vector<std::uint16_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint16_t>(0x3001 + i % 900);
  return {name, TensorType::kF16, std::move(shape), bytes_of_values(values)};
}

inline void append(std::vector<TestTensor> from, std::vector<TestTensor>* to) {
  for (TestTensor& tensor : from) to->push_back(std::move(tensor));
}

// Attention that is fused, with a bias of which one part has none, in act-order if asked for; a
// down_proj of its own with a bias; and tensors that are no layers.
inline ReaderCase gptq_case(bool act_order) {
  ReaderCase made;
  made.name = act_order ? "GptqActOrder" : "Gptq";
  made.config =
      R"({"model_type": "llama", "torch_dtype": "float16", "hidden_size": 256,
          "num_attention_heads": 8, "num_key_value_heads": 4,
          "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 64,
                                  "sym": false, "desc_act": )" +
      std::string(act_order ? "true" : "false") + "}}";
  const std::string at = "model.layers.0.";
  std::vector<std::int32_t> order;
  for (const auto& [name, rows] : std::vector<std::pair<std::string, std::size_t>>{
           {"self_attn.q_proj", 64}, {"self_attn.k_proj", 32}, {"self_attn.v_proj", 32}}) {
    Layer layer = random_layer(rows, 256, 64, 4, act_order, static_cast<unsigned>(rows));
    if (order.empty()) order = layer.index;
    layer.index = order;
    append(gptq(layer, at + name, true), &made.tensors);
  }
  append(gptq(random_layer(40, 512, 64, 4, act_order), at + "mlp.down_proj", true), &made.tensors);
  made.tensors.push_back(some_halves(at + "self_attn.q_proj.bias", {64}));
  made.tensors.push_back(some_halves(at + "self_attn.v_proj.bias", {32}));
  made.tensors.push_back(some_halves(at + "mlp.down_proj.bias", {40}));
  made.tensors.push_back(some_halves("model.norm.weight", {256}));
  made.tensors.push_back({"model.norm.scale", TensorType::kF32, {3}, some_floats(3)});
  return made;
}

inline ReaderCase awq_case() {
  ReaderCase made{"Awq",
                  R"({"model_type": "llama", "torch_dtype": "float16",
                      "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 32,
                                              "zero_point": true, "version": "gemm"}})",
                  {}};
  for (const std::string name : {"gate_proj", "up_proj"}) {
    append(awq(random_layer(40, 96, 32, 4, false), kMlp + name), &made.tensors);
  }
  return made;
}

inline ReaderCase compressed_case() {
  ReaderCase made{"CompressedTensors",
                  R"({"model_type": "llama", "torch_dtype": "bfloat16",
                      "quantization_config": {
                        "quant_method": "compressed-tensors", "format": "pack-quantized",
                        "config_groups": {"group_0": {"targets": ["Linear"], "weights": {
                          "num_bits": 8, "type": "int", "strategy": "group", "group_size": 64,
                          "symmetric": false}}}}})",
                  {}};
  append(compressed(random_layer(24, 192, 64, 8, false), "model.layers.1.mlp.down_proj"),
         &made.tensors);
  return made;
}

// A scale to a row, which the packed layout keeps behind all rows, and one for the whole tensor.
inline ReaderCase fp8_case() {
  return {"Fp8",
          R"({"model_type": "llama", "torch_dtype": "bfloat16",
              "quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic"}})",
          {{"rows.weight", TensorType::kF8E4M3, {200, 128}, some_bytes(200 * 128)},
           {"rows.weight_scale", TensorType::kF32, {200, 1}, some_floats(200)},
           {"tensor.weight", TensorType::kF8E5M2, {72, 256}, some_bytes(72 * 256)},
           {"tensor.weight_scale", TensorType::kF32, {}, some_floats(1)},
           {"tensor.input_scale", TensorType::kF32, {}, some_floats(1)},
           {"conv.weight", TensorType::kF8E4M3, {16, 4, 4, 8}, some_bytes(16 * 128)},
           {"conv.weight_scale", TensorType::kF32, {16, 1, 1, 1}, some_floats(16)}}};
}

inline ReaderCase experts_case() {
  return {"Mxfp4Experts",
          R"({"model_type": "gpt_oss", "torch_dtype": "bfloat16",
              "quantization_config": {"quant_method": "mxfp4"}})",
          {{"e.down_proj_blocks", TensorType::kU8, {3, 40, 4, 16}, some_bytes(3 * 40 * 64)},
           {"e.down_proj_scales", TensorType::kU8, {3, 40, 4}, some_bytes(3 * 40 * 4, 130)},
           {"e.down_proj_bias", TensorType::kBf16, {3, 40}, some_bytes(3 * 40 * 2)}}};
}

// With a factor for the whole tensor, which the packed layout keeps behind all else.
inline ReaderCase nvfp4_case() {
  return {"Nvfp4",
          R"({"model_type": "llama", "torch_dtype": "bfloat16",
              "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}})",
          {{"l.weight", TensorType::kU8, {48, 64}, some_bytes(48 * 64)},
           {"l.weight_scale", TensorType::kF8E4M3, {48, 8}, some_bytes(48 * 8, 0x7F)},
           {"l.weight_scale_2", TensorType::kF32, {}, some_floats(1)},
           some_halves("l.pre_quant_scale", {128})}};
}

// Layers that are not quantised, with a bias of one part and a head that shares the embeddings.
inline ReaderCase plain_case(int lm_head_bits) {
  const std::string at = "model.layers.0.";
  return {lm_head_bits == 0 ? "Plain" : "QuantisedHead",
          R"({"model_type": "llama", "torch_dtype": "float16", "tie_word_embeddings": true,
              "hidden_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2})",
          {some_halves(at + "self_attn.q_proj.weight", {64, 96}),
           some_halves(at + "self_attn.k_proj.weight", {32, 96}),
           some_halves(at + "self_attn.v_proj.weight", {32, 96}),
           some_halves(at + "self_attn.v_proj.bias", {32}),
           some_halves(at + "mlp.gate_proj.weight", {80, 96}),
           some_halves(at + "mlp.up_proj.weight", {80, 96}),
           some_halves("model.embed_tokens.weight", {120, 96})},
          true,
          lm_head_bits};
}

inline std::vector<ReaderCase> reader_cases() {
  return {gptq_case(false), gptq_case(true), awq_case(),    compressed_case(), fp8_case(),
          experts_case(),   nvfp4_case(),    plain_case(0), plain_case(8)};
}

inline void write_case(const ReaderCase& made, const TemporaryFolder& folder) {
  write_file(folder / "config.json", made.config);
  write_tensors(folder / "model.safetensors", made.tensors);
}

template <class Work>
std::string code_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.code();
  }
  return {};
}

// Everything that the reader has, by name.
inline std::map<std::string, CheckpointTensor> all_tensors(const CheckpointReader& reader) {
  std::map<std::string, CheckpointTensor> all;
  const auto add = [&all](const CheckpointTensor& tensor) {
    EXPECT_TRUE(all.emplace(tensor.name, tensor).second) << tensor.name << " is there twice";
  };
  for (const CheckpointLayer& layer : reader.layers()) {
    add(layer.packed);
    for (const auto& companion :
         {layer.permutation, layer.bias, layer.pre_scale, layer.input_scale}) {
      if (companion) add(*companion);
    }
  }
  for (const CheckpointTensor& tensor : reader.tensors()) add(tensor);
  return all;
}

inline std::vector<std::uint8_t> read_in_pieces(const CheckpointReader& reader,
                                                const CheckpointTensor& tensor) {
  std::vector<std::uint8_t> bytes;
  reader.read(tensor, [&](std::size_t offset, const void* data, std::size_t count) {
    EXPECT_EQ(offset, bytes.size());
    EXPECT_GT(count, 0U);
    EXPECT_LE(count, CheckpointReader::kMostPieceBytes);
    const auto* from = static_cast<const std::uint8_t*>(data);
    bytes.insert(bytes.end(), from, from + count);
    return true;
  });
  return bytes;
}

class ReaderTest : public ::testing::Test {
 protected:
  void SetUp() override { write_case(gptq_case(false), folder_); }
  CheckpointReader open(const CheckpointOptions& options = {}) const {
    return CheckpointReader(folder_.path(), options);
  }

  TemporaryFolder folder_;
};

}  // namespace heddle

#endif  // HEDDLE_TESTS_CHECKPOINT_READER_CASES_H_

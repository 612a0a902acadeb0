// Small models of experts in every form that is packed, and what their matrices hold, worked out
// here without the library's layouts.
#ifndef HEDDLE_TESTS_CHECKPOINT_EXPERT_CASES_H_
#define HEDDLE_TESTS_CHECKPOINT_EXPERT_CASES_H_

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/codes/float_codes.h"
#include "generator/decode/float16.h"
#include "heddle/checkpoint.h"
#include "heddle/weights.h"
#include "tests/checkpoint/reader_cases.h"

namespace heddle {

using Values = std::vector<double>;  // [N, K] of a matrix, [N] of a bias

enum class ExpertForm { kGptq, kAwq, kCompressed, kFp8Rows, kFp8Blocks, kFp8Tensor, kNvfp4, kBf16 };

struct ExpertModel {
  std::string config;
  std::vector<TestTensor> tensors;
  std::map<std::string, Values> values;  // of modules, by their names
};

inline std::string scheme_json(ExpertForm form) {
  switch (form) {
    case ExpertForm::kGptq:
      return R"({"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": false,
                 "desc_act": false})";
    case ExpertForm::kAwq:
      return R"({"quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": true,
                 "version": "gemm"})";
    case ExpertForm::kCompressed:
      return R"({"quant_method": "compressed-tensors", "format": "pack-quantized",
                 "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4,
                   "type": "int", "strategy": "group", "group_size": 32, "symmetric": false}}}})";
    case ExpertForm::kFp8Blocks:
      return R"({"quant_method": "fp8", "weight_block_size": [128, 128]})";
    case ExpertForm::kFp8Rows:
    case ExpertForm::kFp8Tensor:
      return R"({"quant_method": "fp8", "activation_scheme": "dynamic"})";
    case ExpertForm::kNvfp4:
      return R"({"quant_method": "modelopt", "quant_algo": "NVFP4"})";
    case ExpertForm::kBf16:
      break;
  }
  return "";
}

inline float expert_scale(std::size_t i) { return 0.25F + static_cast<float>(i % 11) / 32; }

inline std::vector<std::uint8_t> float_bytes(float value) {
  return bytes_of_values(std::vector<float>{value});
}

// Bytes of finite codes, none alike along a row.
inline std::vector<std::uint8_t> finite_bytes(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& byte : bytes) {
    byte = static_cast<std::uint8_t>((random() % 2 == 0 ? 0x80 : 0) | random() % 0x60);
  }
  return bytes;
}

// A module of n x k in the form. `tensor_scale`: of the forms that have one.
inline void add_expert_module(ExpertForm form, const std::string& module, std::size_t n,
                              std::size_t k, float tensor_scale, ExpertModel* model) {
  const auto seed = static_cast<unsigned>(model->tensors.size() + 1);
  Values& values = model->values[module];
  values.resize(n * k);
  const std::int64_t rows = static_cast<std::int64_t>(n), columns = static_cast<std::int64_t>(k);
  if (form == ExpertForm::kGptq || form == ExpertForm::kAwq || form == ExpertForm::kCompressed) {
    const SampleLayer layer = random_layer(n, k, 32, 4, false, seed);
    append(form == ExpertForm::kGptq  ? gptq(layer, module, true)
           : form == ExpertForm::kAwq ? awq(layer, module)
                                      : compressed(layer, module),
           &model->tensors);
    for (std::size_t i = 0; i < n * k; ++i) {
      const std::size_t group = i / k * layer.groups() + i % k / 32;
      values[i] = (static_cast<double>(layer.codes[i]) - layer.zeros[group]) *
                  float16_to_double(kBinary16, layer.scales[group]);
    }
    return;
  }
  if (form == ExpertForm::kBf16) {
    std::vector<std::uint16_t> bits(n * k);
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < n * k; ++i) {
      bits[i] = static_cast<std::uint16_t>(0x3E00 + random() % 0x200);
      values[i] = float16_to_double(kBfloat16, bits[i]);
    }
    model->tensors.push_back(
        {module + ".weight", TensorType::kBf16, {rows, columns}, bytes_of_values(bits)});
    return;
  }
  if (form == ExpertForm::kNvfp4) {
    const std::vector<std::uint8_t> codes = finite_bytes(n * k / 2, seed);
    const std::vector<std::uint8_t> scales = some_bytes(n * k / 16, 0x70);
    for (std::size_t i = 0; i < n * k; ++i) {
      const auto code =
          static_cast<std::uint8_t>(i % 2 == 0 ? codes[i / 2] & 0xF : codes[i / 2] >> 4);
      values[i] = e2m1_value(code) * e4m3_value(scales[i / 16]) * tensor_scale;
    }
    model->tensors.push_back({module + ".weight", TensorType::kU8, {rows, columns / 2}, codes});
    model->tensors.push_back(
        {module + ".weight_scale", TensorType::kF8E4M3, {rows, columns / 16}, scales});
    model->tensors.push_back(
        {module + ".weight_scale_2", TensorType::kF32, {}, float_bytes(tensor_scale)});
    return;
  }
  const std::vector<std::uint8_t> codes = finite_bytes(n * k, seed);
  const std::size_t across = form == ExpertForm::kFp8Blocks ? (k + 127) / 128 : 1;
  const std::size_t down = form == ExpertForm::kFp8Blocks ? (n + 127) / 128
                           : form == ExpertForm::kFp8Rows ? n
                                                          : 1;
  std::vector<float> scales(down * across);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    scales[i] = form == ExpertForm::kFp8Tensor ? tensor_scale : expert_scale(i + seed);
  }
  for (std::size_t i = 0; i < n * k; ++i) {
    const std::size_t row = i / k, column = i % k;
    const std::size_t scale = form == ExpertForm::kFp8Blocks ? row / 128 * across + column / 128
                              : form == ExpertForm::kFp8Rows ? row
                                                             : 0;
    values[i] = e4m3_value(codes[i]) * scales[scale];
  }
  model->tensors.push_back({module + ".weight", TensorType::kF8E4M3, {rows, columns}, codes});
  const std::string suffix = form == ExpertForm::kFp8Blocks ? ".weight_scale_inv" : ".weight_scale";
  std::vector<std::int64_t> shape = {static_cast<std::int64_t>(down),
                                     static_cast<std::int64_t>(across)};
  if (form == ExpertForm::kFp8Tensor) shape.clear();
  model->tensors.push_back({module + suffix, TensorType::kF32, shape, bytes_of_values(scales)});
}

// What makes two models of one family differ.
struct ExpertNames {
  const char* model_type;
  const char* more;  // members of the config
  const char* at;    // what all experts of layer 0 are in
  std::vector<std::string> first;
  std::string down;
};
inline const ExpertNames kMixtralNames = {"mixtral",
                                          R"("num_local_experts": 3)",
                                          "model.layers.0.block_sparse_moe.experts",
                                          {"w1", "w3"},
                                          "w2"};
inline const ExpertNames kQwenNames = {
    "qwen3_moe",
    R"("num_experts": 3, "moe_intermediate_size": 64, "decoder_sparse_step": 1)",
    "model.layers.0.mlp.experts",
    {"gate_proj", "up_proj"},
    "down_proj"};

inline constexpr std::int64_t kExpertHidden = 128;
inline constexpr std::int64_t kExpertInner = 64;
inline constexpr std::int64_t kExperts = 3;

inline std::string expert_config(const ExpertNames& names, const std::string& scheme,
                                 const std::string& dtype = "bfloat16") {
  return R"({"model_type": ")" + std::string(names.model_type) +
         R"(", "hidden_size": 128, "intermediate_size": 64, "num_hidden_layers": 1,
            "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 96,
            "rms_norm_eps": 1e-6, "num_experts_per_tok": 2, "torch_dtype": ")" +
         dtype + R"(", )" + names.more +
         (scheme.empty() ? "" : R"(, "quantization_config": )" + scheme) + "}";
}

// A tensor for each matrix of each expert.
inline ExpertModel lone_experts(const ExpertNames& names, ExpertForm form) {
  ExpertModel model;
  model.config = expert_config(names, scheme_json(form));
  for (std::int64_t expert = 0; expert < kExperts; ++expert) {
    const std::string at = names.at + ("." + std::to_string(expert)) + ".";
    const float shared = expert_scale(static_cast<std::size_t>(expert)) / 64;
    for (const std::string& name : names.first) {
      // NVFP4 of one expert has one scale, FP8 per tensor one for each module.
      const bool own = form == ExpertForm::kFp8Tensor && name != names.first.front();
      add_expert_module(form, at + name, kExpertInner, kExpertHidden, own ? 3 * shared : shared,
                        &model);
    }
    add_expert_module(form, at + names.down, kExpertHidden, kExpertInner, shared, &model);
  }
  return model;
}

inline double value_of_code(const WeightSpec& weight, const QuantizedWeights& from, std::size_t i,
                            std::size_t k) {
  const auto group = static_cast<std::size_t>(std::max(weight.group_size, 1));
  const std::size_t index = weight.group_size == kPerTensor ? 0
                            : weight.group_size == kPerChannel
                                ? i / k
                                : i / k * ((k + group - 1) / group) + i % k / group;
  if (!weight.has_scales()) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, from.codes.data() + 2 * i, 2);
    return float16_to_double(weight.type == WeightType::kBf16 ? kBfloat16 : kBinary16, bits);
  }
  const std::uint8_t code = from.codes[i];
  double scale = 0;
  std::uint16_t half = 0;
  float single = 0;
  switch (weight.scale_dtype) {
    case DType::kE8m0:
      scale = std::ldexp(1.0, from.scales[index] - 127);
      break;
    case DType::kE4m3:
      scale = e4m3_value(from.scales[index]);
      break;
    case DType::kFp32:
      std::memcpy(&single, from.scales.data() + 4 * index, 4);
      scale = single;
      break;
    default:
      std::memcpy(&half, from.scales.data() + 2 * index, 2);
      scale = float16_to_double(weight.scale_dtype == DType::kBf16 ? kBfloat16 : kBinary16, half);
  }
  const double zero = weight.zero_point == ZeroPoint::kInt ? from.zeros[index]
                      : weight.type == WeightType::kUint   ? 1 << (weight.bits - 1)
                                                           : 0;
  const double plain = weight.type == WeightType::kE4m3   ? e4m3_value(code)
                       : weight.type == WeightType::kE2m1 ? e2m1_value(code)
                                                          : code - zero;
  return plain * scale * from.tensor_scale;
}

// Value by value: the stack's matrices are those of `experts`, each the rows of several modules.
inline void expect_stack(const CheckpointReader& reader, const std::string& name,
                         const std::vector<Values>& experts) {
  const CheckpointLayer& layer = reader.layer(name);
  ASSERT_EQ(layer.matrices, std::ssize(experts)) << name;
  const GemmSpec& gemm = layer.spec.gemm();
  const std::size_t each = weight_layout(gemm).total_bytes;
  ASSERT_EQ(layer.packed.bytes, each * experts.size());
  EXPECT_EQ(layer.packed.shape,
            (std::vector<std::int64_t>{std::ssize(experts), static_cast<std::int64_t>(each)}));
  std::vector<std::uint8_t> packed(layer.packed.bytes);
  reader.pack(layer, packed.data(), packed.size());
  const auto k = static_cast<std::size_t>(gemm.shape.k);
  for (std::size_t expert = 0; expert < experts.size(); ++expert) {
    const QuantizedWeights got = unpack_weights(gemm, packed.data() + expert * each, each);
    const Values& want = experts[expert];
    ASSERT_EQ(want.size(), static_cast<std::size_t>(gemm.shape.n) * k);
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(value_of_code(gemm.weight, got, i, k), want[i])
          << name << " expert " << expert << " row " << i / k << " column " << i % k;
    }
  }
}

inline Values part_of_stack(const Values& stack, std::int64_t expert, std::int64_t size) {
  const auto from = stack.begin() + expert * size;
  return {from, from + size};
}

inline Values joined_values(const std::vector<Values>& parts) {
  Values all;
  for (const Values& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_CHECKPOINT_EXPERT_CASES_H_

// Checkpoints with experts in a folder, and what is read of them: what the tests of stacks share.
#ifndef HEDDLE_TESTS_CHECKPOINT_EXPERT_STACKS_H_
#define HEDDLE_TESTS_CHECKPOINT_EXPERT_STACKS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cache/bytes.h"
#include "heddle/error.h"
#include "heddle/inspect/plan.h"
#include "tests/checkpoint/expert_cases.h"

namespace heddle {

class ExpertStacks : public ::testing::Test {
 protected:
  void write(const ExpertModel& model) { write_case({"", model.config, model.tensors}, folder_); }
  CheckpointReader open(bool dense = false) const {
    CheckpointOptions options;
    options.dense = dense;
    return CheckpointReader(folder_.path(), options);
  }
  // What a reader of the model throws; its code comes first.
  std::string refusal(const ExpertModel& model, bool dense = false) {
    write(model);
    try {
      open(dense);
    } catch (const Error& error) {
      return error.code() + ": " + error.what();
    }
    return "nothing was refused";
  }
  void expect_refusal(const ExpertModel& model, const std::vector<std::string>& words) {
    const std::string text = refusal(model);
    EXPECT_EQ(text.rfind("checkpoint.not_converted", 0), 0U) << text;
    for (const std::string& word : words) EXPECT_NE(text.find(word), std::string::npos) << text;
  }
  // The stacks of lone experts.
  static void expect_experts(const CheckpointReader& reader, const ExpertNames& names,
                             const ExpertModel& model) {
    ASSERT_EQ(reader.experts().size(), 1U);
    const CheckpointExperts& experts = reader.experts().front();
    EXPECT_EQ(experts.name, names.at);
    EXPECT_EQ(experts.gate_up, std::string(names.at) + ".gate_up_proj");
    EXPECT_EQ(experts.down, std::string(names.at) + ".down_proj");
    const MoeSpec& moe = experts.spec.moe();
    EXPECT_EQ(moe.shape.experts, kExperts);
    EXPECT_EQ(moe.shape.top_k, 2);
    EXPECT_EQ(moe.shape.hidden, kExpertHidden);
    EXPECT_EQ(moe.shape.intermediate, kExpertInner);
    EXPECT_TRUE(moe.epilogue.gated);
    EXPECT_EQ(moe.epilogue.activation, Activation::kSilu);
    const MoeGemms gemms = moe_gemms(moe);
    EXPECT_EQ(reader.layer(experts.gate_up).spec.canonical_json(),
              Spec::from_gemm(gemms.gate_up).canonical_json());
    EXPECT_EQ(reader.layer(experts.down).spec.canonical_json(),
              Spec::from_gemm(gemms.down).canonical_json());
    std::vector<Values> gate_up;
    std::vector<Values> down;
    for (std::int64_t expert = 0; expert < kExperts; ++expert) {
      const std::string at = names.at + ("." + std::to_string(expert)) + ".";
      gate_up.push_back(joined_values(
          {model.values.at(at + names.first[0]), model.values.at(at + names.first[1])}));
      down.push_back(model.values.at(at + names.down));
    }
    expect_stack(reader, experts.gate_up, gate_up);
    expect_stack(reader, experts.down, down);
  }

  static bool is_told(const std::vector<std::string>& notes, const std::string& word) {
    return std::any_of(notes.begin(), notes.end(),
                       [&](const std::string& note) { return note.find(word) != note.npos; });
  }

  TemporaryFolder folder_;
};

// Codes and scales of MXFP4 of `count` matrices.
inline Values add_mxfp4_stack(const std::string& name, std::int64_t n, std::int64_t k,
                              ExpertModel* model) {
  const auto size = static_cast<std::size_t>(kExperts * n * k);
  const std::vector<std::uint8_t> codes = finite_bytes(size / 2, static_cast<unsigned>(n));
  std::vector<std::uint8_t> scales = some_bytes(size / 32, 20);
  for (std::uint8_t& scale : scales) scale = static_cast<std::uint8_t>(scale + 110);
  Values values(size);
  for (std::size_t i = 0; i < size; ++i) {
    const auto code =
        static_cast<std::uint8_t>(i % 2 == 0 ? codes[i / 2] & 0xF : codes[i / 2] >> 4);
    values[i] = e2m1_value(code) * std::ldexp(1.0, scales[i / 32] - 127);
  }
  model->tensors.push_back({name + "_blocks", TensorType::kU8, {kExperts, n, k / 32, 16}, codes});
  model->tensors.push_back({name + "_scales", TensorType::kU8, {kExperts, n, k / 32}, scales});
  return values;
}

inline constexpr const char* kGptOssAt = "model.layers.0.mlp.experts";
inline const ExpertNames kGptOssNames = {
    "gpt_oss",
    R"("num_local_experts": 3, "sliding_window": 128, "swiglu_limit": 7.0)",
    kGptOssAt,
    {"gate_up_proj"},
    "down_proj"};

inline TestTensor stacked_bias(const std::string& name, std::int64_t rows) {
  const auto size = static_cast<std::size_t>(kExperts * rows);
  return {std::string(kGptOssAt) + "." + name + "_bias",
          TensorType::kBf16,
          {kExperts, rows},
          bytes_of_values(std::vector<std::uint16_t>(size, 0x3F80))};
}

// [experts, rows] of 16 bits.
inline Values bias_values(const CheckpointReader& reader, const std::string& layer) {
  const CheckpointTensor& tensor = reader.layer(layer).bias.value();
  std::vector<std::uint16_t> bits(tensor.bytes / 2);
  reader.read(tensor, bits.data(), tensor.bytes);
  Values values;
  for (const std::uint16_t one : bits) {
    values.push_back(
        float16_to_double(tensor.type == TensorType::kBf16 ? kBfloat16 : kBinary16, one));
  }
  return values;
}

inline void erase_module(const std::string& module, ExpertModel* model) {
  auto& all = model->tensors;
  all.erase(std::remove_if(
                all.begin(), all.end(),
                [&](const TestTensor& tensor) { return tensor.name.starts_with(module + "."); }),
            all.end());
}

}  // namespace heddle

#endif  // HEDDLE_TESTS_CHECKPOINT_EXPERT_STACKS_H_

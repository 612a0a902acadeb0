// Experts in stacks: their values, whatever the checkpoint has them in.
#include "tests/checkpoint/expert_stacks.h"

#include <algorithm>

#include "cache/bytes.h"
#include "checkpoint/checkpoint_model.h"
#include "checkpoint/modules/config_files.h"
#include "checkpoint/output/convert.h"
#include "heddle/inspect/plan.h"
#include "heddle/model.h"
#include "heddle/target.h"

namespace heddle {
namespace {

// Rows of expert `expert`, all gates first: even rows of the checkpoint, then the odd ones.
Values unpaired(const Values& stack, std::int64_t expert, std::int64_t n, std::int64_t k) {
  Values rows;
  for (const std::int64_t half : {0, 1}) {
    for (std::int64_t row = half; row < n; row += 2) {
      const auto from = stack.begin() + (expert * n + row) * k;
      rows.insert(rows.end(), from, from + k);
    }
  }
  return rows;
}

TEST_F(ExpertStacks, GptOssHasPairsOfRowsAndBiases) {
  const std::int64_t h = kExpertHidden, inner = kExpertInner;
  for (const bool half : {false, true}) {  // biases are rounded to what launches take
    ExpertModel model;
    model.config =
        expert_config(kGptOssNames, R"({"quant_method": "mxfp4"})", half ? "float16" : "bfloat16");
    const std::string at = std::string(kGptOssAt) + ".";
    const Values gate_up = add_mxfp4_stack(at + "gate_up_proj", 2 * inner, h, &model);
    const Values down = add_mxfp4_stack(at + "down_proj", h, inner, &model);
    Values gate_up_bias;
    Values down_bias;
    for (auto& [name, rows, bias] : {std::tuple{"gate_up_proj_bias", 2 * inner, &gate_up_bias},
                                     {"down_proj_bias", h, &down_bias}}) {
      std::vector<std::uint16_t> bits;
      for (std::int64_t i = 0; i < kExperts * rows; ++i) {
        bits.push_back(static_cast<std::uint16_t>(0x3E80 + i % 97));
        bias->push_back(float16_to_double(kBfloat16, bits.back()));
      }
      model.tensors.push_back(
          {at + name, TensorType::kBf16, {kExperts, rows}, bytes_of_values(bits)});
    }
    write(model);
    const CheckpointReader reader = open();
    EXPECT_TRUE(reader.tensors().empty());
    ASSERT_EQ(reader.experts().size(), 1U);
    const MoeSpec& moe = reader.experts().front().spec.moe();
    EXPECT_EQ(moe.epilogue.activation, Activation::kClampedSwiglu);
    EXPECT_EQ(moe.epilogue.limit, 7);
    EXPECT_TRUE(moe.epilogue.bias);
    EXPECT_EQ(moe.activation, half ? DType::kFp16 : DType::kBf16);
    std::vector<Values> want_gate_up;
    std::vector<Values> want_down;
    Values want_bias;
    for (std::int64_t expert = 0; expert < kExperts; ++expert) {
      want_gate_up.push_back(unpaired(gate_up, expert, 2 * inner, h));
      want_down.push_back(part_of_stack(down, expert, h * inner));
      const Values rows = unpaired(gate_up_bias, expert, 2 * inner, 1);
      want_bias.insert(want_bias.end(), rows.begin(), rows.end());
    }
    expect_stack(reader, at + "gate_up_proj", want_gate_up);
    expect_stack(reader, at + "down_proj", want_down);
    EXPECT_EQ(bias_values(reader, at + "gate_up_proj"), want_bias);
    EXPECT_EQ(bias_values(reader, at + "down_proj"), down_bias);
    // The second of two ranks: halves of gates and of ups; the first rank adds the bias of down.
    CheckpointOptions options;
    options.parallel = {1, 2};
    const CheckpointReader rank(folder_.path(), options);
    std::vector<Values> half_gate_up;
    for (const Values& all : want_gate_up) {
      half_gate_up.push_back(joined_values(
          {part_of_stack(all, 1, inner / 2 * h), part_of_stack(all, 3, inner / 2 * h)}));
    }
    expect_stack(rank, at + "gate_up_proj", half_gate_up);
    EXPECT_EQ(bias_values(rank, at + "down_proj"), Values(kExperts * h));
    Values half_bias;
    for (std::int64_t run = 1; run < 4 * kExperts; run += 2) {
      const Values part = part_of_stack(want_bias, run, inner / 2);
      half_bias.insert(half_bias.end(), part.begin(), part.end());
    }
    EXPECT_EQ(bias_values(rank, at + "gate_up_proj"), half_bias);
  }
}

// Stacks of 16 bits as Transformers has them: [E, N, K], of gpt-oss [E, K, N].
TEST_F(ExpertStacks, StacksOfSixteenBits) {
  const std::int64_t h = kExpertHidden, inner = kExpertInner;
  for (const bool turned : {false, true}) {
    const ExpertNames& names = turned ? kGptOssNames : kQwenNames;
    ExpertModel model;
    model.config = expert_config(names, "");
    std::vector<std::vector<Values>> stacks;  // by product, by expert: [N, K]
    for (const auto& [name, n, k] :
         {std::tuple{"gate_up_proj", 2 * inner, h}, {"down_proj", h, inner}}) {
      std::vector<std::uint16_t> bits(static_cast<std::size_t>(kExperts * n * k));
      std::vector<Values> experts;
      for (std::int64_t expert = 0; expert < kExperts; ++expert) {
        Values values(static_cast<std::size_t>(n * k));
        for (std::int64_t i = 0; i < n * k; ++i) {
          const auto one = static_cast<std::uint16_t>(0x3C00 + (i * 7 + expert * 3) % 0x3FF);
          const std::int64_t at = turned ? i % k * n + i / k : i;
          bits[static_cast<std::size_t>(expert * n * k + at)] = one;
          values[static_cast<std::size_t>(i)] = float16_to_double(kBfloat16, one);
        }
        experts.push_back(std::move(values));
      }
      stacks.push_back(std::move(experts));
      if (turned) model.tensors.push_back(stacked_bias(name, n));
      model.tensors.push_back({std::string(names.at) + "." + name, TensorType::kBf16,
                               turned ? std::vector{kExperts, k, n} : std::vector{kExperts, n, k},
                               bytes_of_values(bits)});
    }
    write(model);
    const CheckpointReader reader = open(true);
    ASSERT_EQ(reader.experts().size(), 1U) << names.model_type;
    if (turned) {
      for (Values& one : stacks[0]) one = unpaired(one, 0, 2 * inner, h);
    }
    expect_stack(reader, reader.experts()[0].gate_up, stacks[0]);
    expect_stack(reader, reader.experts()[0].down, stacks[1]);
  }
}

// A stack of gates and one of ups, as Step has them, in FP8.
TEST_F(ExpertStacks, StacksOfGatesAndOfUps) {
  const std::int64_t h = kExpertHidden, inner = kExpertInner;
  const ExpertNames names = {
      "step3p5",
      R"("moe_intermediate_size": 64, "share_expert_dim": 64, "moe_num_experts": 3,
         "num_attention_groups": 2, "moe_layers_enum": "0", "layer_types": ["full_attention"],
         "mlp_layer_types": ["sparse"])",
      "model.layers.0.moe",
      {"gate_proj", "up_proj"},
      "down_proj"};
  ExpertModel model;
  model.config = expert_config(names, scheme_json(ExpertForm::kFp8Blocks));
  std::map<std::string, Values> stacks;
  for (const auto& [name, n, k] :
       {std::tuple{"gate_proj", inner, h}, {"up_proj", inner, h}, {"down_proj", h, inner}}) {
    const std::string at = names.at + ("." + std::string(name));
    const auto size = static_cast<std::size_t>(kExperts * n * k);
    const std::vector<std::uint8_t> codes = finite_bytes(size, static_cast<unsigned>(n + name[0]));
    std::vector<float> scales(kExperts);
    for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = expert_scale(i + name[0]);
    Values values(size);
    for (std::size_t i = 0; i < size; ++i) {
      values[i] = e4m3_value(codes[i]) * scales[i / static_cast<std::size_t>(n * k)];
    }
    stacks[name] = std::move(values);
    model.tensors.push_back({at + ".weight", TensorType::kF8E4M3, {kExperts, n, k}, codes});
    model.tensors.push_back(
        {at + ".weight_scale_inv", TensorType::kF32, {kExperts, 1, 1}, bytes_of_values(scales)});
  }
  write(model);
  const CheckpointReader reader = open();
  ASSERT_EQ(reader.experts().size(), 1U);
  EXPECT_EQ(reader.experts()[0].gate_up, "model.layers.0.moe.gate_up_proj");
  std::vector<Values> gate_up;
  std::vector<Values> down;
  for (std::int64_t expert = 0; expert < kExperts; ++expert) {
    gate_up.push_back(joined_values({part_of_stack(stacks["gate_proj"], expert, inner * h),
                                     part_of_stack(stacks["up_proj"], expert, inner * h)}));
    down.push_back(part_of_stack(stacks["down_proj"], expert, inner * h));
  }
  expect_stack(reader, reader.experts()[0].gate_up, gate_up);
  expect_stack(reader, reader.experts()[0].down, down);
}

// Modules of their own, as Granite has them, in 16 bits.
TEST_F(ExpertStacks, StacksThatAreModules) {
  const std::int64_t h = kExpertHidden, inner = kExpertInner;
  const ExpertNames names = {"granitemoe",
                             R"("num_local_experts": 3, "embedding_multiplier": 1,
                                "logits_scaling": 1, "residual_multiplier": 1,
                                "attention_multiplier": 1)",
                             "model.layers.0.block_sparse_moe",
                             {"input_linear"},
                             "output_linear"};
  ExpertModel model;
  model.config = expert_config(names, "");
  std::map<std::string, std::vector<Values>> stacks;
  for (const auto& [name, n, k] :
       {std::tuple{"input_linear", 2 * inner, h}, {"output_linear", h, inner}}) {
    std::vector<std::uint16_t> bits;
    Values values;
    for (std::int64_t i = 0; i < kExperts * n * k; ++i) {
      bits.push_back(static_cast<std::uint16_t>(0x3C00 + (i * 13 + n) % 0x3FF));
      values.push_back(float16_to_double(kBfloat16, bits.back()));
    }
    for (std::int64_t expert = 0; expert < kExperts; ++expert) {
      stacks[name].push_back(part_of_stack(values, expert, n * k));
    }
    model.tensors.push_back({names.at + ("." + std::string(name)) + ".weight",
                             TensorType::kBf16,
                             {kExperts, n, k},
                             bytes_of_values(bits)});
  }
  write(model);
  const CheckpointReader reader = open(true);
  ASSERT_EQ(reader.experts().size(), 1U);
  EXPECT_EQ(reader.experts()[0].name, names.at);
  expect_stack(reader, "model.layers.0.block_sparse_moe.input_linear", stacks["input_linear"]);
  expect_stack(reader, "model.layers.0.block_sparse_moe.output_linear", stacks["output_linear"]);
}

}  // namespace
}  // namespace heddle

// What of experts is refused, missing or not served, by name.
#include <algorithm>
#include <functional>

#include "cache/bytes.h"
#include "checkpoint/checkpoint_model.h"
#include "checkpoint/modules/config_files.h"
#include "checkpoint/output/convert.h"
#include "heddle/error.h"
#include "heddle/model.h"
#include "tests/checkpoint/expert_stacks.h"

namespace heddle {
namespace {

// Zeros in place of a bias that a file has lost would be wrong results.
TEST_F(ExpertStacks, BiasesOfTheModelTypeAreThere) {
  const std::string at = std::string(kGptOssAt) + ".";
  for (const auto& [lost, other, rows] : {std::tuple{"gate_up_proj", "down_proj", kExpertHidden},
                                          {"down_proj", "gate_up_proj", 2 * kExpertInner}}) {
    ExpertModel model;
    model.config = expert_config(kGptOssNames, R"({"quant_method": "mxfp4"})");
    add_mxfp4_stack(at + "gate_up_proj", 2 * kExpertInner, kExpertHidden, &model);
    add_mxfp4_stack(at + "down_proj", kExpertHidden, kExpertInner, &model);
    model.tensors.push_back(stacked_bias(other, rows));
    expect_refusal(model, {"the tensor " + at + lost + "_bias is missing", "have biases"});
  }
}

TEST_F(ExpertStacks, WhatDoesNotFitIsRefusedByName) {
  const std::string at = std::string(kQwenNames.at) + ".";
  struct Case {
    const char* what;
    std::function<void(ExpertModel*)> change;
    std::vector<std::string> words;
  };
  const Case cases[] = {
      {"one is missing",
       [&](ExpertModel* model) { erase_module(at + "1.up_proj", model); },
       {"mlp.experts", "1 of 3 experts have no up_proj", ": 1 (/num_experts is 3)"}},
      {"one is too many",
       [&](ExpertModel* model) {
         add_expert_module(ExpertForm::kNvfp4, at + "3.down_proj", kExpertHidden, kExpertInner, 1,
                           model);
       },
       {"the config says 3 experts", "down_proj of 3 (/num_experts is 3)"}},
      {"one has another shape",
       [&](ExpertModel* model) {
         erase_module(at + "2.down_proj", model);
         add_expert_module(ExpertForm::kNvfp4, at + "2.down_proj", 2 * kExpertHidden, kExpertInner,
                           1, model);
       },
       {"experts.2.down_proj", "not as", "experts.0.down_proj", "/shape/n is 256, not 128"}},
      {"one is quantised in another way",
       [&](ExpertModel* model) {
         erase_module(at + "2.down_proj", model);
         add_expert_module(ExpertForm::kFp8Rows, at + "2.down_proj", kExpertHidden, kExpertInner, 1,
                           model);
       },
       {"experts.2.down_proj", "not as"}},
      {"no ups",
       [&](ExpertModel* model) {
         for (const char* expert : {"0", "1", "2"}) erase_module(at + expert + ".up_proj", model);
       },
       {"a gate to pack, but no up"}},
  };
  for (const char* stray : {"-1", "x", "0.0", "99999999999999999999"}) {
    ExpertModel model = lone_experts(kQwenNames, ExpertForm::kNvfp4);
    const std::string module = at + stray + ".gate_proj";
    add_expert_module(ExpertForm::kNvfp4, module, kExpertInner, kExpertHidden, 1, &model);
    expect_refusal(model, {module + " is none of its experts 0 to 2"});
  }
  for (const Case& one : cases) {
    ExpertModel model = lone_experts(kQwenNames, ExpertForm::kNvfp4);
    one.change(&model);
    const std::string text = refusal(model);
    EXPECT_EQ(text.rfind("checkpoint.not_converted", 0), 0U) << one.what << ": " << text;
    for (const std::string& word : one.words) {
      EXPECT_NE(text.find(word), std::string::npos) << one.what << ": " << text;
    }
  }
}

// Factors of columns, and what no moe computes: the tensors stay as they are, with the reason.
TEST_F(ExpertStacks, WhatNoKernelTakesIsUnserved) {
  ExpertModel scaled = lone_experts(kQwenNames, ExpertForm::kGptq);
  for (const char* expert : {".0", ".1", ".2"}) {
    scaled.tensors.push_back(some_halves(
        kQwenNames.at + std::string(expert) + ".down_proj.pre_quant_scale", {kExpertInner}));
  }
  ExpertNames other = kQwenNames;
  const std::string tanh = std::string(kQwenNames.more) + R"(, "hidden_act": "tanh")";
  other.more = tanh.c_str();
  ExpertModel unknown = lone_experts(other, ExpertForm::kGptq);
  for (const auto& [model, word] :
       {std::pair{&scaled, "pre_quant_scale"}, {&unknown, "\"tanh\""}}) {
    write(*model);
    const CheckpointReader reader = open();
    EXPECT_TRUE(reader.layers().empty());
    ASSERT_EQ(reader.unserved().size(), 2U);
    EXPECT_NE(reader.unserved()[0].reason.find(word), std::string::npos)
        << reader.unserved()[0].reason;
    EXPECT_EQ(reader.unserved()[1].name, std::string(kQwenNames.at) + ".gate_up_proj");
    EXPECT_EQ(reader.tensors().size(), model->tensors.size());
  }
}

// Tensors of another form of an expert's weights are no weights that are missing.
TEST_F(ExpertStacks, AProductThatIsMissingIsNoPlainOne) {
  const std::string at = std::string(kQwenNames.at) + ".";
  for (const bool plain : {false, true}) {
    ExpertModel model = lone_experts(kQwenNames, ExpertForm::kGptq);
    for (const char* expert : {"0", "1", "2"}) {
      const std::string down = at + expert + ".down_proj";
      erase_module(down, &model);
      if (plain) add_expert_module(ExpertForm::kBf16, down, kExpertHidden, kExpertInner, 1, &model);
    }
    write(model);
    // A shard may have the other product in another one.
    const std::string shard = folder_ / "model-00001-of-00002.safetensors";
    std::filesystem::copy_file(folder_ / "model.safetensors", shard);
    const CheckpointReader reader(shard);
    std::filesystem::remove(shard);
    ASSERT_EQ(reader.unserved().size(), 1U);
    const std::string& why = reader.unserved()[0].reason;
    EXPECT_EQ(why.find("has no tensor of the second product") != why.npos, !plain) << why;
    EXPECT_EQ(why.find("not quantised") != why.npos, plain) << why;
    EXPECT_EQ(is_told(reader.notes(), "has no tensor of 1 "), !plain);
    if (plain) {
      EXPECT_EQ(open().unserved().size(), 1U);
    } else {
      expect_refusal(model, {at + "down_proj: the checkpoint has no tensor of this product"});
    }
  }
}

// Also of a checkpoint that is quantised: whoever asks for dense layers is told of them, too.
TEST_F(ExpertStacks, AShardWithoutTheExpertsOfALayerTellsThem) {
  ExpertModel model = lone_experts(kQwenNames, ExpertForm::kGptq);
  for (const char* expert : {"0", "1", "2"}) {
    erase_module(kQwenNames.at + ("." + std::string(expert)), &model);
  }
  const SampleLayer layer = random_layer(kExpertHidden, kExpertHidden, 32, 4, false, 1);
  append(gptq(layer, "model.layers.0.self_attn.o_proj", true), &model.tensors);
  write(model);
  const std::string shard = folder_ / "model-00001-of-00002.safetensors";
  std::filesystem::rename(folder_ / "model.safetensors", shard);
  EXPECT_TRUE(
      is_told(CheckpointReader(shard).notes(), std::string(kQwenNames.at) + ".gate_up_proj"));
  const CheckpointConfig config = read_checkpoint_config(model.config);
  const Model made = model_of_checkpoint(Checkpoint(shard), config, {});
  const auto lost = std::count_if(made.layers.begin(), made.layers.end(), [](const auto& one) {
    return one.kernel < 0 && one.kind == ModelLayer::Kind::kExperts && one.matrices == kExperts &&
           one.reason == "the checkpoint has no tensor of it";
  });
  EXPECT_EQ(lost, 2);
}

// Their biases of all zeros, which some quantisers write, are none.
TEST_F(ExpertStacks, BiasesOfLoneExperts) {
  const std::string at = std::string(kQwenNames.at) + ".";
  ExpertModel model = lone_experts(kQwenNames, ExpertForm::kGptq);
  for (const char* name : {"0.gate_proj.bias", "1.up_proj.bias"}) {
    model.tensors.push_back(
        {at + name, TensorType::kF16, {kExpertInner}, std::vector<std::uint8_t>(2 * kExpertInner)});
  }
  write(model);
  EXPECT_FALSE(open().experts()[0].spec.moe().epilogue.bias);
  EXPECT_TRUE(open().tensors().empty());
  model.tensors.push_back({at + "2.up_proj.bias",
                           TensorType::kF32,
                           {kExpertInner},
                           bytes_of_values(std::vector<float>(kExpertInner, 1.5F))});
  // One expert has it, the others not.
  expect_refusal(model, {at + "0.up_proj.bias is missing", "there is " + at + "2.up_proj.bias"});
  const TestTensor last = model.tensors.back();
  model.tensors.pop_back();
  TestTensor zeros = last;
  zeros.name = at + "0.up_proj.bias";
  zeros.bytes.assign(zeros.bytes.size(), 0);
  model.tensors.push_back(zeros);
  model.tensors.push_back(last);
  write(model);
  const CheckpointReader reader = open();
  EXPECT_TRUE(reader.experts()[0].spec.moe().epilogue.bias);
  Values want(2 * kExperts * kExpertInner);
  std::fill(want.end() - kExpertInner, want.end(), 1.5);
  EXPECT_EQ(bias_values(reader, at + "gate_up_proj"), want);
  EXPECT_EQ(bias_values(reader, at + "down_proj"), Values(kExperts * kExpertHidden));
  // Beyond what 16 bits hold.
  model.config = expert_config(kQwenNames, scheme_json(ExpertForm::kGptq), "float16");
  model.tensors.back().bytes = bytes_of_values(std::vector<float>(kExpertInner, 1e30F));
  write(model);
  const CheckpointReader large = open();
  EXPECT_THROW(bias_values(large, at + "gate_up_proj"), Error);
}

}  // namespace
}  // namespace heddle

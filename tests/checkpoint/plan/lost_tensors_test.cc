// Tensors that a layer needs and that the checkpoint lacks are refused by name.
#include <algorithm>

#include "checkpoint/output/convert.h"
#include "heddle/error.h"
#include "tests/checkpoint/expert_stacks.h"
#include "tools/sample_model/sample_model.h"

namespace heddle {
namespace {

class LostTensors : public ExpertStacks {
 protected:
  static SampleOptions small(SampleFamily family) {
    SampleOptions options;
    options.family = family;
    options.method = family == SampleFamily::kGptOss ? SampleMethod::kMxfp4 : SampleMethod::kGptq;
    options.experts = 4;
    options.bf16 = family == SampleFamily::kGptOss;
    options.sizes.layers = 2;
    return options;
  }
  // A sample without the tensors that begin so.
  static ExpertModel without(const SampleOptions& options, const std::string& lost) {
    ExpertModel model;
    model.config = sample_config(options).dump();
    model.tensors = sample_weights(options).tensors;
    auto& all = model.tensors;
    all.erase(std::remove_if(all.begin(), all.end(),
                             [&](const TestTensor& tensor) {
                               return !lost.empty() && tensor.name.starts_with(lost);
                             }),
              all.end());
    return model;
  }
  CheckpointReader chosen(const std::vector<std::string>& keep,
                          const std::vector<std::string>& skip) const {
    CheckpointOptions options;
    options.choice = {keep, skip};
    return CheckpointReader(folder_.path(), options);
  }
};

TEST_F(LostTensors, BiasesAndSinksOfGptOss) {
  const SampleOptions options = small(SampleFamily::kGptOss);
  write(without(options, ""));
  EXPECT_EQ(open().experts().size(), 2U);
  EXPECT_EQ(open(true).experts().size(), 2U);
  const std::string at = "model.layers.1.";
  for (const char* name :
       {"mlp.router.bias", "self_attn.sinks", "self_attn.q_proj.bias", "self_attn.o_proj.bias"}) {
    const ExpertModel model = without(options, at + name);
    const std::string module = at + std::string(name).substr(0, std::string(name).rfind('.'));
    expect_refusal(model, {module, "the tensor " + at + name + " is missing", "by the config"});
    EXPECT_NE(refusal(model, true).find(at + name + " is missing"), std::string::npos);
    // Who keeps or leaves out the module answers for it.
    EXPECT_EQ(chosen({module}, {}).experts().size(), 2U) << name;
    EXPECT_EQ(chosen({}, {module}).experts().size(), 2U) << name;
  }
  ExpertModel model = without(options, "");
  for (TestTensor& tensor : model.tensors) {
    if (tensor.name != at + "self_attn.sinks") continue;
    tensor.bytes.resize(tensor.bytes.size() / 2);
    tensor.shape.front() /= 2;
  }
  expect_refusal(model, {at + "self_attn", "sinks is BF16", "expected one value for each of"});
}

// Codes that are not there leave scales, which are no codes.
TEST_F(LostTensors, CodesOfExperts) {
  const std::string at = "model.layers.1.mlp.experts.";
  const ExpertModel model = without(small(SampleFamily::kGptOss), at + "gate_up_proj_blocks");
  const std::string text = refusal(model);
  EXPECT_NE(text.find("gate_up_proj_scales U8 [4, 1024, 8] is a scale without its weight"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("codes whose scales"), std::string::npos) << text;
}

// The config says nothing of these: one layer has lost what the other has.
TEST_F(LostTensors, ABiasThatTheOtherLayersHave) {
  SampleOptions options = small(SampleFamily::kQwen3);
  ExpertModel model = without(options, "");
  const std::string lost = "model.layers.1.self_attn.o_proj";
  const auto rows = static_cast<std::int64_t>(options.sizes.hidden);
  TestTensor bias = {"model.layers.0.self_attn.o_proj.bias",
                     TensorType::kF16,
                     {rows},
                     std::vector<std::uint8_t>(static_cast<std::size_t>(2 * rows))};
  model.tensors.push_back(bias);
  write(model);
  EXPECT_EQ(open().experts().size(), 2U) << "quantisers write zeros for none";
  model.tensors.back().bytes.front() = 1;
  expect_refusal(model,
                 {lost + ": the tensor " + lost + ".bias is missing", "there is " + bias.name});
}

TEST_F(LostTensors, ExpertsOfALayer) {
  const std::string at = "model.layers.1.mlp.experts";
  const SampleOptions options = small(SampleFamily::kQwen3);
  const ExpertModel model = without(options, at);
  expect_refusal(model, {at + ".gate_up_proj", at + ".down_proj", "no tensor of this product of 4",
                         "/num_experts is 4"});
  // Without the layers' own list, too.
  CheckpointOptions apart;
  apart.fuse = false;
  EXPECT_THROW(CheckpointReader(folder_.path(), apart), Error);
  // A part of the model: the rest of the layer is left out, or one shard is named.
  EXPECT_EQ(chosen({}, {"model.layers.1"}).experts().size(), 1U);
  const std::string shard = folder_ / "model-00001-of-00002.safetensors";
  std::filesystem::copy_file(folder_ / "model.safetensors", shard);
  EXPECT_TRUE(is_told(CheckpointReader(shard).notes(), at + ".gate_up_proj"));
  std::filesystem::rename(shard, folder_ / "model-00001-of-00001.safetensors");
  EXPECT_THROW(CheckpointReader(folder_ / "model-00001-of-00001.safetensors"), Error);
  // A whole layer.
  expect_refusal(without(options, "model.layers.1"), {at + ".gate_up_proj"});
}

// Both sides of both products; larger ones may be padded.
TEST_F(LostTensors, ExpertsThatAreSmallerThanTheConfigSays) {
  const struct {
    const char* more;
    const char* text;
  } cases[] = {
      {R"("num_experts": 3, "moe_intermediate_size": 128)",
       "its weights are 64 x 128, but the config says 128 x 128 (/moe_intermediate_size)"},
      {R"("num_experts": 3, "moe_intermediate_size": 64, "hidden_size": 256)",
       "its weights are 64 x 128, but the config says 64 x 256 (/hidden_size)"},
  };
  for (const auto& one : cases) {
    ExpertNames names = kQwenNames;
    names.more = one.more;
    ExpertModel model = lone_experts(names, ExpertForm::kGptq);
    const std::string first = R"("hidden_size": 128, )";
    if (std::string(one.more).find("hidden_size") != std::string::npos) {
      model.config.erase(model.config.find(first), first.size());
    }
    expect_refusal(model, {std::string(names.at) + ".0.gate_proj", one.text});
    CheckpointOptions apart;
    apart.fuse = false;
    EXPECT_THROW(CheckpointReader(folder_.path(), apart), Error) << one.text;
  }
  ExpertNames padded = kQwenNames;
  padded.more = R"("num_experts": 3, "moe_intermediate_size": 48)";
  write(lone_experts(padded, ExpertForm::kGptq));
  EXPECT_TRUE(is_told(open().notes(), "but the config says 48 x 128"));
  // Stacks of a model type that has its experts alone.
  const std::string at = std::string(kQwenNames.at) + ".";
  ExpertModel stacks;
  ExpertNames wide = kQwenNames;
  wide.more = R"("num_experts": 3, "moe_intermediate_size": 128)";
  stacks.config = expert_config(wide, R"({"quant_method": "mxfp4"})");
  add_mxfp4_stack(at + "gate_up_proj", 2 * kExpertInner, kExpertHidden, &stacks);
  add_mxfp4_stack(at + "down_proj", kExpertHidden, kExpertInner, &stacks);
  expect_refusal(stacks,
                 {at + "gate_up_proj", "its weights are 128 x 128, but the config says 256 x 128"});
}

}  // namespace
}  // namespace heddle

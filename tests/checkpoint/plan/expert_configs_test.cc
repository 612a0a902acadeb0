// Configs that do not fit the experts of their checkpoint, or do not say what a moe needs.
#include <algorithm>

#include "heddle/error.h"
#include "tests/checkpoint/expert_stacks.h"

namespace heddle {
namespace {

ExpertNames with_more(ExpertNames names, const char* more) {
  names.more = more;
  return names;
}

// Gemms in place of a layer of experts would be another model without a word.
TEST_F(ExpertStacks, ExpertsInLayersThatHaveNoneByTheConfigAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("num_experts": 3, "moe_intermediate_size": 64, "mlp_only_layers": [0])",
       "/mlp_only_layers is [0]"},
      {R"("num_experts": 3, "moe_intermediate_size": 64, "decoder_sparse_step": 2)",
       "/decoder_sparse_step is 2"},
      {R"("num_experts": 0, "moe_intermediate_size": 64)", "/num_experts is 0"},
  };
  for (const auto& [more, field] : cases) {
    const ExpertModel lone = lone_experts(with_more(kQwenNames, more), ExpertForm::kGptq);
    expect_refusal(lone, {kQwenNames.at, "layers such as 0 have none", field});
    ExpertModel stacks;
    stacks.config = expert_config(with_more(kQwenNames, more), R"({"quant_method": "mxfp4"})");
    const std::string at = std::string(kQwenNames.at) + ".";
    add_mxfp4_stack(at + "gate_up_proj", 2 * kExpertInner, kExpertHidden, &stacks);
    add_mxfp4_stack(at + "down_proj", kExpertHidden, kExpertInner, &stacks);
    expect_refusal(stacks, {kQwenNames.at, "layers such as 0 have none", field});
    // Nothing tells which side of such a stack is K, also where every matrix stays alone.
    ExpertModel plain;
    plain.config = expert_config(with_more(kQwenNames, more), "");
    plain.tensors.push_back(
        {at + "down_proj",
         TensorType::kBf16,
         {kExperts, kExpertHidden, kExpertInner},
         std::vector<std::uint8_t>(2 * kExperts * kExpertHidden * kExpertInner)});
    write(plain);
    for (const bool fuse : {false, true}) {
      CheckpointOptions options;
      options.dense = true;
      options.fuse = fuse;
      try {
        const CheckpointReader reader(folder_.path(), options);
        ADD_FAILURE() << "read: " << reader.layers().size() << " layers";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), "checkpoint.not_converted");
        EXPECT_NE(std::string(error.what()).find(field), std::string::npos) << error.what();
      }
    }
  }
}

TEST_F(ExpertStacks, LayersThatHaveExpertsByTheConfigAloneAreRefused) {
  ExpertModel model;
  model.config = expert_config(kQwenNames, scheme_json(ExpertForm::kGptq));
  const std::string at = "model.layers.0.mlp.";
  add_expert_module(ExpertForm::kGptq, at + "down_proj", kExpertHidden, kExpertInner, 1, &model);
  expect_refusal(model,
                 {"model.layers.0.mlp.experts.gate_up_proj: the checkpoint has no tensor of "
                  "this product of 3 experts (/num_experts is 3, /decoder_sparse_step is 1)"});
}

// Gemms are right for what they are; the note says what the moe would have needed.
TEST_F(ExpertStacks, ExpertsThatArePackedAloneAreTold) {
  const auto expect_alone = [&](const ExpertModel& model, const std::vector<std::string>& words) {
    write(model);
    const CheckpointReader reader = open();
    EXPECT_TRUE(reader.experts().empty());
    EXPECT_FALSE(reader.layers().empty());
    const std::vector<std::string>& notes = reader.notes();
    const auto note = std::find_if(notes.begin(), notes.end(), [](const std::string& one) {
      return one.find("are packed alone, each for a gemm: ") != one.npos;
    });
    ASSERT_NE(note, notes.end()) << words.back();
    for (const std::string& word : words) EXPECT_NE(note->find(word), note->npos) << *note;
    CheckpointOptions apart;  // whoever asks for it is told nothing
    apart.fuse = false;
    EXPECT_FALSE(is_told(CheckpointReader(folder_.path(), apart).notes(), "packed alone"));
  };
  const auto qwen = [](const char* more) {
    return lone_experts(with_more(kQwenNames, more), ExpertForm::kGptq);
  };
  expect_alone(qwen(R"("num_experts": null, "moe_intermediate_size": 64)"),
               {"experts such as model.layers.0.mlp.experts.0.", "/num_experts is null"});
  expect_alone(qwen(R"("num_experts": 3)"), {"/moe_intermediate_size: the field is required"});
  expect_alone(
      qwen(R"("num_experts": 3, "moe_intermediate_size": 64, "add_cross_attention": true)"),
      {"/add_cross_attention: "});
  // Of a config that lacks the fields stacks are told as well.
  ExpertModel stacks;
  stacks.config = expert_config(with_more(kGptOssNames, R"("sliding_window": 128)"),
                                R"({"quant_method": "mxfp4"})");
  add_mxfp4_stack(std::string(kGptOssAt) + ".down_proj", kExpertHidden, kExpertInner, &stacks);
  expect_alone(stacks, {"/num_local_experts: the field is required"});
  // The names of a model that has the language model inside.
  ExpertNames inner = kQwenNames;
  const std::string at = "language_model." + std::string(kQwenNames.at);
  inner.at = at.c_str();
  expect_alone(lone_experts(inner, ExpertForm::kGptq),
               {at, R"(/model_type, "qwen3_moe")", "in model.layers, not in language_model.model"});
  // A model type that has stacks alone.
  ExpertNames alone = kGptOssNames;
  alone.first = {"gate_proj", "up_proj"};
  expect_alone(lone_experts(alone, ExpertForm::kGptq),
               {std::string(kGptOssAt) + ".0.", R"(/model_type "gpt_oss")", "as stacks"});
}

TEST_F(ExpertStacks, ALoneExpertBesideStacksIsRefused) {
  const std::string at = std::string(kGptOssAt) + ".";
  ExpertModel model;
  model.config = expert_config(kGptOssNames, R"({"quant_method": "mxfp4"})");
  add_mxfp4_stack(at + "gate_up_proj", 2 * kExpertInner, kExpertHidden, &model);
  add_mxfp4_stack(at + "down_proj", kExpertHidden, kExpertInner, &model);
  for (const auto& [name, rows] :
       {std::pair{"gate_up_proj", 2 * kExpertInner}, {"down_proj", kExpertHidden}}) {
    model.tensors.push_back(stacked_bias(name, rows));
  }
  write(model);
  EXPECT_EQ(open().experts().size(), 1U);
  add_mxfp4_stack(at + "3.down_proj", kExpertHidden, kExpertInner, &model);
  expect_refusal(model, {kGptOssAt, at + "3.down_proj is none of its experts 0 to 2"});
}

}  // namespace
}  // namespace heddle

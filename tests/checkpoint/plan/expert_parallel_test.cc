// Ranks that share experts: each has a run of the stacks, whole, and the moe that says which.
#include <algorithm>
#include <vector>

#include "checkpoint/checkpoint_model.h"
#include "checkpoint/modules/config_files.h"
#include "checkpoint/output/convert.h"
#include "heddle/error.h"
#include "heddle/model.h"
#include "tests/checkpoint/expert_stacks.h"

namespace heddle {
namespace {

// Three experts: ranks of one each.
constexpr std::int64_t kRanks = 3;

class ExpertParallelTest : public ExpertStacks {
 protected:
  CheckpointReader rank(std::int64_t one, std::int64_t size = kRanks, bool dense = false) const {
    CheckpointOptions options;
    options.expert_parallel = {one, size};
    options.dense = dense;
    return CheckpointReader(folder_.path(), options);
  }
  std::string refused(const CheckpointOptions& options) const {
    try {
      const CheckpointReader reader(folder_.path(), options);
      return "nothing was refused";
    } catch (const Error& error) {
      return error.code() + ": " + error.what();
    }
  }
  static std::vector<std::uint8_t> bytes_of(const CheckpointReader& reader,
                                            const std::string& layer) {
    const CheckpointLayer& one = reader.layer(layer);
    std::vector<std::uint8_t> bytes(one.packed.bytes);
    reader.pack(one, bytes.data(), bytes.size());
    return bytes;
  }
  // What all ranks have is, one after the other, what a reader of all experts has.
  void expect_runs(bool dense) {
    const CheckpointReader whole = open(dense);
    ASSERT_EQ(whole.experts().size(), 1U);
    const CheckpointExperts& all = whole.experts().front();
    for (const std::string& layer : {all.gate_up, all.down}) {
      std::vector<std::uint8_t> joined;
      std::size_t source = 0;
      for (std::int64_t one = 0; one < kRanks; ++one) {
        const CheckpointReader part = rank(one, kRanks, dense);
        EXPECT_EQ(part.layer(layer).matrices, kExperts / kRanks);
        EXPECT_EQ(part.layer(layer).spec.canonical_json(),
                  whole.layer(layer).spec.canonical_json());
        const std::vector<std::uint8_t> bytes = bytes_of(part, layer);
        joined.insert(joined.end(), bytes.begin(), bytes.end());
        source += part.layer(layer).source_bytes;
        EXPECT_EQ(part.tensors().size(), whole.tensors().size())
            << "experts of other ranks are no tensors of their own";
      }
      EXPECT_EQ(joined, bytes_of(whole, layer));
      EXPECT_EQ(source, whole.layer(layer).source_bytes);
    }
  }
};

class SharedExpertForms : public ExpertParallelTest,
                          public ::testing::WithParamInterface<ExpertForm> {};

TEST_P(SharedExpertForms, RanksHaveRunsOfTheStacks) {
  write(lone_experts(kQwenNames, GetParam()));
  expect_runs(GetParam() == ExpertForm::kBf16);
}

INSTANTIATE_TEST_SUITE_P(All, SharedExpertForms,
                         ::testing::Values(ExpertForm::kGptq, ExpertForm::kFp8Blocks,
                                           ExpertForm::kFp8Tensor, ExpertForm::kNvfp4,
                                           ExpertForm::kBf16));

TEST_F(ExpertParallelTest, StacksAndTheirBiasesHaveRuns) {
  const std::string at = std::string(kGptOssAt) + ".";
  ExpertModel model;
  model.config = expert_config(kGptOssNames, R"({"quant_method": "mxfp4"})");
  add_mxfp4_stack(at + "gate_up_proj", 2 * kExpertInner, kExpertHidden, &model);
  add_mxfp4_stack(at + "down_proj", kExpertHidden, kExpertInner, &model);
  for (const auto& [name, rows] :
       {std::pair{"gate_up_proj", 2 * kExpertInner}, {"down_proj", kExpertHidden}}) {
    TestTensor bias = stacked_bias(name, rows);
    for (std::size_t i = 0; i < bias.bytes.size(); i += 2) {
      bias.bytes[i] = static_cast<std::uint8_t>(i / 2 % 127);
    }
    model.tensors.push_back(std::move(bias));
  }
  write(model);
  expect_runs(false);
  for (const char* name : {"gate_up_proj", "down_proj"}) {
    Values joined;
    for (std::int64_t one = 0; one < kRanks; ++one) {
      const Values part = bias_values(rank(one), at + name);
      joined.insert(joined.end(), part.begin(), part.end());
    }
    EXPECT_EQ(joined, bias_values(open(), at + name));
  }
}

// Rows of gates and ups follow the columns of each expert's own second matrix.
TEST_F(ExpertParallelTest, OrdersOfColumnsHaveRuns) {
  ExpertModel model;
  model.config = expert_config(kQwenNames, R"({"quant_method": "gptq", "bits": 4,
      "group_size": 32, "sym": false, "desc_act": true})");
  for (std::int64_t expert = 0; expert < kExperts; ++expert) {
    const std::string at = kQwenNames.at + ("." + std::to_string(expert)) + ".";
    const auto seed = static_cast<unsigned>(expert + 1);
    const SampleLayer gate = random_layer(kExpertInner, kExpertHidden, 32, 4, true, seed);
    append(gptq(gate, at + "gate_proj", true), &model.tensors);
    append(gptq(gate, at + "up_proj", true), &model.tensors);
    append(
        gptq(random_layer(kExpertHidden, kExpertInner, 32, 4, true, seed), at + "down_proj", true),
        &model.tensors);
  }
  write(model);
  expect_runs(false);
  const auto order_of = [](const CheckpointReader& reader) {
    const CheckpointTensor tensor =
        reader.layer(std::string(kQwenNames.at) + ".gate_up_proj").permutation.value();
    std::vector<std::int32_t> order(tensor.bytes / sizeof(std::int32_t));
    reader.read(tensor, order.data(), tensor.bytes);
    return order;
  };
  std::vector<std::int32_t> joined;
  for (std::int64_t one = 0; one < kRanks; ++one) {
    const std::vector<std::int32_t> part = order_of(rank(one));
    EXPECT_EQ(part.size(), static_cast<std::size_t>(kExpertHidden));
    joined.insert(joined.end(), part.begin(), part.end());
  }
  EXPECT_EQ(joined, order_of(open()));
}

// The spec of each rank differs in its experts alone, and so does that for logits.
TEST_F(ExpertParallelTest, TheMoeSaysWhichExpertsTheRankHas) {
  write(lone_experts(kQwenNames, ExpertForm::kGptq));
  const CheckpointExperts all = open().experts().front();
  ASSERT_TRUE(all.routed);
  for (std::int64_t one = 0; one < kRanks; ++one) {
    const CheckpointExperts part = rank(one).experts().front();
    ASSERT_TRUE(part.routed);
    for (const auto& [spec, whole] :
         {std::pair{&part.spec, &all.spec}, {&*part.routed, &*all.routed}}) {
      MoeSpec moe = spec->moe();
      EXPECT_EQ(moe.shape.experts, kExperts);
      EXPECT_EQ(moe.shape.first_expert, one);
      EXPECT_EQ(moe.local_experts(), 1);
      moe.shape.first_expert = moe.shape.local_experts = 0;
      EXPECT_EQ(Spec::from_moe(moe).canonical_json(), whole->canonical_json());
    }
  }
}

TEST_F(ExpertParallelTest, FilesOfRepackHaveTheRank) {
  const ExpertModel model = lone_experts(kQwenNames, ExpertForm::kGptq);
  write(model);
  const CheckpointConfig config = read_checkpoint_config(model.config);
  const std::string packed = folder_ / "rank1.heddle.safetensors";
  ConvertOptions options;
  options.pack.expert_parallel = {1, kRanks};
  repack_checkpoint(Checkpoint(folder_ / "model.safetensors"), config, packed, options);
  EXPECT_EQ(SafetensorsFile(packed).header().metadata.at("heddle.ep"), "1/3");
  CheckpointOptions same;
  same.expert_parallel = {1, kRanks};
  const CheckpointReader file(packed, same);
  const CheckpointReader direct = rank(1);
  ASSERT_EQ(file.experts().size(), 1U);
  const CheckpointExperts& experts = file.experts().front();
  EXPECT_EQ(experts.spec.canonical_json(), direct.experts().front().spec.canonical_json());
  EXPECT_EQ(experts.routed->canonical_json(), direct.experts().front().routed->canonical_json());
  EXPECT_EQ(bytes_of(file, experts.gate_up), bytes_of(direct, experts.gate_up));
  EXPECT_EQ(bytes_of(file, experts.down), bytes_of(direct, experts.down));
  // Whoever takes it for all experts, or for those of another rank, is refused.
  for (const ExpertParallel other : {ExpertParallel{}, {0, kRanks}, {1, 2}}) {
    CheckpointOptions asked;
    asked.expert_parallel = other;
    try {
      const CheckpointReader reader(packed, asked);
      ADD_FAILURE() << other.rank << " of " << other.size << " is read";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "checkpoint.packed_options");
      EXPECT_NE(std::string(error.what()).find("rank 1 of 3"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("--ep"), std::string::npos) << error.what();
    }
  }
}

// As `heddle build` lists them.
TEST_F(ExpertParallelTest, ModelsHaveTheMoeOfTheRank) {
  const ExpertModel model = lone_experts(kQwenNames, ExpertForm::kGptq);
  write(model);
  const CheckpointConfig config = read_checkpoint_config(model.config);
  PackOptions pack;
  pack.expert_parallel = {2, kRanks};
  const Model made = model_of_checkpoint(Checkpoint(folder_ / "model.safetensors"), config, pack);
  ASSERT_EQ(made.kernels.size(), 1U);
  EXPECT_EQ(made.kernels[0].spec.moe().shape.first_expert, 2);
  EXPECT_EQ(made.kernels[0].spec.moe().local_experts(), 1);
  for (const ModelLayer& layer : made.layers) {
    EXPECT_EQ(layer.kind, ModelLayer::Kind::kExperts);
    EXPECT_EQ(layer.matrices, 1);
  }
}

// Experts stay whole while other layers are split.
TEST_F(ExpertParallelTest, WithTheSameRankOfOtherLayers) {
  ExpertModel model = lone_experts(kQwenNames, ExpertForm::kGptq);
  // Three heads, so that three ranks may share them.
  const std::string heads = R"("num_attention_heads": 2, "num_key_value_heads": 2)";
  model.config.replace(model.config.find(heads), heads.size(),
                       R"("num_attention_heads": 3, "num_key_value_heads": 3)");
  const SampleLayer out = random_layer(kExpertHidden, 192, 32, 4, false, 1);
  append(gptq(out, "model.layers.0.self_attn.o_proj", true), &model.tensors);
  write(model);
  CheckpointOptions both;
  both.parallel = {1, kRanks};
  both.expert_parallel = {1, kRanks};
  const CheckpointReader reader(folder_.path(), both);
  const CheckpointExperts& experts = reader.experts().front();
  EXPECT_EQ(experts.spec.canonical_json(), rank(1).experts().front().spec.canonical_json());
  EXPECT_EQ(bytes_of(reader, experts.down), bytes_of(rank(1), experts.down));
  EXPECT_EQ(reader.layer("model.layers.0.self_attn.o_proj").spec.gemm().shape.k, 64);
  both.parallel = {0, kRanks};
  const std::string text = refused(both);
  EXPECT_EQ(text.rfind("checkpoint.experts", 0), 0U) << text;
  EXPECT_NE(text.find("rank 1 of 3 with rank 0 of 3"), std::string::npos) << text;
}

TEST_F(ExpertParallelTest, WhatCannotBeSharedIsRefusedByName) {
  write(lone_experts(kQwenNames, ExpertForm::kGptq));
  CheckpointOptions options;
  options.expert_parallel = {1, 2};
  EXPECT_NE(refused(options).find("3 experts cannot be shared by 2 ranks"), std::string::npos)
      << refused(options);
  for (const ExpertParallel none : {ExpertParallel{2, 2}, {-1, 2}, {0, 0}, {0, 1025}}) {
    options.expert_parallel = none;
    EXPECT_EQ(refused(options).rfind("checkpoint.rank", 0), 0U) << refused(options);
  }
  options.expert_parallel = {0, kRanks};
  options.fuse = false;
  EXPECT_NE(refused(options).find("--no-fuse"), std::string::npos) << refused(options);
  options.fuse = true;
  // Experts whose layer the config does not describe, and a model without any.
  ExpertNames unknown = kQwenNames;
  unknown.more = R"("num_experts": 3)";
  write(lone_experts(unknown, ExpertForm::kGptq));
  EXPECT_NE(refused(options).find("packed alone"), std::string::npos) << refused(options);
  ExpertModel dense;
  dense.config = expert_config({"llama", R"("x": 0)", "", {}, ""}, scheme_json(ExpertForm::kGptq));
  append(gptq(random_layer(kExpertHidden, kExpertInner, 32, 4, false, 1),
              "model.layers.0.mlp.down_proj", true),
         &dense.tensors);
  write(dense);
  EXPECT_NE(refused(options).find("no layers of experts"), std::string::npos) << refused(options);
}

// The output of a shared expert, which every rank has.
TEST_F(ExpertParallelTest, RanksAreToldOfAResidualThatEachWouldAdd) {
  ExpertNames names = kQwenNames;
  names.model_type = "qwen2_moe";
  const std::string more = std::string(names.more) + R"(, "shared_expert_intermediate_size": 64)";
  names.more = more.c_str();
  ExpertModel model = lone_experts(names, ExpertForm::kGptq);
  const std::string shared = "model.layers.0.mlp.shared_expert.";
  append(
      gptq(random_layer(kExpertHidden, kExpertInner, 32, 4, false, 1), shared + "down_proj", true),
      &model.tensors);
  write(model);
  EXPECT_TRUE(is_told(rank(0).notes(), "give it to those of rank 0 alone"));
  EXPECT_FALSE(is_told(open().notes(), "give it to those of rank 0 alone"));
}

}  // namespace
}  // namespace heddle

// Experts of single tensors become two stacks, which a moe takes: values, ranks, kernels.
#include <algorithm>

#include "cache/bytes.h"
#include "checkpoint/checkpoint_model.h"
#include "checkpoint/modules/config_files.h"
#include "checkpoint/output/convert.h"
#include "heddle/inspect/plan.h"
#include "heddle/model.h"
#include "heddle/target.h"
#include "tests/checkpoint/expert_stacks.h"

namespace heddle {
namespace {

class ExpertForms : public ExpertStacks, public ::testing::WithParamInterface<ExpertForm> {};

TEST_P(ExpertForms, LoneExpertsAreTwoStacks) {
  for (const ExpertNames& names : {kMixtralNames, kQwenNames}) {
    const ExpertModel model = lone_experts(names, GetParam());
    write(model);
    const bool dense = GetParam() == ExpertForm::kBf16;
    const CheckpointReader reader = open(dense);
    EXPECT_EQ(reader.layers().size(), 2U);
    EXPECT_TRUE(reader.tensors().empty());
    EXPECT_TRUE(reader.unserved().empty());
    expect_experts(reader, names, model);
    // The file of repack has the same.
    ConvertOptions options;
    options.pack.dense = dense;
    const std::string packed = folder_ / "packed.heddle.safetensors";
    const CheckpointConfig config = read_checkpoint_config(model.config);
    repack_checkpoint(Checkpoint(folder_ / "model.safetensors"), config, packed, options);
    const CheckpointReader again(packed);
    expect_experts(again, names, model);
    EXPECT_EQ(again.experts().front().spec.canonical_json(),
              reader.experts().front().spec.canonical_json());
    std::filesystem::remove(packed);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ExpertForms,
                         ::testing::Values(ExpertForm::kGptq, ExpertForm::kAwq,
                                           ExpertForm::kCompressed, ExpertForm::kFp8Rows,
                                           ExpertForm::kFp8Blocks, ExpertForm::kFp8Tensor,
                                           ExpertForm::kNvfp4, ExpertForm::kBf16));

// Layers behind the last one predict further tokens; their experts are like the others.
TEST_F(ExpertStacks, OfLayersThatPredictFurtherTokens) {
  ExpertNames further = kQwenNames;
  further.at = "model.layers.1.mlp.experts";
  ExpertModel model = lone_experts(kQwenNames, ExpertForm::kAwq);
  append(lone_experts(further, ExpertForm::kAwq).tensors, &model.tensors);
  write(model);
  const CheckpointReader reader = open();
  ASSERT_EQ(reader.experts().size(), 2U);
  EXPECT_EQ(reader.experts()[1].name, further.at);
  EXPECT_EQ(reader.experts()[1].spec.canonical_json(), reader.experts()[0].spec.canonical_json());
}

TEST_F(ExpertStacks, ExpertsWithoutGates) {
  const ExpertNames names = {"nemotron_h",
                             R"("hybrid_override_pattern": "E", "n_routed_experts": 3,
                                "n_shared_experts": 1, "moe_intermediate_size": 64,
                                "moe_shared_expert_intermediate_size": 64, "mamba_num_heads": 2,
                                "mamba_head_dim": 32, "n_groups": 2, "ssm_state_size": 32,
                                "conv_kernel": 4, "layer_norm_epsilon": 1e-5)",
                             "backbone.layers.0.mixer.experts",
                             {"up_proj"},
                             "down_proj"};
  const ExpertModel model = lone_experts(names, ExpertForm::kNvfp4);
  write(model);
  const CheckpointReader reader = open();
  ASSERT_EQ(reader.experts().size(), 1U);
  const MoeSpec& moe = reader.experts()[0].spec.moe();
  EXPECT_EQ(moe.epilogue.activation, Activation::kRelu2);
  EXPECT_FALSE(moe.epilogue.gated);
  EXPECT_TRUE(moe.epilogue.residual) << "the shared expert's output";
  std::vector<Values> up;
  for (int expert = 0; expert < kExperts; ++expert) {
    up.push_back(model.values.at(names.at + ("." + std::to_string(expert)) + ".up_proj"));
  }
  expect_stack(reader, std::string(names.at) + ".up_proj", up);
}

// Each rank has a run of the inner features of every expert.
TEST_F(ExpertStacks, RanksHaveTheirPart) {
  const ExpertModel model = lone_experts(kMixtralNames, ExpertForm::kGptq);
  write(model);
  const std::int64_t h = kExpertHidden, half = kExpertInner / 2;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    CheckpointOptions options;
    options.parallel = {rank, 2};
    const CheckpointReader reader(folder_.path(), options);
    ASSERT_EQ(reader.experts().size(), 1U);
    EXPECT_EQ(reader.experts()[0].spec.moe().shape.intermediate, half);
    std::vector<Values> gate_up;
    std::vector<Values> down;
    for (std::int64_t expert = 0; expert < kExperts; ++expert) {
      const std::string at = kMixtralNames.at + ("." + std::to_string(expert)) + ".";
      gate_up.push_back(joined_values({part_of_stack(model.values.at(at + "w1"), rank, half * h),
                                       part_of_stack(model.values.at(at + "w3"), rank, half * h)}));
      Values columns;
      for (std::int64_t row = 0; row < h; ++row) {
        const Values run = part_of_stack(model.values.at(at + "w2"), 2 * row + rank, half);
        columns.insert(columns.end(), run.begin(), run.end());
      }
      down.push_back(std::move(columns));
    }
    expect_stack(reader, reader.experts()[0].gate_up, gate_up);
    expect_stack(reader, reader.experts()[0].down, down);
  }
}

// Experts of each rank add the residual, which each rank has whole or a part of.
TEST_F(ExpertStacks, RanksAreToldOfASharedExpertThatIsWhole) {
  ExpertNames names = kQwenNames;
  names.model_type = "qwen2_moe";
  const std::string more = std::string(names.more) + R"(, "shared_expert_intermediate_size": 64)";
  names.more = more.c_str();
  const std::string shared = "model.layers.0.mlp.shared_expert.";
  for (const bool whole : {false, true}) {
    ExpertModel model = lone_experts(names, ExpertForm::kGptq);
    const ExpertForm form = whole ? ExpertForm::kBf16 : ExpertForm::kGptq;
    for (const char* first : {"gate_proj", "up_proj"}) {
      add_expert_module(form, shared + first, kExpertInner, kExpertHidden, 1, &model);
    }
    add_expert_module(form, shared + "down_proj", kExpertHidden, kExpertInner, 1, &model);
    write(model);
    for (const std::int64_t ranks : {1, 2}) {
      CheckpointOptions options;
      options.parallel = {0, ranks};
      const CheckpointReader reader(folder_.path(), options);
      ASSERT_EQ(reader.experts().size(), 1U);
      EXPECT_TRUE(reader.experts()[0].spec.moe().epilogue.residual);
      EXPECT_EQ(is_told(reader.notes(), shared + "down_proj are whole in each rank"),
                whole && ranks > 1);
    }
  }
}

TEST_F(ExpertStacks, AModelOfThemHasTheKernel) {
  const ExpertModel model = lone_experts(kQwenNames, ExpertForm::kGptq);
  write(model);
  const CheckpointConfig config = read_checkpoint_config(model.config);
  const Model made = model_of_checkpoint(Checkpoint(folder_ / "model.safetensors"), config, {});
  ASSERT_EQ(made.kernels.size(), 1U);
  EXPECT_EQ(made.kernels[0].layers, 1);
  EXPECT_EQ(made.kernels[0].covers, "gate_proj + up_proj + down_proj");
  ASSERT_EQ(made.layers.size(), 2U);
  const Model planned = model_from_config(model.config);
  const auto kernel =
      std::find_if(planned.kernels.begin(), planned.kernels.end(),
                   [](const ModelKernel& one) { return one.spec.op() == Op::kMoe; });
  ASSERT_NE(kernel, planned.kernels.end());
  EXPECT_EQ(kernel->spec.moe().shape.hidden, made.kernels[0].spec.moe().shape.hidden);
  for (const ModelLayer& layer : made.layers) {
    EXPECT_EQ(layer.kernel, 0);
    EXPECT_EQ(layer.kind, ModelLayer::Kind::kExperts);
    EXPECT_EQ(layer.matrices, kExperts);
    EXPECT_EQ(layer.is_down, layer.name == "down_proj");
  }
}

// With gated epilogues asked for nothing is missing.
TEST_F(ExpertStacks, ArePackedForGates) {
  const ExpertModel model = lone_experts(kQwenNames, ExpertForm::kGptq);
  write(model);
  CheckpointOptions options;
  options.gated = true;
  const CheckpointReader reader(folder_.path(), options);
  EXPECT_EQ(reader.experts().size(), 1U);
  ModelConfigTexts texts;
  texts.config = model.config;
  texts.gated = true;
  for (const std::vector<std::string>& notes : {reader.notes(), model_from_config(texts).notes}) {
    for (const std::string& note : notes) EXPECT_EQ(note.find("gated"), note.npos) << note;
  }
}

TEST_F(ExpertStacks, WithoutFusedLayersEveryMatrixIsAlone) {
  write(lone_experts(kQwenNames, ExpertForm::kGptq));
  CheckpointOptions options;
  options.fuse = false;
  const CheckpointReader reader(folder_.path(), options);
  EXPECT_TRUE(reader.experts().empty());
  EXPECT_EQ(reader.layers().size(), 9U);
}

// A kernel has one scale for both. They become part of those of groups.
TEST_F(ExpertStacks, GatesAndUpsWithTensorScalesOfTheirOwn) {
  ExpertModel model = lone_experts(kQwenNames, ExpertForm::kNvfp4);
  const std::string up = std::string(kQwenNames.at) + ".1.up_proj";
  erase_module(up, &model);
  add_expert_module(ExpertForm::kNvfp4, up, kExpertInner, kExpertHidden, 0.375F, &model);
  write(model);
  const CheckpointReader reader = open();
  const MoeSpec& moe = reader.experts().at(0).spec.moe();
  EXPECT_EQ(moe.gate_up.scale_dtype, DType::kFp32);
  EXPECT_FALSE(moe.gate_up.tensor_scale);
  EXPECT_EQ(moe.gate_up.group_size, 16);
  EXPECT_TRUE(moe.down.tensor_scale);
  EXPECT_NO_THROW(resolve(reader.experts()[0].spec, target_from_name("h200")));
  expect_experts(reader, kQwenNames, model);  // the factors of these tests have few bits
  EXPECT_TRUE(std::any_of(reader.notes().begin(), reader.notes().end(), [](const auto& note) {
    return note.find("scales of groups are FP32") != std::string::npos;
  }));
}

// The routing of the config, which a packed file keeps.
TEST_F(ExpertStacks, HaveTheRoutingOfTheModel) {
  const ExpertModel model = lone_experts(kQwenNames, ExpertForm::kGptq);
  write(model);
  const CheckpointReader reader = open();
  const CheckpointExperts& experts = reader.experts().at(0);
  ASSERT_TRUE(experts.routed);
  EXPECT_EQ(experts.routed->moe().router.scores, RouterScores::kSoftmax);
  EXPECT_FALSE(experts.spec.moe().router.chooses());
  const std::string packed = folder_ / "packed.safetensors";
  repack_checkpoint(Checkpoint(folder_ / "model.safetensors"), read_checkpoint_config(model.config),
                    packed, {});
  const CheckpointExperts again = CheckpointReader(packed).experts().at(0);
  EXPECT_EQ(again.spec.canonical_json(), experts.spec.canonical_json());
  ASSERT_TRUE(again.routed);
  EXPECT_EQ(again.routed->canonical_json(), experts.routed->canonical_json());
}

}  // namespace
}  // namespace heddle

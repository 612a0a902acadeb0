// Layers of 16 bits against the config: what is missing, what has other sides, what is none.
#include <algorithm>

#include "checkpoint/checkpoint_model.h"
#include "checkpoint/modules/config_files.h"
#include "heddle/model.h"
#include "tests/checkpoint/plain_cases.h"

namespace heddle {
namespace {

class ExpectedLayersTest : public PlainCase {};

TEST_F(ExpectedLayersTest, LayersThatTheCheckpointLacksAreTold) {
  inner_ = 96;
  add_model();
  const std::string down = std::string(kLayer) + "mlp.down_proj";
  write();
  const CheckpointConfig config =
      read_checkpoint_config(read_config_files(folder_ / "config.json"), {});
  PackOptions pack;
  pack.dense = true;
  Model model = model_of_checkpoint(Checkpoint(folder_.path()), config, pack);
  EXPECT_EQ(
      open(dense()).notes().at(0),
      "the checkpoint has no tensor of 1 linear layers that its config describes, such as " + down);
  const auto lacks = [](const ModelLayer& layer) {
    return layer.name == "down_proj" && layer.kernel < 0 && layer.n == 64 && layer.k == 96 &&
           layer.reason == "the checkpoint has no tensor of it";
  };
  EXPECT_EQ(std::count_if(model.layers.begin(), model.layers.end(), lacks), 1);
  add(down, 64, inner_);
  write();
  EXPECT_TRUE(open(dense()).notes().empty());
  model = model_of_checkpoint(Checkpoint(folder_.path()), config, pack);
  EXPECT_EQ(std::count_if(model.layers.begin(), model.layers.end(), lacks), 0);
}

TEST_F(ExpectedLayersTest, SidesThatContradictTheConfigAreRefused) {
  const struct {
    const char* module;
    std::int64_t n, k;
    const char* config;  // what it says
  } cases[] = {{"lm_head", 112, 64, "96 x 64"},
               {"model.layers.0.self_attn.q_proj", 80, 64, "64 x 64"},
               {"model.layers.0.self_attn.k_proj", 64, 64, "32 x 64"},
               {"model.layers.0.mlp.up_proj", 96, 64, "80 x 64"},
               {"model.layers.0.mlp.down_proj", 64, 96, "64 x 80"}};
  for (const auto& wrong : cases) {
    tensors_.clear();
    add(wrong.module, wrong.n, wrong.k);
    write();
    const std::string what = refusal([&] { open(dense()); });
    EXPECT_NE(what.find("layer \"" + std::string(wrong.module) + "\": its weights are"),
              std::string::npos)
        << what;
    EXPECT_NE(what.find("but the config says " + std::string(wrong.config)), std::string::npos)
        << what;
  }
}

// Quantisers may pad what they quantise.
TEST_F(ExpectedLayersTest, QuantisedSidesThatContradictTheConfigAreANote) {
  const std::string at = kLayer;
  add_quantized(at + "self_attn.o_proj", 64, 64);
  add_quantized(at + "mlp.down_proj", 64, 96);
  const std::string quantised =
      R"(, "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": false})";
  write(quantised);
  const std::vector<std::string> notes = open({}).notes();
  EXPECT_EQ(std::count(notes.begin(), notes.end(),
                       "1 layers have other sides than the config says, such as " + at +
                           "mlp.down_proj: its weights are 64 x 96, but the config says 64 x 80 "
                           "(/intermediate_size)"),
            1);
  inner_ = 96;
  write(quantised);
  EXPECT_TRUE(open({}).notes().empty());
}

TEST_F(ExpectedLayersTest, WhatIsNoMatrixInTheLayersPlaceIsRefused) {
  const std::string up = std::string(kLayer) + "mlp.up_proj";
  const TestTensor wrong[] = {
      {up + ".weight", TensorType::kI32, {80, 64}, some_bytes(80 * 64 * 4, 100)},
      {up + ".weight", TensorType::kBf16, {80 * 64}, some_bytes(80 * 64 * 2, 100)},
      {up + ".weight", TensorType::kBf16, {1, 80, 64}, some_bytes(80 * 64 * 2, 100)}};
  for (const TestTensor& tensor : wrong) {
    tensors_.clear();
    add("lm_head", 96, 64);
    tensors_.push_back(tensor);
    write();
    const std::string what = refusal([&] { open(dense()); });
    EXPECT_NE(what.find(up + ".weight"), std::string::npos) << what;
    EXPECT_NE(what.find("packed from a matrix of F16 or BF16"), std::string::npos) << what;
    CheckpointOptions kept = dense();
    kept.choice.keep = {up};
    EXPECT_EQ(names_of(open(kept)), std::vector<std::string>{"lm_head"});
  }
}

TEST_F(ExpectedLayersTest, ABiasOfIntegersIsRefused) {
  add_model();
  const std::string name = std::string(kLayer) + "self_attn.o_proj.bias";
  tensors_.push_back({name, TensorType::kI32, {64}, some_bytes(64 * 4, 100)});
  write();
  const std::string what = refusal([&] { open(dense()); });
  EXPECT_NE(what.find("the bias " + name + " is I32 [64]"), std::string::npos) << what;
}

TEST_F(ExpectedLayersTest, ATypeOfActivationsThatIsAssumedIsTold) {
  inner_ = 96;  // kernels take steps of 32 columns
  add_model();
  add(std::string(kLayer) + "mlp.down_proj", 64, inner_);
  write("", "llama", "float32");
  const CheckpointReader reader = open(dense());
  EXPECT_EQ(layer_of(reader, "lm_head").spec.gemm().activation, DType::kBf16);
  ASSERT_EQ(reader.notes().size(), 1U);
  EXPECT_NE(reader.notes()[0].find("assumed to have the type of the weights"), std::string::npos);
}

}  // namespace
}  // namespace heddle

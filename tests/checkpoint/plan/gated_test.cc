// Layers that are packed for gated epilogues: which these are, their bytes, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "checkpoint/checkpoint_model.h"
#include "checkpoint/modules/config_files.h"
#include "checkpoint/output/convert.h"
#include "heddle/checkpoint.h"
#include "heddle/model.h"
#include "heddle/weights.h"
#include "tests/checkpoint/reader_cases.h"

namespace heddle {
namespace {

const char* const kFp8Config =
    R"({"model_type": "llama", "torch_dtype": "bfloat16",
        "quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic"}})";

std::string config_text(const std::string& type, const std::string& activation) {
  return R"({"model_type": ")" + type + R"(", "torch_dtype": "float16", "hidden_size": 128,
             "intermediate_size": 80, "num_hidden_layers": 1, "num_attention_heads": 8,
             "num_key_value_heads": 8, "vocab_size": 64, "rms_norm_eps": 1e-5,
             "hidden_act": )" +
         activation + R"(,
             "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32,
                                     "sym": false, "desc_act": false}})";
}

class GatedTest : public ::testing::Test {
 protected:
  void add(const std::string& name, std::size_t rows, std::size_t k = 128) {
    append(gptq(random_layer(rows, k, 32, 4, false, static_cast<unsigned>(tensors_.size())), name,
                true),
           &tensors_);
  }
  void add_gate_and_up(std::size_t rows = 80) {
    add(kMlp + "gate_proj", rows);
    add(kMlp + "up_proj", rows);
  }
  CheckpointReader open(bool gated, const std::string& type = "llama",
                        const std::string& activation = R"("silu")",
                        const TensorParallel& parallel = {}) {
    write_case({"", config_text(type, activation), tensors_}, folder_);
    CheckpointOptions options;
    options.gated = gated;
    options.parallel = parallel;
    return CheckpointReader(folder_.path(), options);
  }
  std::string refusal(const std::string& type, const std::string& activation) {
    return code_of([&] { open(true, type, activation); });
  }

  TemporaryFolder folder_;
  std::vector<TestTensor> tensors_;
};

std::vector<std::uint8_t> packed(const CheckpointReader& reader, const CheckpointLayer& layer) {
  std::vector<std::uint8_t> bytes(layer.packed.bytes, 0xA5);
  reader.pack(layer, bytes.data(), bytes.size());
  return bytes;
}

// What the layer has in the order of the checkpoint, packed anew as a whole: each panel must have
// found its gates and its ups.
void expect_gated_bytes(const CheckpointReader& plain, const CheckpointReader& gated) {
  ASSERT_EQ(plain.layers().size(), gated.layers().size());
  for (std::size_t i = 0; i < plain.layers().size(); ++i) {
    const CheckpointLayer& before = plain.layers()[i];
    const CheckpointLayer& after = gated.layers()[i];
    ASSERT_TRUE(after.spec.gemm().epilogue.gated);
    const std::vector<std::uint8_t> from = packed(plain, before);
    const QuantizedWeights weights = unpack_weights(before.spec.gemm(), from.data(), from.size());
    EXPECT_EQ(packed(gated, after), pack_weights(after.spec.gemm(), weights));
    // One row block alone is the same in both orders.
    EXPECT_EQ(packed(gated, after) == from, after.spec.gemm().shape.n == 16);
  }
}

TEST_F(GatedTest, GatesAndUpsOfEveryPanelMeet) {
  // 160 rows: whole panels of 32, 16 + 16 rows each. 176: the last panel is a row block alone.
  for (const std::size_t rows : {8, 16, 80, 88}) {
    tensors_.clear();
    add_gate_and_up(rows);
    expect_gated_bytes(open(false), open(true));
  }
}

TEST_F(GatedTest, ALayerThatTheCheckpointHasFusedIsTheSame) {
  add(kMlp + "gate_up_proj", 160);
  const CheckpointReader gated = open(true, "phi3");
  EXPECT_EQ(gated.layers().front().name, kMlp + "gate_up_proj");
  expect_gated_bytes(open(false, "phi3"), gated);
}

// The bytes themselves, without pack_weights(): a row block has 8 scales of gates and 8 of their
// ups, and rows g and g + 8 lie side by side.
TEST_F(GatedTest, ARowBlockHasEightGatesAndTheirUps) {
  const Layer gate = random_layer(16, 128, 128, 4, false, 1);
  const Layer up = random_layer(16, 128, 128, 4, false, 2);
  append(gptq(gate, kMlp + "gate_proj", true), &tensors_);
  append(gptq(up, kMlp + "up_proj", true), &tensors_);
  write_case({"",
              R"({"model_type": "llama", "torch_dtype": "float16",
                  "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128,
                                          "sym": false, "desc_act": false}})",
              tensors_},
             folder_);
  CheckpointOptions options;
  options.gated = true;
  const CheckpointReader reader(folder_.path(), options);
  const std::vector<std::uint8_t> bytes = packed(reader, reader.layers().front());
  const WeightLayout layout = weight_layout(reader.layers().front().spec.gemm());
  ASSERT_EQ(layout.row_blocks, 2);
  for (std::size_t block = 0; block < 2; ++block) {
    for (std::size_t g = 0; g < 8; ++g) {
      std::uint16_t pair[2];
      const std::size_t at = block * static_cast<std::size_t>(layout.chunk_bytes) +
                             static_cast<std::size_t>(layout.scale_offset) + 4 * g;
      std::memcpy(pair, &bytes[at], sizeof pair);
      EXPECT_EQ(pair[0], gate.scales[8 * block + g]);
      EXPECT_EQ(pair[1], up.scales[8 * block + g]);
    }
  }
}

TEST_F(GatedTest, ScalesOfRowsAndOfTheTensorFollowInTheirOrder) {
  tensors_ = {{kMlp + "gate_proj.weight", TensorType::kF8E4M3, {40, 128}, some_bytes(40 * 128)},
              {kMlp + "gate_proj.weight_scale", TensorType::kF32, {40, 1}, some_floats(40)},
              {kMlp + "up_proj.weight", TensorType::kF8E4M3, {40, 128}, some_bytes(40 * 128)},
              {kMlp + "up_proj.weight_scale", TensorType::kF32, {40, 1}, some_floats(40)}};
  tensors_[3].bytes[0] ^= 1;  // not those of the gates
  const auto open_fp8 = [&](bool gated) {
    write_case({"", kFp8Config, tensors_}, folder_);
    CheckpointOptions options;
    options.gated = gated;
    return CheckpointReader(folder_.path(), options);
  };
  expect_gated_bytes(open_fp8(false), open_fp8(true));
  tensors_ = {{kMlp + "gate_up_proj.weight", TensorType::kF8E4M3, {80, 128}, some_bytes(80 * 128)},
              {kMlp + "gate_up_proj.weight_scale", TensorType::kF32, {1}, some_floats(1)}};
  write_case({"",
              R"({"model_type": "phi3", "torch_dtype": "bfloat16",
                  "quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic"}})",
              tensors_},
             folder_);
  CheckpointOptions gated;
  gated.gated = true;
  expect_gated_bytes(CheckpointReader(folder_.path()), CheckpointReader(folder_.path(), gated));
}

TEST_F(GatedTest, EachRankHasItsOwnGatesAndUps) {
  add_gate_and_up(80);
  for (const std::int64_t rank : {0, 1}) {
    const CheckpointReader gated = open(true, "llama", R"("silu")", {rank, 2});
    EXPECT_EQ(gated.layers().front().spec.gemm().shape.n, 80);
    expect_gated_bytes(open(false, "llama", R"("silu")", {rank, 2}), gated);
  }
}

TEST_F(GatedTest, BuildAndRepackAndTheConfigAgree) {
  add_gate_and_up();
  add(kMlp + "down_proj", 128, 96);
  for (const bool wanted : {false, true}) {
    const CheckpointReader reader = open(wanted);
    ConvertOptions convert;
    convert.pack.gated = wanted;
    const Checkpoint checkpoint(folder_.path());
    const CheckpointConfig config =
        read_checkpoint_config(read_config_files(folder_ / "config.json"), {});
    const std::string output = folder_ / (wanted ? "gated.out" : "plain.out");
    repack_checkpoint(checkpoint, config, output, convert);
    const Spec written =
        Spec::parse(SafetensorsFile(output).header().metadata.at(kMlp + "gate_up_proj.heddle"));
    EXPECT_EQ(written.gemm().epilogue.gated, wanted);
    EXPECT_EQ(written.gemm().epilogue.activation, wanted ? Activation::kSilu : Activation::kNone);
    const Model model = model_of_checkpoint(checkpoint, config, convert.pack);
    ASSERT_EQ(model.kernels.size(), 2U);
    EXPECT_EQ(model.kernels[1].spec.canonical_json(), written.canonical_json());
    EXPECT_FALSE(model.kernels[0].spec.gemm().epilogue.gated);
    ModelConfigTexts texts;
    const std::string text = config_text("llama", R"("silu")");
    texts.config = text;
    texts.gated = wanted;
    const Model of_config = model_from_config(texts);
    const auto same = std::find_if(
        of_config.kernels.begin(), of_config.kernels.end(),
        [](const ModelKernel& kernel) { return kernel.spec.name() == "gate_up_proj"; });
    ASSERT_NE(same, of_config.kernels.end());
    EXPECT_EQ(same->spec.canonical_json(), written.canonical_json());
  }
}

TEST_F(GatedTest, AnotherOrderIsAMismatchByName) {
  add_gate_and_up();
  const CheckpointLayer plain = open(false).layers().front();
  const CheckpointReader reader = open(true);
  const CheckpointLayer& gated = reader.layers().front();
  EXPECT_NO_THROW(check_packed_weights(gated.spec, gated.spec));
  EXPECT_EQ(code_of([&] { check_packed_weights(gated.spec, plain.spec); }), "weights.mismatch");
  EXPECT_EQ(code_of([&] { check_packed_weights(plain.spec, gated.spec); }), "weights.mismatch");
  std::vector<std::uint8_t> bytes(plain.packed.bytes);
  EXPECT_EQ(code_of([&] { reader.pack(plain, bytes.data(), bytes.size()); }),
            "checkpoint.no_tensor");
}

TEST_F(GatedTest, TheActivationIsTheConfigs) {
  add_gate_and_up();
  const auto activation = [&](const std::string& type, const std::string& name) {
    return open(true, type, name).layers().front().spec.gemm().epilogue.activation;
  };
  EXPECT_EQ(activation("llama", R"("gelu_pytorch_tanh")"), Activation::kGeluTanh);
  EXPECT_EQ(activation("llama", R"("gelu")"), Activation::kGelu);
  EXPECT_EQ(activation("llama", R"("relu")"), Activation::kRelu);
  EXPECT_EQ(activation("llama", "null"), Activation::kSilu);  // the family's
  // The first Gemma's configs say so, and mean the approximation.
  EXPECT_EQ(activation("gemma", R"("gelu")"), Activation::kGeluTanh);
}

TEST_F(GatedTest, AnUnknownActivationIsRefused) {
  add_gate_and_up();
  EXPECT_EQ(refusal("llama", R"("quick_gelu")"), "model.activation");
  EXPECT_NO_THROW(open(false, "llama", R"("quick_gelu")"));
  ModelConfigTexts texts;
  const std::string text = config_text("llama", R"("quick_gelu")");
  texts.config = text;
  texts.gated = true;
  EXPECT_EQ(code_of([&] { model_from_config(texts); }), "model.activation");
  CheckpointOptions apart;
  apart.gated = true;
  apart.fuse = false;
  EXPECT_EQ(code_of([&] { CheckpointReader(folder_.path(), apart); }), "checkpoint.gated");
}

// Each with a note that says why.
TEST_F(GatedTest, WhatIsNotKnownToBeGatedStaysAsItIs) {
  const auto expect_note = [](const CheckpointReader& reader, const std::string& text) {
    for (const CheckpointLayer& layer : reader.layers()) {
      EXPECT_FALSE(layer.spec.gemm().epilogue.gated) << layer.name;
    }
    EXPECT_TRUE(
        std::any_of(reader.notes().begin(), reader.notes().end(),
                    [&](const std::string& note) { return note.find(text) != std::string::npos; }))
        << "no note of " << text;
  };
  add_gate_and_up();
  expect_note(open(true, "nobodys_model"), "not known");
  expect_note(open(true, "gemma3n_text"), "more between its matrices");
  tensors_ = {{kMlp + "gate_proj.weight", TensorType::kF8E4M3, {60, 128}, some_bytes(60 * 128)},
              {kMlp + "gate_proj.weight_scale", TensorType::kF32, {60, 1}, some_floats(60)},
              {kMlp + "up_proj.weight", TensorType::kF8E4M3, {60, 128}, some_bytes(60 * 128)},
              {kMlp + "up_proj.weight_scale", TensorType::kF32, {60, 1}, some_floats(60)}};
  write_case({"", kFp8Config, tensors_}, folder_);
  CheckpointOptions gated;
  gated.gated = true;
  expect_note(CheckpointReader(folder_.path(), gated), "120 rows are no multiple of 16");
  tensors_.clear();
  add("visual.blocks.0.mlp.gate_proj", 80);  // a tower may have another activation
  add("visual.blocks.0.mlp.up_proj", 80);
  expect_note(open(true, "qwen2_5_vl"), "no gate and up of a decoder layer");
  tensors_.clear();
  add(kMlp + "down_proj", 80);
  expect_note(open(true), "no layer is a gate and an up");
}

}  // namespace
}  // namespace heddle

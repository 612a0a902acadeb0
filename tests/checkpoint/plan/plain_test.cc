// Layers of 16 bits that no quantiser touched: which these are, their bytes, and what is refused.
#include <cstring>

#include "cache/bytes.h"
#include "checkpoint/checkpoint_model.h"
#include "checkpoint/modules/config_files.h"
#include "checkpoint/output/convert.h"
#include "heddle/model.h"
#include "tests/checkpoint/plain_cases.h"

namespace heddle {
namespace {

using Names = std::vector<std::string>;
constexpr const char* kGptq =
    R"(, "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32,
                                 "sym": false, "desc_act": false})";

class PlainTest : public PlainCase {};

TEST_F(PlainTest, AWholeCheckpointIsPackedAsItIs) {
  inner_ = 96;  // kernels take steps of 32 columns
  for (const TensorType type : {TensorType::kBf16, TensorType::kF16}) {
    tensors_.clear();
    add_model(type);
    add(std::string(kLayer) + "mlp.down_proj", 64, inner_, type);
    write("", "llama", type == TensorType::kBf16 ? "bfloat16" : "float16");
    EXPECT_EQ(code_of([&] { open({}); }), "checkpoint.not_quantised");
    const CheckpointReader reader = open(dense());
    const std::string at = kLayer;
    EXPECT_EQ(names_of(reader), (Names{"lm_head", at + "mlp.down_proj", at + "mlp.gate_up_proj",
                                       at + "self_attn.o_proj", at + "self_attn.qkv_proj"}));
    expect_rows(reader, "lm_head", head_);
    expect_rows(reader, at + "self_attn.o_proj", o_);
    expect_rows(reader, at + "self_attn.qkv_proj", q_ + k_ + v_);
    expect_rows(reader, at + "mlp.gate_up_proj", gate_ + up_);
    const CheckpointLayer& head = layer_of(reader, "lm_head");
    EXPECT_EQ(head.spec.weight().type,
              type == TensorType::kBf16 ? WeightType::kBf16 : WeightType::kFp16);
    EXPECT_EQ(head.spec.weight().bits, 16);
    EXPECT_EQ(head.spec.gemm().activation, type == TensorType::kBf16 ? DType::kBf16 : DType::kFp16);
    EXPECT_EQ(head.source_bytes, head_.size());
    EXPECT_EQ(reader.tensors().size(), 2U) << "the embeddings and the norm";
    EXPECT_EQ(read_in_pieces(reader, reader.tensors()[0]), embeddings_);
    EXPECT_TRUE(reader.unserved().empty());
  }
}

TEST_F(PlainTest, WhatAQuantiserLeftAloneIsPackedBesideItsLayers) {
  add_model(TensorType::kF16);
  add_quantized(std::string(kLayer) + "mlp.down_proj", 64, 96);
  write(kGptq, "llama", "float16");
  EXPECT_EQ(names_of(open({})), Names{std::string(kLayer) + "mlp.down_proj"});
  const CheckpointReader reader = open(dense());
  EXPECT_EQ(reader.layers().size(), 5U);
  expect_rows(reader, "lm_head", head_);
  EXPECT_EQ(layer_of(reader, std::string(kLayer) + "mlp.down_proj").spec.weight().bits, 4);
}

TEST_F(PlainTest, PartsOfTwoKindsStayApart) {
  add_model(TensorType::kF16);
  tensors_.erase(tensors_.begin());
  add_quantized(std::string(kLayer) + "self_attn.q_proj", 64, 64);
  write(kGptq, "llama", "float16");
  const CheckpointReader reader = open(dense());
  expect_rows(reader, std::string(kLayer) + "self_attn.k_proj", k_);
  EXPECT_EQ(layer_of(reader, std::string(kLayer) + "self_attn.q_proj").spec.weight().bits, 4);
  ASSERT_FALSE(reader.notes().empty());
  EXPECT_NE(reader.notes().back().find("qkv_proj is not made"), std::string::npos);
}

TEST_F(PlainTest, BiasesAreFusedWithTheirRows) {
  add_model();
  tensors_.push_back({std::string(kLayer) + "self_attn.v_proj.bias",
                      TensorType::kBf16,
                      {32},
                      some_bytes(64, 100)});
  const Bytes bias = tensors_.back().bytes;
  write();
  const CheckpointReader reader = open(dense());
  const CheckpointLayer& qkv = layer_of(reader, std::string(kLayer) + "self_attn.qkv_proj");
  EXPECT_TRUE(qkv.spec.gemm().epilogue.bias);
  ASSERT_TRUE(qkv.bias.has_value());
  EXPECT_EQ(read_in_pieces(reader, *qkv.bias), Bytes(2 * 96) + bias);
}

TEST_F(PlainTest, GatesAndUpsOfEveryPanelMeet) {
  add_model();
  write();
  CheckpointOptions options = dense();
  options.gated = true;
  const CheckpointReader reader = open(options);
  const CheckpointLayer& layer = layer_of(reader, std::string(kLayer) + "mlp.gate_up_proj");
  EXPECT_TRUE(layer.spec.gemm().epilogue.gated);
  expect_rows(reader, layer.name, gate_ + up_);
}

TEST_F(PlainTest, AHeadThatSharesTheEmbeddings) {
  add_model();
  write(R"(, "tie_word_embeddings": true)");
  const CheckpointReader both = open(dense());
  expect_rows(both, "lm_head", embeddings_);
  EXPECT_TRUE(has_tensor(both, "lm_head.weight")) << "its own is not used";
  ASSERT_FALSE(both.notes().empty());
  EXPECT_NE(both.notes().front().find("tie_word_embeddings"), std::string::npos);

  tensors_.erase(tensors_.begin() + 6);
  write(R"(, "tie_word_embeddings": true)");
  const CheckpointReader reader = open(dense());
  expect_rows(reader, "lm_head", embeddings_);
  EXPECT_TRUE(has_tensor(reader, "model.embed_tokens.weight")) << "they are looked up, too";
  ASSERT_EQ(reader.notes().size(), 1U);
  EXPECT_NE(reader.notes()[0].find("no tensor of 1 linear layers"), std::string::npos);
  CheckpointOptions kept = dense();
  kept.choice.keep = {"lm_head"};
  EXPECT_EQ(open(kept).layers().size(), 3U);
  write();
  EXPECT_NE(open(dense()).notes().at(0).find("no lm_head is packed"), std::string::npos);
}

TEST_F(PlainTest, NothingIsConverted) {
  add_model(TensorType::kF16);
  write();
  std::string what = refusal([&] { open(dense()); });
  EXPECT_NE(what.find("lm_head.weight is F16 [96, 64], but the config's torch_dtype is bf16"),
            std::string::npos)
      << what;
  EXPECT_EQ(what.rfind("checkpoint.not_converted", 0), 0U) << what;
  CheckpointOptions kept = dense();
  kept.choice.keep = {"model.layers.*"};
  what = refusal([&] { open(kept); });
  EXPECT_EQ(what.find("q_proj"), std::string::npos) << what;
  EXPECT_NE(what.find("lm_head"), std::string::npos) << what;
  for (const TensorType type : {TensorType::kF32, TensorType::kF64}) {
    tensors_ = {matrix("lm_head", 96, 64, type)};
    write();
    what = refusal([&] { open(dense()); });
    EXPECT_NE(what.find("packed from a matrix of F16 or BF16"), std::string::npos) << what;
  }
}

TEST_F(PlainTest, RoutersArePackedAndExpertsAndOneRowAreNot) {
  const Bytes router = add(std::string(kLayer) + "mlp.gate", 8, 64);
  add(std::string(kLayer) + "mlp.shared_expert_gate", 1, 64);
  add(std::string(kLayer) + "mlp.experts.0.up_proj", 32, 64);
  add("visual.blocks.0.mlp.up_proj", 32, 64);
  add("lm_head", 96, 64);
  write("", "qwen2_moe");
  const CheckpointReader reader = open(dense());
  EXPECT_EQ(names_of(reader), (Names{"lm_head", std::string(kLayer) + "mlp.gate"}));
  expect_rows(reader, std::string(kLayer) + "mlp.gate", router);
  ASSERT_EQ(reader.unserved().size(), 1U);
  EXPECT_EQ(reader.unserved()[0].name, std::string(kLayer) + "mlp.shared_expert_gate");
  EXPECT_EQ(reader.tensors().size(), 3U);
}

TEST_F(PlainTest, AModelTypeThatIsNotKnownIsRefused) {
  add_model();
  write("", "nobodys_model");
  EXPECT_EQ(code_of([&] { open(dense()); }), "checkpoint.dense");
  write("", "");
  EXPECT_NE(refusal([&] { open(dense()); }).find("a config without a model_type"),
            std::string::npos);
}

TEST_F(PlainTest, BothCodesAndPlainWeightsAreRefused) {
  add(std::string(kLayer) + "mlp.down_proj", 64, 96, TensorType::kF16);
  add_quantized(std::string(kLayer) + "mlp.down_proj", 64, 96);
  write(kGptq, "llama", "float16");
  const std::string what = refusal([&] { open(dense()); });
  EXPECT_NE(what.find("both codes and plain weights"), std::string::npos) << what;
  EXPECT_EQ(what.find("two forms"), std::string::npos) << what;
}

// GPT-2 stores [K, N].
TEST_F(PlainTest, StoredColumnsBecomeRows) {
  const Bytes stored = add("transformer.h.0.mlp.c_fc", 64, 96);
  tensors_.push_back({"transformer.h.0.mlp.c_fc.bias", TensorType::kBf16, {96}, Bytes(192)});
  Bytes rows(stored.size());
  for (std::size_t n = 0; n < 96; ++n) {
    for (std::size_t k = 0; k < 64; ++k) {
      std::memcpy(&rows[(n * 64 + k) * 2], &stored[(k * 96 + n) * 2], 2);
    }
  }
  write(R"(, "n_embd": 64, "n_head": 4, "n_layer": 1, "n_inner": 96)", "gpt2");
  const CheckpointReader reader = open(dense());
  const CheckpointLayer& layer = layer_of(reader, "transformer.h.0.mlp.c_fc");
  EXPECT_EQ(layer.spec.gemm().shape.n, 96);
  expect_rows(reader, layer.name, rows);
}

TEST_F(PlainTest, RanksHaveTheirRowsAndColumns) {
  add_model();
  write();
  for (const std::int64_t rank : {0, 1}) {
    CheckpointOptions options = dense();
    options.parallel = {rank, 2};
    const CheckpointReader reader = open(options);
    const auto half = [rank](const Bytes& bytes) {
      const auto size = std::ssize(bytes) / 2;
      return Bytes(bytes.begin() + rank * size, bytes.begin() + (rank + 1) * size);
    };
    expect_rows(reader, "lm_head", half(head_));
    expect_rows(reader, std::string(kLayer) + "self_attn.qkv_proj", half(q_) + half(k_) + half(v_));
    Bytes columns;
    for (std::int64_t row = 0; row < 64; ++row) {
      const auto at = o_.begin() + row * 128;
      columns = columns + half(Bytes(at, at + 128));
    }
    expect_rows(reader, std::string(kLayer) + "self_attn.o_proj", columns);
    EXPECT_EQ(layer_of(reader, std::string(kLayer) + "self_attn.o_proj").spec.weight().group_offset,
              0);
  }
}

TEST_F(PlainTest, BuildAndRepackAndTheConfigAgree) {
  inner_ = 96;  // kernels take steps of 32 columns
  add_model();
  add(std::string(kLayer) + "mlp.down_proj", 64, inner_);
  write();
  const CheckpointReader reader = open(dense());
  const CheckpointConfig config =
      read_checkpoint_config(read_config_files(folder_ / "config.json"), {});
  const Checkpoint checkpoint(folder_.path());
  ConvertOptions convert;
  convert.pack.dense = true;
  const ConvertReport report =
      repack_checkpoint(checkpoint, config, folder_ / "packed.out", convert);
  EXPECT_EQ(report.layers, 5U);
  const SafetensorsFile written(folder_ / "packed.out");
  EXPECT_EQ(written.header().metadata.count("heddle.lm_head"), 0U);
  const Model model = model_of_checkpoint(checkpoint, config, convert.pack);
  ASSERT_EQ(model.kernels.size(), 5U);
  for (const CheckpointLayer& layer : reader.layers()) {
    EXPECT_EQ(written.header().metadata.at(layer.packed.name), layer.spec.canonical_json());
    EXPECT_TRUE(std::any_of(model.kernels.begin(), model.kernels.end(), [&](const auto& kernel) {
      return kernel.spec.canonical_json() == layer.spec.canonical_json();
    })) << layer.name;
  }
  for (const ModelLayer& layer : model.layers) EXPECT_EQ(layer.weights, "16 bits") << layer.name;
  ModelConfigTexts texts;
  texts.config = config_;
  texts.dense = true;
  const Model of_config = model_from_config(texts);
  for (const char* name : {"qkv_proj", "o_proj", "lm_head"}) {
    const auto named = [&](const ModelKernel& kernel) { return kernel.spec.name() == name; };
    const auto one = std::find_if(model.kernels.begin(), model.kernels.end(), named);
    const auto other = std::find_if(of_config.kernels.begin(), of_config.kernels.end(), named);
    ASSERT_NE(one, model.kernels.end()) << name;
    ASSERT_NE(other, of_config.kernels.end()) << name;
    EXPECT_EQ(one->spec.canonical_json(), other->spec.canonical_json());
  }
}

}  // namespace
}  // namespace heddle

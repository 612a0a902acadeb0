// A head of 16 bits that becomes codes when it is packed.
#include "checkpoint/checkpoint_model.h"
#include "checkpoint/codes/half_convert.h"
#include "checkpoint/forms/plain_layer.h"
#include "checkpoint/forms/quantizing_rows.h"
#include "checkpoint/modules/config_files.h"
#include "checkpoint/output/convert.h"
#include "generator/model/head_weight.h"
#include "heddle/model.h"
#include "tests/checkpoint/plain_cases.h"

namespace heddle {
namespace {

class LmHeadTest : public PlainCase {
 protected:
  // Values as heads have them: small, of both signs, none of them without a number.
  std::vector<std::uint16_t> add_values(const std::string& module, std::int64_t n, std::int64_t k,
                                        TensorType type = TensorType::kBf16) {
    std::mt19937 random(static_cast<unsigned>(n + k));
    std::normal_distribution<double> normal(0.01, 0.05);
    std::vector<std::uint16_t> values(static_cast<std::size_t>(n * k));
    const DType dtype = type == TensorType::kBf16 ? DType::kBf16 : DType::kFp16;
    for (std::uint16_t& value : values) value = round_to_16(dtype, normal(random));
    tensors_.push_back({module + ".weight", type, {n, k}, bytes_of_values(values)});
    vocabulary_ = n;
    hidden_ = k;
    return values;
  }
  static CheckpointOptions head_bits(int bits) {
    CheckpointOptions options;
    options.lm_head_bits = bits;
    return options;
  }
  // The layer's bytes are those of quantize_weights() of these values.
  static void expect_quantized(const CheckpointReader& reader, DType dtype,
                               const std::vector<std::uint16_t>& values) {
    const CheckpointLayer& head = layer_of(reader, "lm_head");
    WeightOpSpec spec;
    spec.shape = {head.spec.gemm().shape.n, head.spec.gemm().shape.k};
    spec.weight = head.spec.weight();
    spec.dtype = dtype;
    EXPECT_EQ(packed(reader, head), pack_weights(head.spec.gemm(), quantize_weights(spec, values)));
  }
};

// 600 rows: two runs of 256 and a rest, panels of 32 and one of 24.
TEST_F(LmHeadTest, ItsCodesAreThoseOfTheWholeMatrix) {
  for (const TensorType type : {TensorType::kBf16, TensorType::kF16}) {
    for (const int bits : {4, 8}) {
      tensors_.clear();
      const auto values = add_values("lm_head", 600, 256, type);
      write("", "llama", type == TensorType::kBf16 ? "bfloat16" : "float16");
      const CheckpointReader reader = open(head_bits(bits));
      ASSERT_EQ(names_of(reader), std::vector<std::string>{"lm_head"});
      const WeightSpec& weight = reader.layers()[0].spec.weight();
      EXPECT_EQ(weight.bits, bits);
      EXPECT_EQ(weight.group_size, 128);
      EXPECT_EQ(weight.type, bits == 8 ? WeightType::kInt : WeightType::kUint);
      EXPECT_EQ(weight.zero_point, bits == 8 ? ZeroPoint::kNone : ZeroPoint::kInt);
      const DType dtype = type == TensorType::kBf16 ? DType::kBf16 : DType::kFp16;
      EXPECT_EQ(weight.scale_dtype, dtype);
      EXPECT_EQ(reader.layers()[0].spec.gemm().activation, dtype);
      expect_quantized(reader, dtype, values);
    }
  }
}

TEST_F(LmHeadTest, GroupsDivideTheColumns) {
  const auto values = add_values("lm_head", 32, 96);
  write();
  const CheckpointReader reader = open(head_bits(4));
  EXPECT_EQ(reader.layers()[0].spec.weight().group_size, 32);
  expect_quantized(reader, DType::kBf16, values);
}

// The codes are made of the checkpoint's values; kernels take scales of the activations' type.
TEST_F(LmHeadTest, AnotherTypeThanTheActivationsIsQuantised) {
  const auto values = add_values("lm_head", 32, 128);
  write("", "llama", "float16");
  EXPECT_EQ(code_of([&] { open(dense()); }), "checkpoint.not_converted");
  const CheckpointReader reader = open(head_bits(8));
  EXPECT_EQ(reader.layers()[0].spec.weight().scale_dtype, DType::kFp16);
  expect_quantized(reader, DType::kBf16, values);
}

TEST_F(LmHeadTest, ASharedHeadLeavesTheEmbeddings) {
  const auto values = add_values("model.embed_tokens", 96, 128);
  write(R"(, "tie_word_embeddings": true)");
  const CheckpointReader reader = open(head_bits(8));
  expect_quantized(reader, DType::kBf16, values);
  ASSERT_EQ(reader.tensors().size(), 1U);
  EXPECT_EQ(read_in_pieces(reader, reader.tensors()[0]), bytes_of_values(values));
}

TEST_F(LmHeadTest, OtherLayersAreAsWithoutIt) {
  const auto values = add_values("lm_head", 96, 64);
  const std::vector<std::uint8_t> up = add(std::string(kLayer) + "mlp.up_proj", 80, 64);
  write();
  EXPECT_EQ(open(head_bits(8)).layers().size(), 1U);
  CheckpointOptions both = head_bits(8);
  both.dense = true;
  const CheckpointReader reader = open(both);
  ASSERT_EQ(reader.layers().size(), 2U);
  expect_rows(reader, std::string(kLayer) + "mlp.up_proj", up);
  expect_quantized(reader, DType::kBf16, values);
}

TEST_F(LmHeadTest, ARankHasItsRows) {
  const auto values = add_values("lm_head", 1200, 128);
  write();
  CheckpointOptions options = head_bits(8);
  options.parallel = {1, 2};
  expect_quantized(open(options), DType::kBf16, {values.begin() + 600 * 128, values.end()});
}

TEST_F(LmHeadTest, WhatCannotBeQuantisedIsRefused) {
  add_values("lm_head", 96, 128);
  write("", "nobodys_model");
  EXPECT_EQ(open(head_bits(8)).layers().size(), 1U) << "its name is enough";
  EXPECT_EQ(code_of([&] { open(head_bits(5)); }), "checkpoint.lm_head");
  EXPECT_EQ(code_of([&] { open(head_bits(-8)); }), "checkpoint.lm_head");
  tensors_ = {matrix("lm_head", 96, 128, TensorType::kF32)};
  write();
  EXPECT_EQ(code_of([&] { open(head_bits(8)); }), "checkpoint.not_converted");
  tensors_ = {matrix("model.embed_tokens", 96, 128)};
  write();
  EXPECT_NE(refusal([&] { open(head_bits(8)); }).find("there is no lm_head to quantise"),
            std::string::npos);
  tensors_.clear();
  add_quantized("lm_head", 96, 128);
  write(R"(, "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32,
                                     "sym": false, "desc_act": false, "lm_head": true})",
        "llama", "float16");
  EXPECT_EQ(open(dense()).layers().size(), 1U);
  EXPECT_NE(refusal([&] { open(head_bits(8)); }).find("quantised already"), std::string::npos);
}

TEST_F(LmHeadTest, AHeadThatIsKeptOrSkippedIsNotQuantised) {
  for (const char* module : {"lm_head", "model.embed_tokens"}) {
    tensors_.clear();
    add_values(module, 96, 64);
    add(std::string(kLayer) + "mlp.up_proj", 80, 64);
    write(module == std::string("lm_head") ? "" : R"(, "tie_word_embeddings": true)");
    CheckpointOptions options = head_bits(8);
    options.choice.keep = {"lm_head"};
    std::string what = refusal([&] { open(options); });
    EXPECT_EQ(what.rfind("checkpoint.choice: ", 0), 0U) << what;
    EXPECT_NE(what.find("--keep names the layer \"lm_head\", which --lm-head quantises"),
              std::string::npos)
        << what;
    std::swap(options.choice.keep, options.choice.skip);
    what = refusal([&] { open(options); });
    EXPECT_NE(what.find("--skip names the layer"), std::string::npos) << what;
    options = dense();
    options.choice.keep = {"lm_head"};
    EXPECT_EQ(open(options).layers().size(), 1U) << "without --lm-head it may be kept";
  }
}

TEST_F(LmHeadTest, BuildAndRepackAndTheConfigAgree) {
  add_values("lm_head", 96, 64);
  write();
  const CheckpointConfig config =
      read_checkpoint_config(read_config_files(folder_ / "config.json"), {});
  const Checkpoint checkpoint(folder_.path());
  for (const int bits : {4, 8}) {
    ConvertOptions convert;
    convert.pack.lm_head_bits = bits;
    const std::string output = folder_ / ("packed" + std::to_string(bits));
    repack_checkpoint(checkpoint, config, output, convert);
    const SafetensorsFile written(output);
    EXPECT_EQ(written.header().metadata.at("heddle.lm_head"), std::to_string(bits));
    const std::string spec = written.header().metadata.at("lm_head.heddle");
    const Model model = model_of_checkpoint(checkpoint, config, convert.pack);
    ASSERT_EQ(model.kernels.size(), 1U);
    EXPECT_EQ(model.kernels[0].spec.canonical_json(), spec);
    ModelConfigTexts texts;
    texts.config = config_;
    texts.lm_head_bits = bits;
    const Model of_config = model_from_config(texts);
    ASSERT_EQ(of_config.kernels.size(), 1U);
    EXPECT_EQ(of_config.kernels[0].spec.canonical_json(), spec);
    EXPECT_EQ(of_config.layers.back().weights, model.layers.back().weights);
  }
}

// What `rows` gives is what kernels multiply with.
TEST_F(LmHeadTest, RowsAreTheValuesOfTheCodes) {
  const auto values = add_values("lm_head", 40, 64);
  write();
  const Checkpoint checkpoint(folder_.path());
  const Checkpoint::Entry& entry = checkpoint.at("lm_head.weight");
  for (const int bits : {4, 8}) {
    const WeightSpec weight = head_weight(bits, 64, DType::kFp16);
    const QuantizingRows rows(std::make_unique<PlainLayer>("lm_head", *entry.file, *entry.tensor,
                                                           PlainLayer::Order::kRows, Load::kAll),
                              weight);
    std::vector<std::uint16_t> got(8 * 64);
    rows.rows(32, 8, DType::kBf16, got.data());
    for (std::size_t i = 0; i < got.size(); ++i) {
      const auto value = [](std::uint16_t from) {
        return float_element(TensorType::kBf16, reinterpret_cast<const std::uint8_t*>(&from), 0);
      };
      // Half a step of a group that spans half of the values' range at most, and one rounding.
      const double step = 0.6 / ((1 << bits) - 1);
      EXPECT_NEAR(value(got[i]), value(values[32 * 64 + i]), step) << i;
    }
  }
}

}  // namespace
}  // namespace heddle

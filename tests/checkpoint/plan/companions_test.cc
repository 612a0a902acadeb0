// Biases and the factors of X's columns: beside their layer, and fused.
#include <gtest/gtest.h>

#include "checkpoint/files/checkpoint.h"
#include "checkpoint/output/convert.h"
#include "heddle/error.h"
#include "heddle/spec.h"
#include "tests/checkpoint/quantised_formats.h"

namespace heddle {
namespace {

class CompanionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<std::int32_t> order;
    for (const auto& [name, rows] : kParts) {
      Layer layer = random_layer(rows, 128, 64, 4, true);
      if (!order.empty()) layer.index = order;
      order = layer.index;
      for (TestTensor& one : gptq(layer, name, true)) tensors_.push_back(std::move(one));
    }
  }
  void add(const std::string& name, std::size_t count, std::uint16_t first) {
    std::vector<std::uint16_t> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint16_t>(first + i);
    tensors_.push_back({name, TensorType::kF16, {std::ssize(values)}, bytes_of_values(values)});
  }
  std::vector<std::uint16_t> written(const std::string& name) {
    const std::vector<std::uint8_t> bytes = Checkpoint(folder_ / "b.safetensors").read(name);
    std::vector<std::uint16_t> values(bytes.size() / 2);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  bool has(const std::string& name) {
    return Checkpoint(folder_ / "b.safetensors").find(name) != nullptr;
  }
  GemmSpec repack(const std::string& layer, bool fuse) {
    write_tensors(folder_ / "a.safetensors", tensors_);
    ConvertOptions options;
    options.pack.fuse = fuse;
    repack_checkpoint(Checkpoint(folder_ / "a.safetensors"), config_of(Storage::kGptq, 4, 64, true),
                      folder_ / "b.safetensors", options);
    const SafetensorsFile file(folder_ / "b.safetensors");
    return Spec::parse(file.header().metadata.at(layer + ".heddle")).gemm();
  }

  static inline const std::vector<std::pair<std::string, std::size_t>> kParts = {
      {"q_proj", 32}, {"k_proj", 16}, {"v_proj", 8}};
  TemporaryFolder folder_;
  std::vector<TestTensor> tensors_;
};

// v_proj has no bias: zeros.
TEST_F(CompanionsTest, FusedBias) {
  add("q_proj.bias", 32, 100);
  add("k_proj.bias", 16, 500);
  EXPECT_TRUE(repack("qkv_proj", true).epilogue.bias);
  const std::vector<std::uint16_t> bias = written("qkv_proj.bias");
  ASSERT_EQ(bias.size(), 56u);
  for (std::size_t i = 0; i < 56; ++i) EXPECT_EQ(bias[i], i < 32 ? 100 + i : i < 48 ? 468 + i : 0);
  EXPECT_FALSE(has("q_proj.bias"));
  EXPECT_FALSE(has("k_proj.bias"));
}

TEST_F(CompanionsTest, ApartEachKeepsItsOwn) {
  add("q_proj.bias", 32, 100);
  add("k_proj.pre_quant_scale", 128, 7);
  const GemmSpec q = repack("q_proj", false);
  EXPECT_TRUE(q.epilogue.bias);
  EXPECT_FALSE(q.pre_scale);
  const GemmSpec k = repack("k_proj", false);
  EXPECT_FALSE(k.epilogue.bias);
  EXPECT_TRUE(k.pre_scale);
  EXPECT_EQ(written("q_proj.bias").front(), 100);
  EXPECT_EQ(written("k_proj.pre_quant_scale").back(), 7 + 127);
}

TEST_F(CompanionsTest, FusedPreScale) {
  for (const auto& [name, rows] : kParts) add(name + ".pre_quant_scale", 128, 7);
  const GemmSpec spec = repack("qkv_proj", true);
  EXPECT_TRUE(spec.pre_scale);
  EXPECT_TRUE(spec.act_order);
  EXPECT_FALSE(spec.epilogue.bias);
  EXPECT_EQ(written("qkv_proj.pre_quant_scale").size(), 128u);
  EXPECT_FALSE(has("q_proj.pre_quant_scale"));
}

// Each part is then a layer of its own.
TEST_F(CompanionsTest, PartsWithOtherVectorsStayApart) {
  const std::vector<TestTensor> plain = tensors_;
  add("q_proj.pre_quant_scale", 128, 7);
  EXPECT_TRUE(repack("q_proj", true).pre_scale);
  EXPECT_FALSE(repack("k_proj", true).pre_scale);
  add("k_proj.pre_quant_scale", 128, 7);
  add("v_proj.pre_quant_scale", 128, 8);
  EXPECT_TRUE(repack("v_proj", true).pre_scale);
  EXPECT_FALSE(has("qkv_proj.heddle"));
  tensors_ = plain;
  add("q_proj.bias", 32, 100);
  tensors_.push_back({"k_proj.bias", TensorType::kF32, {16}, std::vector<std::uint8_t>(64, 1)});
  EXPECT_TRUE(repack("k_proj", true).epilogue.bias);
  EXPECT_FALSE(repack("v_proj", true).epilogue.bias);
}

// Some quantisers write one for each layer.
TEST_F(CompanionsTest, BiasesOfZerosAreLeftOut) {
  tensors_.push_back({"q_proj.bias", TensorType::kF16, {32}, std::vector<std::uint8_t>(64)});
  tensors_.push_back({"k_proj.bias", TensorType::kF16, {16}, std::vector<std::uint8_t>(32)});
  EXPECT_FALSE(repack("qkv_proj", true).epilogue.bias);
  EXPECT_FALSE(has("qkv_proj.bias"));
  EXPECT_FALSE(has("q_proj.bias"));
  EXPECT_FALSE(repack("q_proj", false).epilogue.bias);
  EXPECT_FALSE(has("q_proj.bias"));
  add("v_proj.bias", 8, 100);
  EXPECT_TRUE(repack("qkv_proj", true).epilogue.bias);
  EXPECT_EQ(written("qkv_proj.bias").at(47), 0);
  EXPECT_EQ(written("qkv_proj.bias").at(48), 100);
}

TEST_F(CompanionsTest, OfTheWrongSize) {
  add("q_proj.bias", 31, 100);
  try {
    repack("q_proj", false);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::kUnsupported);
    EXPECT_NE(std::string(error.what()).find("q_proj.bias"), std::string::npos);
  }
}

}  // namespace
}  // namespace heddle

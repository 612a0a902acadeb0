// The host memory that CheckpointReader promises to need, and no more.
#include <gtest/gtest.h>

#include "heddle/checkpoint.h"
#include "tests/checkpoint/heap_peak.h"
#include "tests/checkpoint/reader_cases.h"

namespace heddle {
namespace {

constexpr std::size_t kRows = 4096;
constexpr std::size_t kColumns = 2048;
constexpr std::size_t kGroups = kColumns / 128;
constexpr std::size_t kSmallBytes = std::size_t{64} << 10;  // names, shapes and the like

// One large AWQ layer, whose codes are 4 MiB as the checkpoint has them and as they are packed. The
// values do not matter.
void write_large_layer(const TemporaryFolder& folder) {
  const auto words = [](std::size_t rows) { return some_bytes(rows * kRows / 2); };
  write_file(folder / "config.json",
             R"({"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128,
                                         "zero_point": true, "version": "gemm"}})");
  write_tensors(
      folder / "model.safetensors",
      {tensor("l.qweight", TensorType::kI32, kColumns, kRows / 8, words(kColumns)),
       tensor("l.qzeros", TensorType::kI32, kGroups, kRows / 8, words(kGroups)),
       some_halves("l.scales", {kGroups, kRows}), some_halves("plain", {kRows, kColumns})});
}

TEST(ReaderMemoryTest, PackingInPiecesTakesTheSourceAndAPanelOfRows) {
  const TemporaryFolder folder;
  write_large_layer(folder);
  static_cast<void>(CheckpointReader(folder.path()));  // tables that the library keeps
  const std::size_t before = testing::heap_bytes();
  const CheckpointReader reader(folder.path());
  // Reading zero points takes memory while the checkpoint is opened; none of it is kept.
  EXPECT_LE(testing::heap_bytes() - before, kSmallBytes);
  const CheckpointLayer& layer = reader.layers().at(0);
  EXPECT_EQ(layer.source_bytes, kRows * kColumns / 2 + kRows * kGroups / 2 + kRows * kGroups * 2);
  const auto count = [](std::size_t, const void*, std::size_t) { return true; };

  testing::take_heap_peak();
  const std::size_t opened = testing::heap_bytes();
  reader.pack(layer, count);
  const std::size_t zeros_and_scales = kRows * kGroups * (1 + 2);
  // The codes of the layer are not on this heap: they are LargeBuffer, of source_bytes at most.
  EXPECT_LE(testing::take_heap_peak() - opened,
            2 * zeros_and_scales + 2 * (32 * kColumns) + 32 * kGroups * 3 * 2 + kSmallBytes);
  EXPECT_EQ(testing::heap_bytes(), opened);

  reader.read(reader.tensors().at(0), count);
  EXPECT_LE(testing::take_heap_peak() - opened, CheckpointReader::kMostPieceBytes + kSmallBytes);
  EXPECT_EQ(testing::heap_bytes(), opened);
}

// A head of 16 MiB, as it is and quantised on its way.
TEST(ReaderMemoryTest, AHeadOf16BitsIsNeverThereAsAWhole) {
  const TemporaryFolder folder;
  write_file(folder / "config.json", R"({"model_type": "llama", "torch_dtype": "float16"})");
  write_tensors(folder / "model.safetensors", {some_halves("lm_head.weight", {kRows, kColumns})});
  for (const int bits : {0, 8}) {
    CheckpointOptions options;
    options.dense = bits == 0;
    options.lm_head_bits = bits;
    const CheckpointReader reader(folder.path(), options);
    const CheckpointLayer& layer = reader.layers().at(0);
    const auto count = [](std::size_t, const void*, std::size_t) { return true; };
    reader.pack(layer, count);  // tables that the library keeps
    testing::take_heap_peak();
    const std::size_t opened = testing::heap_bytes();
    reader.pack(layer, count);
    constexpr std::size_t kPanel = 32 * kColumns * 2;
    constexpr std::size_t kTables = std::size_t{1} << 19;  // of the quantiser
    const std::size_t most = bits == 0 ? 3 * kPanel : 256 * kColumns * 4 + 3 * kPanel + kTables;
    EXPECT_LE(testing::take_heap_peak() - opened, most + kSmallBytes) << bits;
    EXPECT_EQ(testing::heap_bytes(), opened);
  }
}

// A stack of experts, whose scales alone are 2 MiB.
TEST(ReaderMemoryTest, OfAStackOneExpertIsThere) {
  constexpr std::int64_t kExperts = 32;
  constexpr std::int64_t kHidden = 2048;
  constexpr std::int64_t kInner = 512;
  const TemporaryFolder folder;
  write_file(folder / "config.json",
             R"({"model_type": "gpt_oss", "torch_dtype": "bfloat16", "hidden_size": 2048,
                 "intermediate_size": 512, "num_hidden_layers": 1, "num_attention_heads": 2,
                 "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 96, "rms_norm_eps": 1e-5,
                 "num_local_experts": 32, "num_experts_per_tok": 4, "sliding_window": 128,
                 "quantization_config": {"quant_method": "mxfp4"}})");
  std::vector<TestTensor> tensors;
  for (const auto& [name, n, k] :
       {std::tuple{"gate_up_proj", 2 * kInner, kHidden}, {"down_proj", kHidden, kInner}}) {
    const std::string at = std::string("model.layers.0.mlp.experts.") + name;
    const auto groups = static_cast<std::size_t>(kExperts * n * k / 32);
    tensors.push_back(
        {at + "_blocks", TensorType::kU8, {kExperts, n, k / 32, 16}, some_bytes(groups * 16)});
    tensors.push_back(
        {at + "_scales", TensorType::kU8, {kExperts, n, k / 32}, some_bytes(groups, 130)});
    const auto biases = static_cast<std::size_t>(kExperts * n);
    tensors.push_back(
        {at + "_bias", TensorType::kBf16, {kExperts, n}, some_bytes(2 * biases, 0x40)});
  }
  write_tensors(folder / "model.safetensors", tensors);
  const CheckpointReader reader(folder.path());
  const CheckpointLayer& layer = reader.layer(reader.experts().at(0).gate_up);
  const auto count = [](std::size_t, const void*, std::size_t) { return true; };
  reader.pack(layer, count);  // tables that the library keeps
  testing::take_heap_peak();
  const std::size_t opened = testing::heap_bytes();
  reader.pack(layer, count);
  constexpr std::size_t kScales = kExperts * 2 * kInner * kHidden / 32;
  EXPECT_LE(testing::take_heap_peak() - opened, kScales / 4);
  EXPECT_EQ(testing::heap_bytes(), opened);
}

// Experts in act-order, whose scales and zero points are 768 KiB, and their orders 32 KiB.
TEST(ReaderMemoryTest, OfExpertsInActOrderOneIsThere) {
  constexpr std::size_t kExperts = 16;
  constexpr std::size_t kHidden = 512;
  constexpr std::size_t kInner = 512;
  const TemporaryFolder folder;
  write_file(folder / "config.json",
             R"({"model_type": "mixtral", "torch_dtype": "float16", "hidden_size": 512,
                 "intermediate_size": 512, "num_hidden_layers": 1, "num_attention_heads": 2,
                 "num_key_value_heads": 2, "vocab_size": 96, "rms_norm_eps": 1e-5,
                 "num_local_experts": 16, "num_experts_per_tok": 2,
                 "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32,
                                         "sym": false, "desc_act": true}})");
  std::vector<TestTensor> tensors;
  for (unsigned expert = 0; expert < kExperts; ++expert) {
    const std::string at =
        "model.layers.0.block_sparse_moe.experts." + std::to_string(expert) + ".";
    const SampleLayer gate = random_layer(kInner, kHidden, 32, 4, true, expert);
    append(gptq(gate, at + "w1", true), &tensors);
    append(gptq(gate, at + "w3", true), &tensors);
    append(gptq(random_layer(kHidden, kInner, 32, 4, true, expert + 99), at + "w2", true),
           &tensors);
  }
  write_tensors(folder / "model.safetensors", tensors);
  const CheckpointReader reader(folder.path());
  const CheckpointLayer& layer = reader.layer(reader.experts().at(0).gate_up);
  const auto count = [](std::size_t, const void*, std::size_t) { return true; };
  for (const CheckpointTensor& tensor : {layer.packed, layer.permutation.value()}) {
    reader.read(tensor, count);  // tables that the library keeps
    testing::take_heap_peak();
    const std::size_t opened = testing::heap_bytes();
    reader.read(tensor, count);
    constexpr std::size_t kMetadata = kExperts * 2 * kInner * (kHidden / 32) * 3;
    EXPECT_LE(testing::take_heap_peak() - opened, kMetadata / 4) << tensor.name;
    EXPECT_EQ(testing::heap_bytes(), opened);
  }
}

}  // namespace
}  // namespace heddle

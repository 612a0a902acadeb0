// Checkpoints of weights of four bits whose activations have eight.
#include <gtest/gtest.h>

#include "heddle/weights.h"
#include "tests/checkpoint/reader_cases.h"

namespace heddle {
namespace {

constexpr std::int64_t kN = 48, kK = 256;

std::string config(const std::string& groups, bool symmetric, const std::string& x) {
  return R"({"model_type": "llama", "torch_dtype": "bfloat16", "quantization_config": {
      "quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {
      "group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", )" +
         groups + R"(, "symmetric": )" + (symmetric ? "true" : "false") +
         R"(}, "input_activations": {"num_bits": 8, "type": ")" + x +
         R"(", "strategy": "token", "dynamic": true}}}}})";
}

class FourBitActivations : public ::testing::Test {
 protected:
  void write(const std::string& text, int group, bool symmetric) {
    std::vector<TestTensor> tensors;
    for (TestTensor& tensor :
         compressed(random_layer(kN, kK, static_cast<std::size_t>(group), 4, false), kLayer)) {
      const bool is_zeros = tensor.name.find("zero_point") != std::string::npos;
      const bool is_index = tensor.name.find("g_idx") != std::string::npos;
      if (!is_index && !(is_zeros && symmetric)) tensors.push_back(std::move(tensor));
    }
    write_file(folder_ / "config.json", text);
    write_tensors(folder_ / "model.safetensors", tensors);
  }
  CheckpointReader open(int activation_bits) const {
    CheckpointOptions options;
    options.activation_bits = activation_bits;
    options.arch = 90;
    return CheckpointReader(folder_.path(), options);
  }
  static QuantizedWeights unpacked(const CheckpointReader& reader) {
    const CheckpointLayer& layer = reader.layer(kLayer);
    std::vector<std::uint8_t> packed(layer.packed.bytes);
    reader.pack(layer, packed.data(), packed.size());
    return unpack_weights(layer.spec.gemm(), packed.data(), packed.size());
  }

  static constexpr const char* kLayer = "model.layers.0.mlp.down_proj";
  TemporaryFolder folder_;
};

TEST_F(FourBitActivations, HaveTheCodesAndScalesOfSixteenBits) {
  for (const int group : {32, 128}) {
    for (const bool symmetric : {true, false}) {
      for (const std::string x : {"int", "float"}) {
        write(
            config(R"("strategy": "group", "group_size": )" + std::to_string(group), symmetric, x),
            group, symmetric);
        const CheckpointReader bytes = open(0);
        const GemmSpec& gemm = bytes.layer(kLayer).spec.gemm();
        EXPECT_EQ(gemm.activation, x == "int" ? DType::kInt8 : DType::kFp8E4m3);
        EXPECT_EQ(gemm.weight.interleave, Interleave::kByteFragment);
        EXPECT_EQ(gemm.weight.group_size, group);
        EXPECT_EQ(bytes.layer(kLayer).layout_version, kLayoutVersion);
        const CheckpointReader halves = open(16);
        EXPECT_EQ(halves.layer(kLayer).spec.gemm().activation, DType::kBf16);
        const QuantizedWeights got = unpacked(bytes), wanted = unpacked(halves);
        EXPECT_EQ(got.codes, wanted.codes);
        EXPECT_EQ(got.scales, wanted.scales);
        EXPECT_EQ(got.zeros, wanted.zeros);
      }
    }
  }
}

// A group that is no whole columns of a matrix instruction keeps 16 bits, and a note says so.
TEST_F(FourBitActivations, OtherGroupsKeepSixteenBits) {
  write(config(R"("strategy": "group", "group_size": 16)", true, "int"), 16, true);
  const CheckpointReader reader = open(0);
  EXPECT_EQ(reader.layer(kLayer).spec.gemm().activation, DType::kBf16);
  std::string notes;
  for (const std::string& note : reader.notes()) notes += note;
  EXPECT_NE(notes.find("whole columns of a matrix instruction"), std::string::npos) << notes;
}

}  // namespace
}  // namespace heddle

// Checkpoints whose scales are those of blocks of 128 by 128, and what is packed of them against
// the dequantised tensors.
#ifndef HEDDLE_TESTS_CHECKPOINT_BLOCK_CASES_H_
#define HEDDLE_TESTS_CHECKPOINT_BLOCK_CASES_H_

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/codes/float_codes.h"
#include "heddle/weights.h"
#include "tests/checkpoint/reader_cases.h"

namespace heddle {

inline const std::string kAttention = "model.layers.0.self_attn.";

inline std::string config_with(const std::string& fields) {
  return R"({"model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 320,
             "intermediate_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
             "num_hidden_layers": 1, "vocab_size": 64, "rms_norm_eps": 1e-5, "hidden_act": "silu",
             "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128])" +
         fields + "}}";
}
inline const std::string kDynamic = R"(, "activation_scheme": "dynamic")";
inline const std::string kPowers = kDynamic + R"(, "scale_fmt": "ue8m0")";

// A matrix as the checkpoint has it, and its scales in FP32.
struct Matrix {
  std::int64_t n, k;
  std::vector<std::uint8_t> codes;
  std::vector<float> scales;  // [blocks of n][blocks of k]

  std::int64_t k_blocks() const { return (k + 127) / 128; }
  double at(std::int64_t row, std::int64_t column) const {
    const std::int64_t block = row / 128 * k_blocks() + column / 128;
    return e4m3_value(codes[static_cast<std::size_t>(row * k + column)]) *
           double{scales[static_cast<std::size_t>(block)]};
  }
};

class BlockActivations : public ::testing::Test {
 protected:
  // With scales that the type holds.
  const Matrix& add(const std::string& name, std::int64_t n, std::int64_t k,
                    TensorType type = TensorType::kF32) {
    Matrix matrix{n, k, some_bytes(static_cast<std::size_t>(n * k)), {}};
    for (std::uint8_t& code : matrix.codes) {
      if ((code & 0x7F) == 0x7F) code = 0x38;  // no NaN
    }
    std::vector<std::uint8_t> stored;
    const std::int64_t n_blocks = (n + 127) / 128;
    for (std::int64_t i = 0; i < n_blocks * matrix.k_blocks(); ++i) {
      const bool power = type == TensorType::kF8E8M0;
      const auto exponent = static_cast<int>(i % 11 + n % 5) - 16;
      const float scale = std::ldexp(power ? 1.0F : 1.0F + static_cast<float>(i % 7) / 8, exponent);
      matrix.scales.push_back(scale);
      const auto bits = std::bit_cast<std::uint32_t>(scale);
      const auto put = [&](auto value) {
        const auto bytes = bytes_of_values(std::vector{value});
        stored.insert(stored.end(), bytes.begin(), bytes.end());
      };
      if (power) {
        put(static_cast<std::uint8_t>(exponent + 127));
      } else if (type == TensorType::kBf16) {
        put(static_cast<std::uint16_t>(bits >> 16));
      } else if (type == TensorType::kF16) {
        // From 2^-14 on, with three bits behind the point.
        matrix.scales.back() = std::ldexp(scale, 4);
        put(static_cast<std::uint16_t>((exponent + 4 + 15) << 10 | (bits >> 13 & 0x3FF)));
      } else {
        put(scale);
      }
    }
    tensors_.push_back({name + ".weight", TensorType::kF8E4M3, {n, k}, matrix.codes});
    tensors_.push_back({name + ".weight_scale_inv", type, {n_blocks, matrix.k_blocks()}, stored});
    return matrices_.emplace(name, std::move(matrix)).first->second;
  }
  void add_gate_and_up(std::int64_t rows, std::int64_t k = 320) {
    add(kMlp + "gate_proj", rows, k);
    add(kMlp + "up_proj", rows, k);
  }
  void clear() {
    tensors_.clear();
    matrices_.clear();
  }

  CheckpointReader open(const CheckpointOptions& options = {},
                        const std::string& config = config_with(kDynamic)) {
    write_case({"", config, tensors_}, folder_);
    return CheckpointReader(folder_.path(), options);
  }
  static CheckpointOptions gated() {
    CheckpointOptions options;
    options.gated = true;
    return options;
  }
  static CheckpointOptions of_rank(std::int64_t rank, bool fuse = true) {
    CheckpointOptions options;
    options.parallel = {rank, 2};
    options.fuse = fuse;
    return options;
  }

  static std::vector<std::uint8_t> packed(const CheckpointReader& reader,
                                          const CheckpointLayer& layer) {
    std::vector<std::uint8_t> bytes(layer.packed.bytes, 0xA5);
    reader.pack(layer, bytes.data(), bytes.size());
    return bytes;
  }

  static void expect_blocks(const GemmSpec& gemm) {
    EXPECT_EQ(gemm.activation, DType::kFp8E4m3);
    EXPECT_EQ(gemm.activation_scale.granularity, RowGranularity::kGroup);
    EXPECT_EQ(gemm.output, DType::kBf16);
    EXPECT_EQ(gemm.weight.group_rows, 128);
    EXPECT_EQ(gemm.weight.group_size, 128);
    EXPECT_EQ(gemm.weight.scale_dtype, DType::kFp32);
    EXPECT_EQ(gemm.weight.interleave, Interleave::kSwizzle128b);
  }

  // The packed weights are the parts' rows one below the other, from these of their columns and
  // rows on, and the bytes those of the whole matrix packed at once.
  void expect_parts(const CheckpointReader& reader, const std::string& name,
                    std::int64_t first_column = 0, std::int64_t first_row = 0) {
    const CheckpointLayer& layer = reader.layer(name);
    const GemmSpec& gemm = layer.spec.gemm();
    expect_blocks(gemm);
    EXPECT_EQ(layer.layout_version, kLayoutVersion);
    const std::vector<std::uint8_t> bytes = packed(reader, layer);
    const QuantizedWeights got = unpack_weights(gemm, bytes.data(), bytes.size());
    EXPECT_EQ(bytes, pack_weights(gemm, got)) << "panels are those of the whole";
    std::int64_t row = 0;
    for (const CheckpointPart& part : layer.parts) {
      const Matrix& matrix = matrices_.at(part.name);
      for (std::int64_t r = 0; r < part.rows; ++r, ++row) {
        for (std::int64_t c = 0; c < gemm.shape.k; ++c) {
          ASSERT_EQ(value(gemm, got, row, c), matrix.at(first_row + r, first_column + c))
              << part.name << " " << r << " " << c;
        }
      }
    }
    EXPECT_EQ(row, gemm.shape.n);
  }
  static double value(const GemmSpec& gemm, const QuantizedWeights& weights, std::int64_t row,
                      std::int64_t column) {
    const std::int64_t groups = groups_along_k(gemm.weight, gemm.shape.k);
    float scale = 0;
    std::memcpy(&scale,
                &weights.scales[static_cast<std::size_t>(4 * (row / 128 * groups + column / 128))],
                sizeof scale);
    return e4m3_value(weights.codes[static_cast<std::size_t>(row * gemm.shape.k + column)]) *
           double{scale};
  }
  static std::string notes_of(const CheckpointReader& reader) {
    std::string text;
    for (const std::string& note : reader.notes()) text += note + '\n';
    return text;
  }
  static void expect_sixteen(const CheckpointReader& reader, const std::string& name,
                             const std::string& why) {
    const GemmSpec& gemm = reader.layer(name).spec.gemm();
    EXPECT_EQ(gemm.activation, DType::kBf16) << name;
    EXPECT_EQ(gemm.weight.group_rows, 1);
    EXPECT_NE(notes_of(reader).find(name + ": "), std::string::npos) << notes_of(reader);
    EXPECT_NE(notes_of(reader).find(why), std::string::npos) << notes_of(reader);
  }

  TemporaryFolder folder_;
  std::vector<TestTensor> tensors_;
  std::map<std::string, Matrix> matrices_;
};

}  // namespace heddle

#endif  // HEDDLE_TESTS_CHECKPOINT_BLOCK_CASES_H_

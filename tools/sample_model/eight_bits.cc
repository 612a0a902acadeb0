#include "tools/sample_model/eight_bits.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include "checkpoint/codes/float_codes.h"
#include "generator/decode/float16.h"

namespace heddle {
namespace {

constexpr std::size_t kBlock = 128;
constexpr float kStaticScale = 16.0F / 448;  // X of these models is below 16, FP8 ends at 448

bool is_integer(EightBits kind) {
  return kind == EightBits::kInt8 || kind == EightBits::kInt8Zeros;
}

// How many scales a matrix has along its sides.
std::pair<std::size_t, std::size_t> scales_of(EightBits kind, std::size_t rows,
                                              std::size_t columns) {
  if (is_integer(kind)) return {rows, 1};
  if (!has_blocks(kind)) return {1, 1};
  return {(rows + kBlock - 1) / kBlock, (columns + kBlock - 1) / kBlock};
}

SampleTensor tensor_of_scales(EightBits kind, const std::string& layer,
                              const std::vector<float>& scales, std::size_t rows,
                              std::size_t columns) {
  const auto height = static_cast<std::int64_t>(rows);
  if (!has_blocks(kind)) {
    return {layer + ".weight_scale", TensorType::kF32, {height}, bytes_of_values(scales)};
  }
  SampleTensor tensor = {layer + ".weight_scale_inv",
                         TensorType::kF32,
                         {height, static_cast<std::int64_t>(columns)},
                         bytes_of_values(scales)};
  if (kind != EightBits::kFp8PowerBlocks) return tensor;
  tensor.type = TensorType::kF8E8M0;
  tensor.bytes.clear();
  for (const float scale : scales) {
    tensor.bytes.push_back(static_cast<std::uint8_t>(std::ilogb(scale) + 127));
  }
  return tensor;
}

std::string compressed_config(const char* format, const char* type, const char* weights,
                              const std::string& activations) {
  return R"({"quant_method": "compressed-tensors", "format": ")" + std::string(format) +
         R"(", "ignore": ["lm_head"], "config_groups": {"all": {"targets": ["Linear"],
         "weights": {"num_bits": 8, "type": ")" +
         type + R"(", "strategy": ")" + weights +
         R"("}, "input_activations": {"num_bits": 8, "type": ")" + type +
         R"(", "dynamic": true, )" + activations + "}}}}";
}

}  // namespace

bool has_blocks(EightBits kind) {
  return kind == EightBits::kFp8Blocks || kind == EightBits::kFp8PowerBlocks;
}

SampleMatrix add_eight_bits(EightBits kind, const std::string& name, std::size_t rows,
                            std::size_t columns, bool scales_bf16, std::mt19937& random,
                            std::vector<SampleTensor>* tensors) {
  const bool integers = is_integer(kind);
  std::vector<std::uint8_t> codes(rows * columns);
  std::vector<float> values(rows * columns);
  double squares = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    auto code = static_cast<unsigned>(random() % 256);
    if (!integers) code = (code & 0x87) | (4 + static_cast<unsigned>(random() % 6)) << 3;
    codes[i] = static_cast<std::uint8_t>(code);
    values[i] = integers ? static_cast<float>(static_cast<std::int8_t>(code))
                         : static_cast<float>(e4m3_value(codes[i]));
    squares += double{values[i]} * values[i];
  }
  const double deviation = std::sqrt(squares / static_cast<double>(codes.size()) * double(columns));
  std::uniform_real_distribution<double> scale(0.5, 1.5);
  const auto [scale_rows, scale_columns] = scales_of(kind, rows, columns);
  std::vector<float> scales(scale_rows * scale_columns);
  for (float& one : scales) {
    one = static_cast<float>(scale(random) / deviation);
    if (kind == EightBits::kFp8PowerBlocks) one = std::exp2(std::round(std::log2(one)));
    if (integers && scales_bf16) {
      one = static_cast<float>(float16_to_double(kBfloat16, float16_from_double(kBfloat16, one)));
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t row = i / columns;
    const std::size_t block = row / kBlock * scale_columns + i % columns / kBlock;
    values[i] *= scales[integers ? row : has_blocks(kind) ? block : 0];
  }
  tensors->push_back({name + ".weight",
                      integers ? TensorType::kI8 : TensorType::kF8E4M3,
                      {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)},
                      std::move(codes)});
  tensors->push_back(tensor_of_scales(kind, name, scales, scale_rows, scale_columns));
  if (integers) {
    SampleTensor& tensor = tensors->back();
    tensor.shape.push_back(1);
    if (scales_bf16) {
      tensor.type = TensorType::kBf16;
      std::vector<std::uint16_t> bits;
      bits.reserve(scales.size());
      for (const float scale : scales) bits.push_back(float16_from_double(kBfloat16, scale));
      tensor.bytes = bytes_of_values(bits);
    }
  }
  if (kind == EightBits::kFp8Static) {
    tensors->push_back({name + ".input_scale",
                        TensorType::kF32,
                        {1},
                        bytes_of_values(std::vector<float>{kStaticScale})});
  }
  return {rows, columns, std::move(values)};
}

std::string eight_bits_quantisation(EightBits kind) {
  switch (kind) {
    case EightBits::kInt8:
      return compressed_config("int-quantized", "int", "channel", R"("strategy": "token")");
    case EightBits::kInt8Zeros:
      return compressed_config("int-quantized", "int", "channel",
                               R"("strategy": "token", "symmetric": false)");
    case EightBits::kFp8Unscaled:
      return compressed_config("float-quantized", "float", "tensor", R"("strategy": "tensor")");
    default:
      break;
  }
  std::string fields = R"("quant_method": "fp8", "activation_scheme": )";
  fields += kind == EightBits::kFp8Static ? R"("static")" : R"("dynamic")";
  if (has_blocks(kind)) fields += R"(, "weight_block_size": [128, 128])";
  if (kind == EightBits::kFp8PowerBlocks) fields += R"(, "scale_fmt": "ue8m0")";
  return '{' + fields + '}';
}

}  // namespace heddle

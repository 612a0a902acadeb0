#include "checkpoint/mx_fp8.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "checkpoint/half_convert.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::int64_t kMxGroup = 32;
constexpr std::int64_t kMxBytes = kMxGroup / 2;

[[noreturn]] void contradiction(const LayerName& layer, const std::string& why) {
  throw Error(ErrorCategory::kFile, "checkpoint.layer",
              fmt::format("layer \"{}\": {}", layer.name, why));
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

class Fp8Layer final : public DenseRows {
 public:
  std::vector<std::int64_t> shape() const override { return {n, k}; }
  DType native_dtype() const override {
    return scale_type == TensorType::kF16 ? DType::kFp16 : DType::kBf16;
  }
  void rows(std::int64_t first, std::int64_t count, DType dtype,
            std::uint16_t* out) const override {
    for (std::int64_t row = first; row < first + count; ++row) {
      for (std::int64_t begin = 0; begin < k; begin += block_k) {
        const std::int64_t end = std::min(k, begin + block_k);
        const std::int64_t index = row / block_n * ceil_div(k, block_k) + begin / block_k;
        const double scale =
            float_element(scale_type, scales.data(), static_cast<std::size_t>(index));
        for (std::int64_t i = begin; i < end; ++i) {
          out[(row - first) * k + i] =
              round_to_16(dtype, values[codes[static_cast<std::size_t>(row * k + i)]] * scale);
        }
      }
    }
  }

  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t block_n = 1;  // rows and columns that share a scale
  std::int64_t block_k = 1;
  TensorType scale_type = TensorType::kF32;
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
  std::array<double, 256> values{};
};

class Mxfp4Layer final : public DenseRows {
 public:
  std::vector<std::int64_t> shape() const override { return sides; }
  DType native_dtype() const override { return DType::kBf16; }
  void rows(std::int64_t first, std::int64_t count, DType dtype,
            std::uint16_t* out) const override {
    const std::int64_t groups = sides.back() / kMxGroup;
    for (std::int64_t g = first * groups; g < (first + count) * groups; ++g) {
      const double scale = e8m0_value(scales[static_cast<std::size_t>(g)]);
      std::array<std::uint16_t, 16> table{};
      for (std::size_t code = 0; code < table.size(); ++code) {
        table[code] = round_to_16(dtype, e2m1_value(static_cast<std::uint8_t>(code)) * scale);
      }
      const std::uint8_t* from = blocks.data() + g * kMxBytes;
      std::uint16_t* to = out + (g - first * groups) * kMxGroup;
      for (std::int64_t i = 0; i < kMxBytes; ++i) {
        to[2 * i] = table[from[i] & 0xF];
        to[2 * i + 1] = table[from[i] >> 4];
      }
    }
  }

  std::vector<std::int64_t> sides;
  std::vector<std::uint8_t> blocks;
  std::vector<std::uint8_t> scales;
};

// How many rows and columns share a scale: all, a row each, or the config's blocks.
void read_scale_shape(const LayerName& layer, const TensorInfo& scale,
                      const CheckpointConfig& config, Fp8Layer& result) {
  using Shape = std::vector<std::int64_t>;
  const Shape blocks = {ceil_div(result.n, config.fp8_block_n),
                        ceil_div(result.k, config.fp8_block_k)};
  if (scale.shape.empty() || scale.shape == Shape{1} || scale.shape == Shape{1, 1}) {
    result.block_n = result.n;
    result.block_k = result.k;
  } else if (scale.shape == Shape{result.n} || scale.shape == Shape{result.n, 1}) {
    result.block_k = result.k;
  } else if (scale.shape == blocks) {
    result.block_n = config.fp8_block_n;
    result.block_k = config.fp8_block_k;
  } else {
    contradiction(layer, fmt::format("the tensor {} is {}, which is no scale of [{}, {}] with "
                                     "blocks of {} by {}",
                                     scale.name, describe(scale.type, scale.shape), result.n,
                                     result.k, config.fp8_block_n, config.fp8_block_k));
  }
}

}  // namespace

double e4m3_value(std::uint8_t code) {
  const int exponent = code >> 3 & 0xF;
  const int mantissa = code & 0x7;
  const double sign = (code & 0x80) != 0 ? -1.0 : 1.0;
  if ((code & 0x7F) == 0x7F) return std::copysign(NAN, sign);
  if (exponent == 0) return sign * std::ldexp(mantissa, -9);
  return sign * std::ldexp(8 + mantissa, exponent - 10);
}

double e2m1_value(std::uint8_t code) {
  static constexpr std::array<double, 8> kMagnitudes = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  const double magnitude = kMagnitudes[code & 0x7];
  return (code & 0x8) != 0 ? -magnitude : magnitude;
}

double e8m0_value(std::uint8_t code) { return code == 255 ? NAN : std::ldexp(1.0, code - 127); }

std::unique_ptr<DenseRows> read_fp8_layer(const Checkpoint& checkpoint, const LayerName& layer,
                                          const CheckpointConfig& config, Load load) {
  const TensorInfo& weight = *checkpoint.at(layer.name + ".weight").tensor;
  const std::string plain = layer.name + ".weight_scale";
  const TensorInfo& scale =
      *checkpoint.at(checkpoint.find(plain) != nullptr ? plain : plain + "_inv").tensor;
  if (weight.shape.size() != 2 || weight.bytes == 0) {
    contradiction(layer, "the weight is not a matrix");
  }
  if (scale.type != TensorType::kF32 && scale.type != TensorType::kF16 &&
      scale.type != TensorType::kBf16) {
    contradiction(layer, fmt::format("the tensor {} is {}, not F16, BF16 or F32", scale.name,
                                     describe(scale.type, scale.shape)));
  }
  auto result = std::make_unique<Fp8Layer>();
  result->n = weight.shape[0];
  result->k = weight.shape[1];
  result->scale_type = scale.type;
  read_scale_shape(layer, scale, config, *result);
  for (std::size_t code = 0; code < result->values.size(); ++code) {
    result->values[code] = e4m3_value(static_cast<std::uint8_t>(code));
  }
  if (load == Load::kShape) return result;
  result->codes = checkpoint.read(weight.name);
  result->scales = checkpoint.read(scale.name);
  return result;
}

std::unique_ptr<DenseRows> read_mxfp4_layer(const Checkpoint& checkpoint, const LayerName& layer,
                                            Load load) {
  const std::string joint = layer.kind == LayerName::Kind::kMxfp4Experts ? "_" : ".";
  const TensorInfo& blocks = *checkpoint.at(layer.name + joint + "blocks").tensor;
  const TensorInfo& scales = *checkpoint.at(layer.name + joint + "scales").tensor;
  std::vector<std::int64_t> want = blocks.shape;
  if (want.size() < 3 || want.back() != kMxBytes || blocks.bytes == 0) {
    contradiction(layer, fmt::format("the tensor {} is {}, expected U8 [..., N, K / 32, 16]",
                                     blocks.name, describe(blocks.type, blocks.shape)));
  }
  want.pop_back();
  if ((scales.type != TensorType::kU8 && scales.type != TensorType::kF8E8M0) ||
      scales.shape != want) {
    contradiction(layer, fmt::format("the tensor {} is {}, expected U8 [{}]", scales.name,
                                     describe(scales.type, scales.shape), fmt::join(want, ", ")));
  }
  auto result = std::make_unique<Mxfp4Layer>();
  result->sides = want;
  result->sides.back() *= kMxGroup;
  if (load == Load::kShape) return result;
  result->blocks = checkpoint.read(blocks.name);
  result->scales = checkpoint.read(scales.name);
  return result;
}

}  // namespace heddle

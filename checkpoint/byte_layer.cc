// FP8 and INT8: a code to a byte, with scales per tensor, row, block or MX group.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "checkpoint/float_codes.h"
#include "checkpoint/half_convert.h"
#include "checkpoint/large_buffer.h"
#include "checkpoint/read_layer.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::int64_t kMxGroup = 32;

[[noreturn]] void contradiction(const std::string& layer, const std::string& why) {
  throw Error(ErrorCategory::kFile, "checkpoint.layer",
              fmt::format("layer \"{}\": {}", layer, why));
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

bool is_e8m0(TensorType type) { return type == TensorType::kU8 || type == TensorType::kF8E8M0; }

// Rows and columns that share a scale.
struct Block {
  std::int64_t n = 1;
  std::int64_t k = 1;
};

class ByteLayer final : public QuantizedRows {
 public:
  ByteLayer(const std::string& name, const TensorInfo& weight, const TensorInfo& scale, Block block)
      : QuantizedRows(name, weight.shape), block_(block), scale_type_(scale.type) {
    type_ = weight.type == TensorType::kF8E4M3   ? WeightType::kE4m3
            : weight.type == TensorType::kF8E5M2 ? WeightType::kE5m2
                                                 : WeightType::kInt;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const auto code = static_cast<std::uint8_t>(i);
      values_[i] = type_ == WeightType::kE4m3   ? e4m3_value(code)
                   : type_ == WeightType::kE5m2 ? e5m2_value(code)
                                                : static_cast<std::int8_t>(code);
    }
  }

  void read(const Checkpoint& checkpoint, const TensorInfo& weight, const TensorInfo& scale) {
    codes_ = make_large_buffer<std::uint8_t>(weight.bytes);
    checkpoint.at(weight.name).file->read(weight, 0, codes_.get(), weight.bytes);
    scales_ = checkpoint.read(scale.name);
  }

  WeightSpec weight() const override {
    WeightSpec weight;
    weight.bits = 8;
    weight.type = type_;
    weight.group_size = block_.k < k()   ? static_cast<int>(block_.k)
                        : block_.n < n() ? kPerChannel
                                         : kPerTensor;
    weight.scale_dtype = is_e8m0(scale_type_)               ? DType::kE8m0
                         : scale_type_ == TensorType::kF16  ? DType::kFp16
                         : scale_type_ == TensorType::kBf16 ? DType::kBf16
                                                            : DType::kFp32;
    return weight;
  }

  DType native_dtype() const override {
    return scale_type_ == TensorType::kF16 ? DType::kFp16 : DType::kBf16;
  }

  void codes(std::int64_t first, std::int64_t count, std::uint8_t* out) const override {
    std::memcpy(out, codes_.get() + first * k(), static_cast<std::size_t>(count * k()));
  }

  void scales(std::int64_t first, std::int64_t count, std::uint8_t* out) const override {
    const std::int64_t bytes = ceil_div(k(), block_.k) * bytes_of(scale_type_);
    for (std::int64_t row = first; row < first + count; ++row, out += bytes) {
      std::memcpy(out, scales_.data() + row / block_.n * bytes, static_cast<std::size_t>(bytes));
    }
  }

  void rows(std::int64_t first, std::int64_t count, DType dtype,
            std::uint16_t* out) const override {
    for (std::int64_t row = first; row < first + count; ++row) {
      for (std::int64_t begin = 0; begin < k(); begin += block_.k) {
        const std::int64_t end = std::min(k(), begin + block_.k);
        const double scale = scale_at(row / block_.n * ceil_div(k(), block_.k) + begin / block_.k);
        for (std::int64_t i = begin; i < end; ++i) {
          out[(row - first) * k() + i] =
              round_to_16(dtype, values_[codes_[static_cast<std::size_t>(row * k() + i)]] * scale);
        }
      }
    }
  }

 private:
  double scale_at(std::int64_t index) const {
    const auto i = static_cast<std::size_t>(index);
    return is_e8m0(scale_type_) ? e8m0_value(scales_[i])
                                : float_element(scale_type_, scales_.data(), i);
  }

  Block block_;
  TensorType scale_type_;
  WeightType type_ = WeightType::kE4m3;
  std::array<double, 256> values_{};
  LargeBuffer<std::uint8_t> codes_;
  std::vector<std::uint8_t> scales_;
};

// One scale for all, for a row each, for the config's blocks, or for an MX group each.
Block read_block(const std::string& layer, const TensorInfo& weight, const TensorInfo& scale,
                 const CheckpointConfig& config) {
  using Shape = std::vector<std::int64_t>;
  const std::int64_t n = weight.shape[0];
  const std::int64_t k = weight.shape[1];
  if (scale.shape.empty() || scale.shape == Shape{1} || scale.shape == Shape{1, 1}) return {n, k};
  if (scale.shape == Shape{n} || scale.shape == Shape{n, 1}) return {1, k};
  if (is_e8m0(scale.type) && scale.shape == Shape{n, ceil_div(k, kMxGroup)}) return {1, kMxGroup};
  const Block block = {config.fp8_block_n, config.fp8_block_k};
  if (scale.shape == Shape{ceil_div(n, block.n), ceil_div(k, block.k)}) return block;
  contradiction(layer,
                fmt::format("the tensor {} is {}, which is no scale of [{}, {}] with blocks "
                            "of {} by {}",
                            scale.name, describe(scale.type, scale.shape), n, k, block.n, block.k));
}

}  // namespace

std::unique_ptr<QuantizedRows> read_byte_layer(const Checkpoint& checkpoint, const LayerName& layer,
                                               const CheckpointConfig& config, Load load) {
  const TensorInfo& weight = *checkpoint.at(layer.name + ".weight").tensor;
  const std::string plain = layer.name + ".weight_scale";
  const TensorInfo& scale =
      *checkpoint.at(checkpoint.find(plain) != nullptr ? plain : plain + "_inv").tensor;
  if (weight.shape.size() != 2 || weight.bytes == 0) {
    contradiction(layer.name, "the weight is not a matrix");
  }
  if (checkpoint.find(layer.name + ".weight_zero_point") != nullptr) {
    throw Error(ErrorCategory::kUnsupported, "checkpoint.layer",
                fmt::format("layer \"{}\" has 8-bit weights with zero points", layer.name));
  }
  if (scale.type != TensorType::kF32 && scale.type != TensorType::kF16 &&
      scale.type != TensorType::kBf16 && !is_e8m0(scale.type)) {
    contradiction(layer.name, fmt::format("the tensor {} is {}, not F16, BF16, F32 or E8M0",
                                          scale.name, describe(scale.type, scale.shape)));
  }
  auto result = std::make_unique<ByteLayer>(layer.name, weight, scale,
                                            read_block(layer.name, weight, scale, config));
  if (load == Load::kAll) result->read(checkpoint, weight, scale);
  return result;
}

}  // namespace heddle

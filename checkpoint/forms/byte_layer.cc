// FP8 and INT8: a code to a byte, with scales per tensor, row, block, group or MX group.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "checkpoint/codes/float_codes.h"
#include "checkpoint/codes/half_convert.h"
#include "checkpoint/codes/large_buffer.h"
#include "checkpoint/forms/read_layer.h"
#include "checkpoint/modules/layer_error.h"
#include "checkpoint/modules/module_roles.h"
#include "generator/ceil_div.h"

namespace heddle {
namespace {

constexpr int kDefaultBlock = 128;  // rows and columns of FP8's blocks where the config has none
constexpr std::uint8_t kSignBit = 0x80;  // of a byte in two's complement

bool is_e8m0(TensorType type) { return type == TensorType::kU8 || type == TensorType::kF8E8M0; }

// Rows and columns that share a scale.
struct Block {
  std::int64_t n = 1;
  std::int64_t k = 1;
};

struct ByteTensors {
  TensorInfo weight;
  TensorInfo scale;
  const TensorInfo* zeros;          // I8, of the shape of the scales; null: none
  std::vector<std::int64_t> shape;  // [..., N, K]
};

class ByteLayer final : public QuantizedRows {
 public:
  ByteLayer(const std::string& name, const ByteTensors& tensors, Block block)
      : QuantizedRows(name, tensors.shape),
        stored_shape_(tensors.weight.shape),
        block_(block),
        scale_type_(tensors.scale.type),
        has_zeros_(tensors.zeros != nullptr) {
    const TensorType type = tensors.weight.type;
    type_ = type == TensorType::kF8E4M3   ? WeightType::kE4m3
            : type == TensorType::kF8E5M2 ? WeightType::kE5m2
            : has_zeros_                  ? WeightType::kUint
                                          : WeightType::kInt;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const auto code = static_cast<std::uint8_t>(i);
      values_[i] = type_ == WeightType::kE4m3   ? e4m3_value(code)
                   : type_ == WeightType::kE5m2 ? e5m2_value(code)
                   : has_zeros_                 ? code
                                                : static_cast<std::int8_t>(code);
    }
  }

  void read(const Checkpoint& checkpoint, const ByteTensors& tensors) {
    const TensorInfo& weight = tensors.weight;
    codes_ = make_large_buffer<std::uint8_t>(weight.bytes);
    checkpoint.at(weight.name).file->read(weight, 0, codes_.get(), weight.bytes);
    scales_.resize(tensors.scale.bytes);
    checkpoint.at(tensors.scale.name)
        .file->read(tensors.scale, 0, scales_.data(), tensors.scale.bytes);
    if (!has_zeros_) return;
    // Signed codes with zero points are unsigned ones with an offset of 128 in both.
    for (std::uint64_t i = 0; i < weight.bytes; ++i) codes_[i] ^= kSignBit;
    zeros_ = checkpoint.read(tensors.zeros->name);
    for (std::uint8_t& zero : zeros_) zero ^= kSignBit;
  }

  const std::vector<std::int64_t>& plain_shape() const override { return stored_shape_; }

  WeightSpec weight() const override {
    WeightSpec weight;
    weight.bits = 8;
    weight.type = type_;
    weight.zero_point = has_zeros_ ? ZeroPoint::kInt : ZeroPoint::kNone;
    weight.group_size = block_.k < k()   ? static_cast<int>(block_.k)
                        : block_.n < n() ? kPerChannel
                                         : kPerTensor;
    // A zero point for the whole tensor is one for each row.
    if (has_zeros_ && weight.group_size == kPerTensor) weight.group_size = kPerChannel;
    weight.scale_dtype = is_e8m0(scale_type_)               ? DType::kE8m0
                         : scale_type_ == TensorType::kF16  ? DType::kFp16
                         : scale_type_ == TensorType::kBf16 ? DType::kBf16
                                                            : DType::kFp32;
    return weight;
  }

  // A side that is shorter than a block has one scale, whatever it is called.
  bool is_in_blocks() const override {
    const auto is_side = [](std::int64_t stored, std::int64_t side, std::int64_t whole) {
      return stored == whole || (side <= whole && stored >= side);
    };
    return !has_zeros_ && is_side(block_.n, n(), kBlockRows) && is_side(block_.k, k(), kRowGroup);
  }

  DType native_dtype() const override {
    return scale_type_ == TensorType::kF16 ? DType::kFp16 : DType::kBf16;
  }

  void codes(std::int64_t first, std::int64_t count, std::uint8_t* out) const override {
    std::memcpy(out, codes_.get() + first * k(), static_cast<std::size_t>(count * k()));
  }

  void scales(std::int64_t first, std::int64_t count, std::uint8_t* out) const override {
    const std::int64_t bytes = blocks_of_row() * bytes_of(scale_type_);
    for (std::int64_t row = first; row < first + count; ++row, out += bytes) {
      std::memcpy(out, scales_.data() + block_row(row) * bytes, static_cast<std::size_t>(bytes));
    }
  }

  void zeros(std::int64_t first, std::int64_t count, std::uint8_t* out) const override {
    for (std::int64_t row = first; row < first + count; ++row, out += blocks_of_row()) {
      std::copy_n(zeros_.begin() + block_row(row) * blocks_of_row(), blocks_of_row(), out);
    }
  }

  void rows(std::int64_t first, std::int64_t count, DType dtype,
            std::uint16_t* out) const override {
    for (std::int64_t row = first; row < first + count; ++row) {
      for (std::int64_t begin = 0; begin < k(); begin += block_.k) {
        const std::int64_t end = std::min(k(), begin + block_.k);
        const auto index =
            static_cast<std::size_t>(block_row(row) * blocks_of_row() + begin / block_.k);
        const double scale = scale_at(index);
        const double zero = has_zeros_ ? zeros_[index] : 0;
        for (std::int64_t i = begin; i < end; ++i) {
          const double value = values_[codes_[static_cast<std::size_t>(row * k() + i)]] - zero;
          out[(row - first) * k() + i] = round_to_16(dtype, value * scale);
        }
      }
    }
  }

 private:
  std::int64_t blocks_of_row() const { return ceil_div(k(), block_.k); }
  // The row of scales of a row of all matrices: each matrix starts a row of blocks of its own.
  std::int64_t block_row(std::int64_t row) const {
    return row / n() * ceil_div(n(), block_.n) + row % n() / block_.n;
  }

  double scale_at(std::size_t i) const {
    return is_e8m0(scale_type_) ? e8m0_value(scales_[i])
                                : float_element(scale_type_, scales_.data(), i);
  }

  std::vector<std::int64_t> stored_shape_;
  Block block_;
  TensorType scale_type_;
  bool has_zeros_;
  WeightType type_ = WeightType::kE4m3;
  std::array<double, 256> values_{};
  LargeBuffer<std::uint8_t> codes_;
  std::vector<std::uint8_t> scales_;
  std::vector<std::uint8_t> zeros_;
};

// The scale's shape for one matrix, [N blocks, K blocks], if it is one of [..., N, K] with that
// block.
bool is_scale_of(const TensorInfo& scale, const std::vector<std::int64_t>& shape, Block block) {
  std::vector<std::int64_t> want = shape;
  want[want.size() - 2] = ceil_div(want[want.size() - 2], block.n);
  want.back() = ceil_div(want.back(), block.k);
  // Sides of one at the end may be left out. Model Optimizer has one behind each side of its
  // blocks.
  const auto without_ones = [](std::vector<std::int64_t> sides) {
    while (!sides.empty() && sides.back() == 1) sides.pop_back();
    return sides;
  };
  const std::vector<std::int64_t> blocks = {want[0], 1, want.back(), 1};
  return without_ones(scale.shape) == without_ones(want) ||
         (shape.size() == 2 && scale.shape == blocks);
}

// One scale for all, for a row each, for the config's blocks or groups, or for an MX group each.
Block read_block(const std::string& layer, const ByteTensors& tensors, const Scheme* scheme) {
  const TensorInfo& scale = tensors.scale;
  const std::int64_t n = tensors.shape[tensors.shape.size() - 2];
  const std::int64_t k = tensors.shape.back();
  const int said = scheme == nullptr ? 0 : scheme->group_size.value_or(0);
  Block config_block = {kDefaultBlock, kDefaultBlock};
  if (said > 0) config_block = {scheme->block_rows, said};
  std::vector<Block> candidates = {{n, k}, {1, k}};
  if (is_e8m0(scale.type)) candidates.push_back({1, kMxGroup});
  candidates.push_back(config_block);
  for (const Block& block : candidates) {
    if (is_scale_of(scale, tensors.shape, block)) return block;
  }
  refuse_layer(layer,
               fmt::format("the tensor {} is {}, which is no scale of [{}] with blocks of {} "
                           "by {}",
                           scale.name, describe(scale.type, scale.shape),
                           fmt::join(tensors.shape, ", "), config_block.n, config_block.k));
}

// The config says symmetric: zero points that are there all the same must be zeros.
void check_zeros(const Checkpoint& checkpoint, const std::string& layer, const TensorInfo& zeros) {
  const std::vector<std::uint8_t> values = checkpoint.read(zeros.name);
  const auto other =
      std::find_if(values.begin(), values.end(), [](std::uint8_t z) { return z != 0; });
  if (other == values.end()) return;
  refuse_layer(layer,
               fmt::format("the config says symmetric, which is the zero point 0 everywhere, but "
                           "element {} of {} is {}",
                           other - values.begin(), zeros.name, static_cast<std::int8_t>(*other)));
}

// Experts are stacked with K as the last side, [E, N, K]; some models have them the other way
// round, and a square one looks the same in both.
void check_stacked(const std::string& layer, const std::vector<std::int64_t>& shape,
                   const CheckpointConfig& config) {
  const std::int64_t hidden = config.hidden_size;
  const bool down = layer.find("down") != layer.npos;
  const std::int64_t hidden_side = down ? shape[1] : shape[2];
  const std::int64_t other_side = down ? shape[2] : shape[1];
  if (hidden == 0) {
    refuse_layer(layer, fmt::format("experts of [{}], but the config has no hidden_size to tell N "
                                    "from K",
                                    fmt::join(shape, ", ")));
  }
  if (hidden_side != hidden || other_side == hidden) {
    refuse_layer(layer, fmt::format("experts of [{}] are not [E, N, K] for certain: the config's "
                                    "hidden_size is {}",
                                    fmt::join(shape, ", "), hidden));
  }
}

// Leaves the matrix of a stack that the layer is.
void take_member(const LayerName& layer, ByteTensors* tensors) {
  const auto is_stack = [&](const TensorInfo& tensor) {
    return !tensor.shape.empty() && tensor.shape.front() == tensors->shape.front();
  };
  if (tensors->shape.size() != 3 || layer.matrix >= tensors->shape.front() ||
      !is_stack(tensors->scale) || tensors->zeros != nullptr) {
    refuse_layer(
        layer.name,
        fmt::format("the tensor {} is {} and its scale {}: they are no stacks of matrices",
                    tensors->weight.name, describe(tensors->weight.type, tensors->weight.shape),
                    describe(tensors->scale.type, tensors->scale.shape)));
  }
  tensors->weight = member_of_stack(tensors->weight, layer.matrix);
  tensors->scale = member_of_stack(tensors->scale, layer.matrix);
  tensors->shape.erase(tensors->shape.begin());
}

// Three sides are a stack of matrices or a convolution along one axis.
bool is_convolution(const CheckpointConfig& config, const LayerName& layer,
                    const TensorInfo& weight) {
  const std::size_t sides = weight.shape.size();
  return sides > 3 ||
         (sides == 3 && role_of_module(config, layer.module()) == ModuleRole::kConvolution);
}

// A convolution is a matrix whose columns are all that a row of outputs takes.
std::vector<std::int64_t> matrix_shape(const TensorInfo& weight, bool convolution) {
  if (!convolution) return weight.shape;
  return {weight.shape[0], std::accumulate(weight.shape.begin() + 1, weight.shape.end(),
                                           std::int64_t{1}, std::multiplies<>())};
}

}  // namespace

std::unique_ptr<QuantizedRows> read_byte_layer(const Checkpoint& checkpoint, const LayerName& layer,
                                               const CheckpointConfig& config, Load load) {
  const TensorInfo& codes = *checkpoint.at(tensors_of(layer, checkpoint).front()).tensor;
  const bool convolution = is_convolution(config, layer, codes);
  ByteTensors tensors = {codes, *byte_scales(layer, checkpoint),
                         checkpoint.find(layer.module() + ".weight_zero_point"),
                         matrix_shape(codes, convolution)};
  const TensorInfo weight = tensors.weight;
  const TensorInfo scale = tensors.scale;
  if (weight.bytes == 0 || weight.shape.size() < 2 || weight.shape.size() > 4) {
    refuse_layer(layer.name, fmt::format("the tensor {} is {}, which is no matrix, no stack of "
                                         "matrices and no convolution",
                                         weight.name, describe(weight.type, weight.shape)));
  }
  if (weight.shape.size() == 3 && !convolution) check_stacked(layer.name, weight.shape, config);
  if (scale.type != TensorType::kF32 && scale.type != TensorType::kF16 &&
      scale.type != TensorType::kBf16 && !is_e8m0(scale.type)) {
    refuse_layer(layer.name, fmt::format("the tensor {} is {}, not F16, BF16, F32 or E8M0",
                                         scale.name, describe(scale.type, scale.shape)));
  }
  const Scheme* scheme = scheme_of_layer(config, layer);
  const TensorInfo* zeros = tensors.zeros;
  if (zeros == nullptr && weight.type == TensorType::kI8 && scheme != nullptr &&
      !scheme->symmetric) {
    refuse_layer(layer.name, fmt::format("the tensor {}.weight_zero_point is missing: the config "
                                         "says that the codes are not symmetric",
                                         layer.module()));
  }
  if (zeros != nullptr && (weight.type != TensorType::kI8 || zeros->type != TensorType::kI8 ||
                           zeros->shape != scale.shape)) {
    refuse_layer(layer.name,
                 fmt::format("the tensor {} is {}: no zero points of codes of {} with "
                             "scales of {}",
                             zeros->name, describe(zeros->type, zeros->shape),
                             to_string(weight.type), describe(scale.type, scale.shape)));
  }
  if (zeros != nullptr && scheme != nullptr && scheme->symmetric) {
    check_zeros(checkpoint, layer.name, *zeros);
    tensors.zeros = nullptr;
  }
  if (layer.matrix >= 0) take_member(layer, &tensors);
  auto result =
      std::make_unique<ByteLayer>(layer.name, tensors, read_block(layer.name, tensors, scheme));
  if (load == Load::kAll) result->read(checkpoint, tensors);
  return result;
}

}  // namespace heddle

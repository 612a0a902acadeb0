#include "checkpoint/forms/plain_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "checkpoint/codes/half_convert.h"
#include "checkpoint/forms/quantizing_rows.h"
#include "checkpoint/forms/read_layer.h"
#include "checkpoint/modules/layer_error.h"
#include "generator/model/head_weight.h"
#include "generator/model/plain_weight.h"
#include "generator/spec/document.h"

namespace heddle {
namespace {

std::vector<std::int64_t> shape_of(const TensorInfo& tensor, PlainLayer::Order order) {
  if (order == PlainLayer::Order::kRows) return tensor.shape;
  return {tensor.shape[1], tensor.shape[0]};
}

// The type of a tensor that is packed as it is.
DType dtype_of(const std::string& layer, const TensorInfo& tensor) {
  if (tensor.shape.size() == 2) {
    if (tensor.type == TensorType::kF16) return DType::kFp16;
    if (tensor.type == TensorType::kBf16) return DType::kBf16;
  }
  refuse_layer(layer, fmt::format("the tensor {} is {}; weights that were not quantised are packed "
                                  "from a matrix of F16 or BF16",
                                  excerpt(tensor.name), describe(tensor.type, tensor.shape)));
}

// The matrix of a stack that the layer is.
TensorInfo matrix_in(const LayerName& layer, const TensorInfo& stack) {
  if (stack.shape.size() == 3 && layer.matrix < stack.shape.front()) {
    return member_of_stack(stack, layer.matrix);
  }
  refuse_layer(layer.name, fmt::format("the tensor {} is {}, which is no stack of matrices",
                                       excerpt(stack.name), describe(stack.type, stack.shape)));
}

}  // namespace

PlainLayer::PlainLayer(std::string name, const SafetensorsFile& file, TensorInfo tensor,
                       Order order, Load load)
    : QuantizedRows(std::move(name), shape_of(tensor, order)),
      file_(file),
      tensor_(std::move(tensor)),
      order_(order) {
  if (order == Order::kRows || load == Load::kShape) return;
  columns_ = make_large_buffer<std::uint16_t>(static_cast<std::size_t>(n() * k()));
  file_.read(tensor_, 0, columns_.get(), tensor_.bytes);
}

WeightSpec PlainLayer::weight() const { return plain_weight(native_dtype()); }

DType PlainLayer::native_dtype() const {
  return tensor_.type == TensorType::kBf16 ? DType::kBf16 : DType::kFp16;
}

void PlainLayer::codes(std::int64_t first, std::int64_t count, std::uint8_t* out) const {
  const std::int64_t row_bytes = k() * code_bytes();
  if (order_ == Order::kRows) {
    file_.read(tensor_, static_cast<std::uint64_t>(first * row_bytes), out,
               static_cast<std::size_t>(count * row_bytes));
    return;
  }
  for (std::int64_t row = first; row < first + count; ++row, out += row_bytes) {
    for (std::int64_t column = 0; column < k(); ++column) {
      std::memcpy(out + column * code_bytes(), &columns_[column * n() + row], sizeof columns_[0]);
    }
  }
}

void PlainLayer::scales(std::int64_t, std::int64_t, std::uint8_t*) const {}

void PlainLayer::rows(std::int64_t first, std::int64_t count, DType dtype,
                      std::uint16_t* out) const {
  auto* const bytes = reinterpret_cast<std::uint8_t*>(out);
  codes(first, count, bytes);
  if (dtype == native_dtype()) return;
  for (std::int64_t i = 0; i < count * k(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    out[at] = round_to_16(dtype, float_element(tensor_.type, bytes, at));
  }
}

std::unique_ptr<QuantizedRows> read_plain_layer(const Checkpoint& checkpoint,
                                                const LayerName& layer,
                                                const CheckpointConfig& config, Load load) {
  const Checkpoint::Entry& entry = checkpoint.at(tensors_of(layer, checkpoint).front());
  TensorInfo tensor = *entry.tensor;
  if (layer.matrix >= 0) tensor = matrix_in(layer, tensor);
  const DType dtype = dtype_of(layer.name, tensor);
  const DType activation = config.dtype.value_or(dtype);
  if (layer.code_bits == 0 && activation != dtype) {
    refuse_layer(layer.name,
                 fmt::format("the tensor {} is {}, but the config's torch_dtype is {}: weights of "
                             "16 bits have the type of the activations and are not converted",
                             excerpt(tensor.name), describe(tensor.type, tensor.shape),
                             to_string(activation)));
  }
  auto rows = std::make_unique<PlainLayer>(
      layer.name, *entry.file, std::move(tensor),
      layer.transposed ? PlainLayer::Order::kColumns : PlainLayer::Order::kRows, load);
  if (layer.code_bits == 0) return rows;
  const WeightSpec weight = head_weight(layer.code_bits, rows->k(), activation);
  return std::make_unique<QuantizingRows>(std::move(rows), weight);
}

}  // namespace heddle

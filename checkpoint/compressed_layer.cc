// compressed-tensors, pack-quantized: codes as a stream of bits along each row.
#include <fmt/format.h>

#include <cstring>

#include "checkpoint/integer_reader.h"

namespace heddle {
namespace {

class CompressedReader final : public IntegerReader {
 public:
  using IntegerReader::IntegerReader;

 private:
  void read_tensors() override {
    const std::string shape_name = full(".weight_shape");
    const TensorInfo& shape = tensor(".weight_shape");
    if ((shape.type != TensorType::kI64 && shape.type != TensorType::kI32) ||
        shape.shape != std::vector<std::int64_t>{2}) {
      contradiction(shape_name + " is not two integers");
    }
    const std::vector<std::uint8_t> bytes = checkpoint_.read(shape_name);
    const std::size_t width = bytes.size() / 2;
    std::int64_t sides[2] = {0, 0};
    for (std::size_t i = 0; i < 2; ++i) std::memcpy(&sides[i], &bytes[i * width], width);
    if (sides[0] < 1 || sides[0] > kLargestSide || sides[1] < 1 || sides[1] > kLargestSide) {
      contradiction(fmt::format("{} says [{}, {}]", shape_name, sides[0], sides[1]));
    }
    // Three bits: two forms are in use, and nothing in the file tells them apart.
    if (config_.bits == 3) unsupported("has 3-bit weights, which compressed-tensors cannot hold");
    set_bits(config_.bits);
    layer_.codes = {CodeOrder::kRows, config_.bits, sides[0], sides[1], nullptr};
    static_cast<void>(matrix(".weight_packed"));
    expect_shape(".weight_packed", {sides[0], (sides[1] * config_.bits + 31) / 32});
    read_codes(".weight_packed");
    read_scales_by_row(".weight_scale");
    read_zeros();
    read_group_index(".weight_g_idx");
  }

  // Codes and zero points are stored with the same offset, 2^(bits-1).
  void read_zeros() {
    const TensorInfo* zeros = checkpoint_.find(full(".weight_zero_point"));
    if (zeros == nullptr) return fixed_zeros();
    if (zeros->type == TensorType::kI8) {
      expect_shape(".weight_zero_point", {layer_.codes.n, layer_.groups});
      layer_.zeros = checkpoint_.read(zeros->name);
      for (std::uint8_t& zero : layer_.zeros) {
        zero = static_cast<std::uint8_t>((zero + fixed_zero()) & ((1U << layer_.codes.bits) - 1));
      }
      return;
    }
    static_cast<void>(matrix(".weight_zero_point"));
    expect_shape(".weight_zero_point",
                 {(layer_.codes.n * layer_.codes.bits + 31) / 32, layer_.groups});
    unpack_zeros(read_words(".weight_zero_point"), 1, layer_.groups, 0);
  }
};

}  // namespace

IntegerTensors read_compressed_layer(const LayerSource& source) {
  return CompressedReader(source).read();
}

}  // namespace heddle

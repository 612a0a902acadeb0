// compressed-tensors, pack-quantized: codes as a stream of bits along each row.
#include <fmt/format.h>

#include <cstring>

#include "checkpoint/forms/integer_reader.h"

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
    set_bits(scheme_.bits);
    const bool dense = is_dense(matrix(".weight_packed"), sides[0], sides[1]);
    layer_.codes = {dense ? CodeOrder::kRows : CodeOrder::kRowWords, scheme_.bits, sides[0],
                    sides[1], nullptr};
    read_codes(".weight_packed");
    read_scales_by_row(".weight_scale");
    read_zeros();
    read_group_index(".weight_g_idx");
  }

  // Older versions of the library put whole codes into each word, newer ones a stream of bits. The
  // number of words tells them apart where the width does not divide 32.
  bool is_dense(const TensorInfo& packed, std::int64_t n, std::int64_t k) const {
    const std::int64_t dense = words_of_stream(k);
    const std::int64_t loose = words_of_codes(k);
    const bool several_words = k > 32 / scheme_.bits;
    if (32 % scheme_.bits != 0 && dense == loose && several_words) {
      contradiction(
          fmt::format("it has {} columns of {} bits, for which the two forms of "
                      "compressed-tensors have the same shape",
                      k, scheme_.bits));
    }
    if (packed.shape == std::vector{n, dense}) return true;
    if (packed.shape == std::vector{n, loose}) return false;
    contradiction(fmt::format("the tensor {} is {}, expected [{}, {}] or [{}, {}]", packed.name,
                              describe(packed.type, packed.shape), n, dense, n, loose));
  }

  std::int64_t words_of_stream(std::int64_t codes) const {
    return (codes * scheme_.bits + 31) / 32;
  }
  std::int64_t words_of_codes(std::int64_t codes) const {
    const std::int64_t per_word = 32 / scheme_.bits;
    return (codes + per_word - 1) / per_word;
  }

  // Codes and zero points are stored with the same offset, 2^(bits-1).
  void read_zeros() {
    if (!has_zeros(".weight_zero_point")) return;
    const TensorInfo& zeros = tensor(".weight_zero_point");
    if (zeros.type == TensorType::kI8) {
      const bool one = layer_.group_size == kPerTensor && is_one_for_all(zeros);
      if (!one) expect_shape(".weight_zero_point", {layer_.codes.n, layer_.groups});
      layer_.zeros = checkpoint_.read(zeros.name);
      if (one) layer_.zeros.resize(static_cast<std::size_t>(layer_.codes.n), layer_.zeros.front());
      for (std::uint8_t& zero : layer_.zeros) {
        zero = static_cast<std::uint8_t>((zero + fixed_zero()) & ((1U << layer_.codes.bits) - 1));
      }
    } else {
      const bool dense = layer_.codes.order == CodeOrder::kRows;
      static_cast<void>(matrix(".weight_zero_point"));
      expect_shape(".weight_zero_point",
                   {dense ? words_of_stream(layer_.codes.n) : words_of_codes(layer_.codes.n),
                    layer_.groups});
      const std::vector<std::uint32_t> words = read_words(".weight_zero_point");
      if (dense) {
        unpack_zeros(words, 1, layer_.groups, 0);
      } else {
        unpack_loose_zeros(words);
      }
    }
    if (scheme_.symmetric) check_symmetric();
  }

  // [words down N, G], whole codes to a word.
  void unpack_loose_zeros(const std::vector<std::uint32_t>& words) {
    const std::int64_t per_word = 32 / layer_.codes.bits;
    const unsigned mask = (1U << layer_.codes.bits) - 1;
    for (std::int64_t n = 0; n < layer_.codes.n; ++n) {
      for (std::int64_t g = 0; g < layer_.groups; ++g) {
        const std::uint32_t word =
            words[static_cast<std::size_t>(n / per_word * layer_.groups + g)];
        layer_.zeros.push_back(
            static_cast<std::uint8_t>(word >> (n % per_word * layer_.codes.bits) & mask));
      }
    }
  }
};

}  // namespace

IntegerTensors read_compressed_layer(const LayerSource& source) {
  return CompressedReader(source).read();
}

}  // namespace heddle

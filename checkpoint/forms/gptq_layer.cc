// GPTQ, v1 and v2: codes as a stream of bits down each column, with or without act-order.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "checkpoint/forms/integer_reader.h"

namespace heddle {
namespace {

class GptqReader final : public IntegerReader {
 public:
  using IntegerReader::IntegerReader;

 private:
  void read_tensors() override {
    set_bits(scheme_.bits);
    const std::int64_t bits = layer_.codes.bits;
    const std::int64_t word_bits = 8 * scheme_.word_bytes;
    const TensorInfo& weight = words_tensor(".qweight");
    if (weight.shape[0] * word_bits % bits != 0) {
      contradiction(fmt::format("{} rows of qweight hold no whole number of {}-bit codes",
                                weight.shape[0], bits));
    }
    layer_.codes.order = CodeOrder::kAlongK;
    layer_.codes.k = weight.shape[0] * word_bits / bits;
    layer_.codes.n = weight.shape[1];
    if (scheme_.word_bytes == 4) {
      read_codes(".qweight");
    } else if (load_ == Load::kAll) {
      read_other_words(weight);
    }
    read_scales_by_group(".scales");
    read_zeros();
    read_group_index(".g_idx");
  }

  // A tensor of two sides, of the integers that the config's pack_dtype says.
  const TensorInfo& words_tensor(const char* suffix) const {
    const TensorType want = scheme_.word_bytes == 1   ? TensorType::kI8
                            : scheme_.word_bytes == 2 ? TensorType::kI16
                            : scheme_.word_bytes == 8 ? TensorType::kI64
                                                      : TensorType::kI32;
    return matrix(suffix, want);
  }

  // Words of 1, 2 or 8 bytes into those of 4: the stream of a column goes on in the next row of
  // words, a word's low bits first.
  void read_other_words(const TensorInfo& weight) {
    const auto bytes = static_cast<std::size_t>(scheme_.word_bytes);
    const auto n = static_cast<std::size_t>(layer_.codes.n);
    const std::size_t stream = static_cast<std::size_t>(weight.shape[0]) * bytes;  // of a column
    const std::vector<std::uint8_t> stored = checkpoint_.read(weight.name);
    const std::size_t words = (stream + 3) / 4;
    layer_.words = make_large_buffer<std::uint32_t>(words * n);
    std::fill_n(layer_.words.get(), words * n, 0U);
    for (std::size_t i = 0; i < stream; ++i) {
      for (std::size_t column = 0; column < n; ++column) {
        const std::uint32_t byte = stored[(i / bytes * n + column) * bytes + i % bytes];
        layer_.words[i / 4 * n + column] |= byte << (8 * (i % 4));
      }
    }
  }

  void read_zeros() {
    if (!has_zeros(".qzeros")) return;
    const std::int64_t bits = layer_.codes.bits;
    const std::int64_t word_bits = 8 * scheme_.word_bytes;
    if (layer_.codes.n * bits % word_bits != 0) {
      contradiction(
          fmt::format("N = {} zero points fill no whole number of words", layer_.codes.n));
    }
    const TensorInfo& zeros = words_tensor(".qzeros");
    expect_shape(".qzeros", {layer_.groups, layer_.codes.n * bits / word_bits});
    // The stream of a group is contiguous, whatever its words are; it may end inside of a word of 4
    // bytes.
    const std::int64_t group_bytes = layer_.codes.n * bits / 8;
    std::vector<std::uint8_t> stored = checkpoint_.read(zeros.name);
    const auto bias = static_cast<unsigned>(scheme_.zero_is_minus_one);
    const std::uint64_t word_bias =
        bias * gptq_word_bias(layer_.codes.bits, 8 * scheme_.word_bytes);
    if (word_bias != 0) add_to_words(word_bias, stored);
    const std::int64_t stride = (group_bytes + 3) / 4;
    std::vector<std::uint32_t> words(static_cast<std::size_t>(layer_.groups * stride));
    for (std::int64_t g = 0; g < layer_.groups; ++g) {
      std::memcpy(&words[static_cast<std::size_t>(g * stride)],
                  &stored[static_cast<std::size_t>(g * group_bytes)],
                  static_cast<std::size_t>(group_bytes));
    }
    unpack_zeros(words, stride, 1, word_bias == 0 ? bias : 0);
    if (scheme_.symmetric) accept_other_convention();
  }

  // Modulo the size of a word of the config's pack_dtype.
  void add_to_words(std::uint64_t bias, std::vector<std::uint8_t>& stored) const {
    const auto bytes = static_cast<std::size_t>(scheme_.word_bytes);
    for (std::size_t at = 0; at < stored.size(); at += bytes) {
      std::uint64_t word = 0;
      std::memcpy(&word, &stored[at], bytes);
      word += bias;
      std::memcpy(&stored[at], &word, bytes);
    }
  }

  // Symmetric codes have one zero point, 2^(bits-1). Some writers label v1 what stores it as it is,
  // or v2 what stores it minus one: since it is known, the label does not matter.
  void accept_other_convention() {
    const auto fixed = static_cast<std::uint8_t>(fixed_zero());
    const auto shifted = static_cast<std::uint8_t>(
        (fixed_zero() + (scheme_.zero_is_minus_one ? 1U : ~0U)) & ((1U << layer_.codes.bits) - 1));
    std::vector<std::uint8_t>& zeros = layer_.zeros;
    if (std::all_of(zeros.begin(), zeros.end(), [&](std::uint8_t z) { return z == shifted; })) {
      std::fill(zeros.begin(), zeros.end(), fixed);
    }
    check_symmetric();
  }
};

}  // namespace

IntegerTensors read_gptq_layer(const LayerSource& source) { return GptqReader(source).read(); }

}  // namespace heddle

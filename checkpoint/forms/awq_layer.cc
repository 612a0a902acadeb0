// AWQ: eight rows of W to a word in an order of its own (gemm), or eight columns in theirs (gemv).
#include <fmt/format.h>

#include "checkpoint/forms/integer_reader.h"

namespace heddle {
namespace {

constexpr int kAwqBits = 4;
constexpr std::int64_t kAwqPerWord = 8;

class AwqReader final : public IntegerReader {
 public:
  using IntegerReader::IntegerReader;

 private:
  void read_tensors() override {
    if (scheme_.bits != kAwqBits) {
      contradiction(fmt::format("it has {}-bit weights; AWQ has 4", scheme_.bits));
    }
    set_bits(kAwqBits);
    const TensorInfo& weight = matrix(".qweight");
    layer_.codes.order = CodeOrder::kAwq;
    layer_.codes.k = weight.shape[0];
    layer_.codes.n = weight.shape[1] * 8;
    read_codes(".qweight");
    read_scales_by_group(".scales");
    if (!has_zeros(".qzeros")) return;
    expect_shape(".qzeros", {layer_.groups, weight.shape[1]});
    static_cast<void>(matrix(".qzeros"));
    const std::vector<std::uint32_t> words = read_words(".qzeros");
    // The rows of qzeros are ordered like rows of qweight.
    const PackedCodes packed{CodeOrder::kAwq, 4, layer_.codes.n, layer_.groups, words.data()};
    layer_.zeros.resize(static_cast<std::size_t>(layer_.codes.n * layer_.groups));
    unpack_codes(packed, 0, layer_.codes.n, layer_.zeros.data());
    if (scheme_.symmetric) check_symmetric();
  }
};

// Each row has its own scales and zero points, the latter eight to a word, both padded.
class AwqGemvReader final : public IntegerReader {
 public:
  using IntegerReader::IntegerReader;

 private:
  void read_tensors() override {
    if (scheme_.bits != kAwqBits) {
      contradiction(fmt::format("it has {}-bit weights; AWQ has 4", scheme_.bits));
    }
    set_bits(kAwqBits);
    const TensorInfo& weight = matrix(".qweight");
    layer_.codes.order = CodeOrder::kRows;
    layer_.codes.n = weight.shape[0];
    layer_.codes.k = weight.shape[1] * kAwqPerWord;
    read_codes(".qweight");
    const int group = scheme_.group_size.value_or(0);
    if (group < 1) contradiction("it has AWQ's gemv order, which needs the config's group_size");
    set_groups((layer_.codes.k + group - 1) / group);
    read_padded_scales();
    read_padded_zeros();
  }

  void read_padded_scales() {
    const TensorInfo& scales = scale_tensor(".scales");
    if (scales.shape[0] != layer_.codes.n || scales.shape[1] < layer_.groups) {
      contradiction(fmt::format("the tensor {} is {}, expected [{}, {} or more]", scales.name,
                                describe(scales.type, scales.shape), layer_.codes.n,
                                layer_.groups));
    }
    if (load_ == Load::kShape) return;
    const std::vector<std::uint8_t> stored = checkpoint_.read(scales.name);
    const std::int64_t width = bytes_of(scales.type);
    for (std::int64_t row = 0; row < layer_.codes.n; ++row) {
      const auto first = stored.begin() + row * scales.shape[1] * width;
      layer_.scales.insert(layer_.scales.end(), first, first + layer_.groups * width);
    }
  }

  void read_padded_zeros() {
    if (!has_zeros(".qzeros")) return;
    const TensorInfo& zeros = matrix(".qzeros");
    if (zeros.shape[0] != layer_.codes.n || zeros.shape[1] * kAwqPerWord < layer_.groups) {
      contradiction(fmt::format("the tensor {} is {}, expected [{}, {} or more]", zeros.name,
                                describe(zeros.type, zeros.shape), layer_.codes.n,
                                (layer_.groups + kAwqPerWord - 1) / kAwqPerWord));
    }
    const std::vector<std::uint32_t> words = read_words(".qzeros");
    for (std::int64_t row = 0; row < layer_.codes.n; ++row) {
      for (std::int64_t group = 0; group < layer_.groups; ++group) {
        layer_.zeros.push_back(static_cast<std::uint8_t>(
            stream_value(words.data() + row * zeros.shape[1], 1, kAwqBits, group)));
      }
    }
    if (scheme_.symmetric) check_symmetric();
  }
};

}  // namespace

IntegerTensors read_awq_layer(const LayerSource& source) { return AwqReader(source).read(); }
IntegerTensors read_awq_gemv_layer(const LayerSource& source) {
  return AwqGemvReader(source).read();
}

}  // namespace heddle

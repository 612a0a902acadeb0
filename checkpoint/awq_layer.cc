// AWQ, gemm version: eight columns to a word, in an order of its own.
#include <fmt/format.h>

#include "checkpoint/integer_reader.h"

namespace heddle {
namespace {

class AwqReader final : public IntegerReader {
 public:
  using IntegerReader::IntegerReader;

 private:
  void read_tensors() override {
    if (config_.bits != 0 && config_.bits != 4) {
      unsupported(fmt::format("has {}-bit weights; AWQ has 4", config_.bits));
    }
    set_bits(4);
    const TensorInfo& weight = matrix(".qweight");
    layer_.codes.order = CodeOrder::kAwq;
    layer_.codes.k = weight.shape[0];
    layer_.codes.n = weight.shape[1] * 8;
    read_codes(".qweight");
    read_scales_by_group(".scales");
    if (checkpoint_.find(full(".qzeros")) == nullptr) return fixed_zeros();
    expect_shape(".qzeros", {layer_.groups, weight.shape[1]});
    static_cast<void>(matrix(".qzeros"));
    const std::vector<std::uint32_t> words = read_words(".qzeros");
    // The rows of qzeros are ordered like rows of qweight.
    const PackedCodes packed{CodeOrder::kAwq, 4, layer_.codes.n, layer_.groups, words.data()};
    layer_.zeros.resize(static_cast<std::size_t>(layer_.codes.n * layer_.groups));
    unpack_codes(packed, 0, layer_.codes.n, layer_.zeros.data());
  }
};

}  // namespace

IntegerTensors read_awq_layer(const LayerSource& source) { return AwqReader(source).read(); }

}  // namespace heddle

// GPTQ, v1 and v2: codes as a stream of bits down each column, with or without act-order.
#include <fmt/format.h>

#include "checkpoint/integer_reader.h"

namespace heddle {
namespace {

class GptqReader final : public IntegerReader {
 public:
  using IntegerReader::IntegerReader;

 private:
  void read_tensors() override {
    set_bits(config_.bits);
    const std::int64_t bits = layer_.codes.bits;
    const TensorInfo& weight = matrix(".qweight");
    if (weight.shape[0] * 32 % bits != 0) {
      contradiction(fmt::format("{} rows of qweight hold no whole number of {}-bit codes",
                                weight.shape[0], bits));
    }
    layer_.codes.order = CodeOrder::kAlongK;
    layer_.codes.k = weight.shape[0] * 32 / bits;
    layer_.codes.n = weight.shape[1];
    read_codes(".qweight");
    read_scales_by_group(".scales");
    read_zeros();
    read_group_index(".g_idx");
  }

  void read_zeros() {
    if (checkpoint_.find(full(".qzeros")) == nullptr && config_.symmetric) return fixed_zeros();
    const std::int64_t bits = layer_.codes.bits;
    if (layer_.codes.n * bits % 32 != 0) {
      contradiction(
          fmt::format("N = {} zero points fill no whole number of words", layer_.codes.n));
    }
    const std::int64_t stride = layer_.codes.n * bits / 32;
    static_cast<void>(matrix(".qzeros"));
    expect_shape(".qzeros", {layer_.groups, stride});
    unpack_zeros(read_words(".qzeros"), stride, 1, config_.zero_is_minus_one ? 1U : 0U);
  }
};

}  // namespace

IntegerTensors read_gptq_layer(const LayerSource& source) { return GptqReader(source).read(); }

}  // namespace heddle

// Quark's four-bit integers: eight rows of W to a word, as AWQ has them, under names of its own.
#include <fmt/format.h>

#include "checkpoint/forms/integer_reader.h"

namespace heddle {
namespace {

constexpr int kQuarkBits = 4;
constexpr std::int64_t kQuarkPerWord = 8;
constexpr std::uint32_t kSigns = 0x88888888;

class QuarkReader final : public IntegerReader {
 public:
  using IntegerReader::IntegerReader;

 private:
  void read_tensors() override {
    set_bits(kQuarkBits);
    const TensorInfo& weight = matrix(".weight");
    layer_.codes.order = scheme_.awq_order ? CodeOrder::kAwq : CodeOrder::kColumns;
    layer_.codes.k = weight.shape[0];
    layer_.codes.n = weight.shape[1] * kQuarkPerWord;
    read_codes(".weight");
    if (is_signed() && load_ == Load::kAll) {
      for (std::uint64_t i = 0; i < weight.bytes / 4; ++i) layer_.words[i] ^= kSigns;
    }
    read_scales_by_group(".weight_scale");
    read_zeros(weight.shape[1]);
  }

  // Two's complement, of codes and zero points alike: with the sign bit flipped both are unsigned,
  // and their difference stays.
  bool is_signed() const { return scheme_.type == WeightType::kInt; }

  void read_zeros(std::int64_t words_to_a_group) {
    if (!has_zeros(".weight_zero_point")) return;
    static_cast<void>(matrix(".weight_zero_point"));
    expect_shape(".weight_zero_point", {layer_.groups, words_to_a_group});
    std::vector<std::uint32_t> words = read_words(".weight_zero_point");
    if (is_signed()) {
      for (std::uint32_t& word : words) word ^= kSigns;
    }
    const PackedCodes packed{layer_.codes.order, kQuarkBits, layer_.codes.n, layer_.groups,
                             words.data()};
    layer_.zeros.resize(static_cast<std::size_t>(layer_.codes.n * layer_.groups));
    unpack_codes(packed, 0, layer_.codes.n, layer_.zeros.data());
    if (scheme_.symmetric) check_symmetric();
  }
};

}  // namespace

IntegerTensors read_quark_layer(const LayerSource& source) { return QuarkReader(source).read(); }

}  // namespace heddle

#include "checkpoint/integer_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "checkpoint/half_convert.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr std::int64_t kLargestSide = std::int64_t{1} << 24;
constexpr int kNarrow = 4;  // up to this width a table of a group's values is worth making

}  // namespace

// Reads and checks the tensors of one layer.
class IntegerLayerReader {
 public:
  IntegerLayerReader(const Checkpoint& checkpoint, const LayerName& layer,
                     const CheckpointConfig& config, Load load)
      : checkpoint_(checkpoint), config_(config), kind_(layer.kind), load_(load) {
    layer_.name_ = layer.name;
  }

  IntegerLayer read() {
    if (kind_ == LayerName::Kind::kPacked) {
      read_packed();
    } else if (config_.method == CheckpointConfig::Method::kAwq) {
      read_awq();
    } else if (config_.method == CheckpointConfig::Method::kGptq) {
      read_gptq();
    } else {
      unsupported("has packed weights, but the config's quant_method is neither awq nor gptq");
    }
    finish();
    return std::move(layer_);
  }

 private:
  [[noreturn]] void contradiction(const std::string& why) const {
    throw Error(ErrorCategory::kFile, "checkpoint.layer",
                fmt::format("layer \"{}\": {}", layer_.name_, why));
  }
  [[noreturn]] void unsupported(const std::string& why) const {
    throw Error(ErrorCategory::kUnsupported, "checkpoint.layer",
                fmt::format("layer \"{}\" {}", layer_.name_, why));
  }

  std::string full(const char* suffix) const { return layer_.name_ + suffix; }

  const TensorInfo& tensor(const char* suffix) const {
    const TensorInfo* found = checkpoint_.find(full(suffix));
    if (found == nullptr) contradiction(fmt::format("the tensor {} is missing", full(suffix)));
    return *found;
  }

  // A tensor of two sides, of I32.
  const TensorInfo& matrix(const char* suffix) const {
    const TensorInfo& found = tensor(suffix);
    if (found.type != TensorType::kI32 || found.shape.size() != 2) {
      contradiction(fmt::format("the tensor {} is {}, not I32 with two sides", full(suffix),
                                describe(found.type, found.shape)));
    }
    for (const std::int64_t side : found.shape) {
      if (side < 1 || side > kLargestSide) {
        contradiction(fmt::format("the tensor {} is {}: a side is out of range", full(suffix),
                                  describe(found.type, found.shape)));
      }
    }
    return found;
  }

  void expect_shape(const char* suffix, const std::vector<std::int64_t>& want) const {
    const TensorInfo& found = tensor(suffix);
    if (found.shape == want) return;
    contradiction(fmt::format("the tensor {} is {}, expected [{}]", full(suffix),
                              describe(found.type, found.shape), fmt::join(want, ", ")));
  }

  std::vector<std::uint32_t> read_words(const char* suffix) const {
    const Checkpoint::Entry& entry = checkpoint_.at(full(suffix));
    std::vector<std::uint32_t> words(entry.tensor->bytes / 4);
    entry.file->read(*entry.tensor, 0, words.data(), words.size() * 4);
    return words;
  }

  void read_codes(const char* suffix) {
    if (load_ == Load::kShape) return;
    const Checkpoint::Entry& entry = checkpoint_.at(full(suffix));
    const std::size_t count = entry.tensor->bytes / 4;
    layer_.words_ = std::make_unique_for_overwrite<std::uint32_t[]>(count);
    entry.file->read(*entry.tensor, 0, layer_.words_.get(), count * 4);
  }

  void set_bits(int bits) {
    if (bits != 2 && bits != 3 && bits != 4 && bits != 8) {
      unsupported(fmt::format("has {}-bit weights; 2, 3, 4 and 8 bits can be read", bits));
    }
    layer_.codes_.bits = bits;
  }

  void read_awq() {
    if (config_.bits != 0 && config_.bits != 4) {
      unsupported(fmt::format("has {}-bit weights; AWQ has 4", config_.bits));
    }
    set_bits(4);
    const TensorInfo& weight = matrix(".qweight");
    layer_.codes_.order = CodeOrder::kAwq;
    layer_.codes_.k = weight.shape[0];
    layer_.codes_.n = weight.shape[1] * 8;
    read_codes(".qweight");
    read_scales_by_group(".scales");
    if (checkpoint_.find(full(".qzeros")) == nullptr) return fixed_zeros();
    expect_shape(".qzeros", {layer_.groups_, weight.shape[1]});
    static_cast<void>(matrix(".qzeros"));
    const std::vector<std::uint32_t> words = read_words(".qzeros");
    // The rows of qzeros are ordered like rows of qweight.
    const PackedCodes packed{CodeOrder::kAwq, 4, layer_.n(), layer_.groups_, words.data()};
    layer_.zeros_.resize(static_cast<std::size_t>(layer_.n() * layer_.groups_));
    unpack_codes(packed, 0, layer_.n(), layer_.zeros_.data());
  }

  void read_gptq() {
    set_bits(config_.bits);
    const std::int64_t bits = layer_.bits();
    const TensorInfo& weight = matrix(".qweight");
    if (weight.shape[0] * 32 % bits != 0) {
      contradiction(fmt::format("{} rows of qweight hold no whole number of {}-bit codes",
                                weight.shape[0], bits));
    }
    layer_.codes_.order = CodeOrder::kAlongK;
    layer_.codes_.k = weight.shape[0] * 32 / bits;
    layer_.codes_.n = weight.shape[1];
    read_codes(".qweight");
    read_scales_by_group(".scales");
    read_gptq_zeros();
    read_group_index(".g_idx");
  }

  void read_gptq_zeros() {
    if (checkpoint_.find(full(".qzeros")) == nullptr && config_.symmetric) return fixed_zeros();
    const std::int64_t bits = layer_.bits();
    if (layer_.n() * bits % 32 != 0) {
      contradiction(fmt::format("N = {} zero points fill no whole number of words", layer_.n()));
    }
    const std::int64_t stride = layer_.n() * bits / 32;
    static_cast<void>(matrix(".qzeros"));
    expect_shape(".qzeros", {layer_.groups_, stride});
    unpack_zeros(read_words(".qzeros"), stride, 1, config_.zero_is_minus_one ? 1U : 0U);
  }

  // The zero points of group g: a stream along N whose words lie `word_step` apart.
  void unpack_zeros(const std::vector<std::uint32_t>& words, std::int64_t group_step,
                    std::int64_t word_step, unsigned bias) {
    const unsigned mask = (1U << layer_.bits()) - 1;
    layer_.zeros_.resize(static_cast<std::size_t>(layer_.n() * layer_.groups_));
    for (std::int64_t g = 0; g < layer_.groups_; ++g) {
      for (std::int64_t n = 0; n < layer_.n(); ++n) {
        const std::uint32_t stored =
            stream_value(words.data() + g * group_step, word_step, layer_.bits(), n);
        layer_.zeros_[static_cast<std::size_t>(n * layer_.groups_ + g)] =
            static_cast<std::uint8_t>((stored + bias) & mask);
      }
    }
  }

  void read_packed() {
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
    layer_.codes_ = {CodeOrder::kRows, config_.bits, sides[0], sides[1], nullptr};
    static_cast<void>(matrix(".weight_packed"));
    expect_shape(".weight_packed", {sides[0], (sides[1] * config_.bits + 31) / 32});
    read_codes(".weight_packed");
    read_scales_by_row(".weight_scale");
    read_packed_zeros();
    read_group_index(".weight_g_idx");
  }

  // Codes and zero points are stored with the same offset, 2^(bits-1).
  void read_packed_zeros() {
    const TensorInfo* zeros = checkpoint_.find(full(".weight_zero_point"));
    if (zeros == nullptr) return fixed_zeros();
    if (zeros->type == TensorType::kI8) {
      expect_shape(".weight_zero_point", {layer_.n(), layer_.groups_});
      layer_.zeros_ = checkpoint_.read(zeros->name);
      for (std::uint8_t& zero : layer_.zeros_) {
        zero = static_cast<std::uint8_t>((zero + fixed_zero()) & ((1U << layer_.bits()) - 1));
      }
      return;
    }
    static_cast<void>(matrix(".weight_zero_point"));
    expect_shape(".weight_zero_point", {(layer_.n() * layer_.bits() + 31) / 32, layer_.groups_});
    unpack_zeros(read_words(".weight_zero_point"), 1, layer_.groups_, 0);
  }

  unsigned fixed_zero() const { return 1U << (layer_.bits() - 1); }

  void fixed_zeros() {
    zeros_given_ = false;
    layer_.zeros_.assign(static_cast<std::size_t>(layer_.n() * layer_.groups_),
                         static_cast<std::uint8_t>(fixed_zero()));
  }

  const TensorInfo& scale_tensor(const char* suffix) {
    const TensorInfo& scales = tensor(suffix);
    if (scales.type != TensorType::kF16 && scales.type != TensorType::kBf16 &&
        scales.type != TensorType::kF32) {
      contradiction(fmt::format("the tensor {} is {}, not F16, BF16 or F32", full(suffix),
                                describe(scales.type, scales.shape)));
    }
    if (scales.shape.size() != 2) {
      contradiction(fmt::format("the tensor {} has not two sides", full(suffix)));
    }
    layer_.scale_type_ = scales.type;
    return scales;
  }

  void set_groups(std::int64_t groups) {
    if (groups < 1 || groups > layer_.k()) {
      contradiction(fmt::format("{} groups of scales for K = {}", groups, layer_.k()));
    }
    layer_.groups_ = groups;
    const std::int64_t k = layer_.k();
    const int said = config_.group_size;
    if (said > 0 && (k + said - 1) / said == groups) {
      layer_.group_size_ = said;
    } else if (said > 0 || (said == kPerChannel && groups != 1)) {
      contradiction(fmt::format("{} groups of scales for K = {}, but the config's group_size is {}",
                                groups, k, said));
    } else if (groups == 1) {
      layer_.group_size_ = kPerChannel;
    } else if (k % groups == 0) {
      layer_.group_size_ = static_cast<int>(k / groups);
    } else {
      contradiction(fmt::format("{} groups of scales do not divide K = {}", groups, k));
    }
  }

  // [G, N] in the checkpoint, [N, G] here.
  void read_scales_by_group(const char* suffix) {
    const TensorInfo& scales = scale_tensor(suffix);
    set_groups(scales.shape[0]);
    expect_shape(suffix, {layer_.groups_, layer_.n()});
    if (load_ == Load::kShape) return;
    const std::vector<std::uint8_t> stored = checkpoint_.read(scales.name);
    const auto width = static_cast<std::size_t>(bytes_of(scales.type));
    const auto n = static_cast<std::size_t>(layer_.n());
    const auto groups = static_cast<std::size_t>(layer_.groups_);
    layer_.scales_.resize(stored.size());
    for (std::size_t g = 0; g < groups; ++g) {
      for (std::size_t i = 0; i < n; ++i) {
        std::memcpy(&layer_.scales_[(i * groups + g) * width], &stored[(g * n + i) * width], width);
      }
    }
  }

  void read_scales_by_row(const char* suffix) {
    const TensorInfo& scales = scale_tensor(suffix);
    set_groups(scales.shape[1]);
    expect_shape(suffix, {layer_.n(), layer_.groups_});
    if (load_ == Load::kAll) layer_.scales_ = checkpoint_.read(scales.name);
  }

  void read_group_index(const char* suffix) {
    const TensorInfo* found = checkpoint_.find(full(suffix));
    if (found == nullptr) return;
    if (found->type != TensorType::kI32) contradiction(full(suffix) + " is not of I32");
    expect_shape(suffix, {layer_.k()});
    const std::vector<std::uint32_t> words = read_words(suffix);
    std::vector<std::int32_t> index(words.begin(), words.end());
    // compressed-tensors marks an index that is not in use.
    if (std::all_of(index.begin(), index.end(), [](std::int32_t g) { return g == -1; })) return;
    bool in_order = true;
    const std::int64_t size = layer_.group_size_ == kPerChannel ? layer_.k() : layer_.group_size_;
    for (std::size_t i = 0; i < index.size(); ++i) {
      if (index[i] < 0 || index[i] >= layer_.groups_) {
        contradiction(fmt::format("{}[{}] is {}, but there are {} groups", full(suffix), i,
                                  index[i], layer_.groups_));
      }
      in_order = in_order && index[i] == static_cast<std::int64_t>(i) / size;
    }
    if (!in_order) layer_.group_index_ = std::move(index);
  }

  void finish() {
    const auto fixed = static_cast<std::uint8_t>(fixed_zero());
    layer_.symmetric_ = (config_.symmetric || !zeros_given_) &&
                        std::all_of(layer_.zeros_.begin(), layer_.zeros_.end(),
                                    [fixed](std::uint8_t zero) { return zero == fixed; });
  }

  const Checkpoint& checkpoint_;
  const CheckpointConfig& config_;
  LayerName::Kind kind_;
  Load load_;
  bool zeros_given_ = true;
  IntegerLayer layer_;
};

IntegerLayer IntegerLayer::read(const Checkpoint& checkpoint, const LayerName& layer,
                                const CheckpointConfig& config, Load load) {
  return IntegerLayerReader(checkpoint, layer, config, load).read();
}

DType IntegerLayer::scale_dtype() const noexcept {
  if (scale_type_ == TensorType::kF32) return DType::kFp32;
  return scale_type_ == TensorType::kBf16 ? DType::kBf16 : DType::kFp16;
}

DType IntegerLayer::native_dtype() const {
  return scale_type_ == TensorType::kBf16 ? DType::kBf16 : DType::kFp16;
}

void IntegerLayer::codes(std::int64_t first, std::int64_t rows, std::uint8_t* out) const {
  PackedCodes packed = codes_;
  packed.words = words_.get();
  unpack_codes(packed, first, rows, out);
}

void IntegerLayer::rows(std::int64_t first, std::int64_t count, DType dtype,
                        std::uint16_t* out) const {
  const auto width = static_cast<std::size_t>(k());
  const auto groups = static_cast<std::size_t>(groups_);
  const std::size_t levels = std::size_t{1} << bits();
  const std::size_t run =
      group_size_ == kPerChannel ? width : static_cast<std::size_t>(group_size_);
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(count) * width);
  this->codes(first, count, codes.data());
  const bool use_table = bits() <= kNarrow || !group_index_.empty() || run >= 2 * levels;
  std::vector<std::uint16_t> table(use_table ? groups * levels : 0);
  for (std::int64_t r = 0; r < count; ++r) {
    const std::size_t meta = static_cast<std::size_t>(first + r) * groups;
    const std::uint8_t* from = codes.data() + static_cast<std::size_t>(r) * width;
    std::uint16_t* to = out + static_cast<std::size_t>(r) * width;
    const auto value = [&](std::size_t group, std::size_t code) {
      const double scale = float_element(scale_type_, scales_.data(), meta + group);
      return round_to_16(dtype, (static_cast<int>(code) - zeros_[meta + group]) * scale);
    };
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = value(i / levels, i % levels);
    for (std::size_t k = 0; k < width; ++k) {
      const std::size_t group =
          group_index_.empty() ? k / run : static_cast<std::size_t>(group_index_[k]);
      to[k] = use_table ? table[group * levels + from[k]] : value(group, from[k]);
    }
  }
}

}  // namespace heddle

#include "checkpoint/integer_layer.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "checkpoint/half_convert.h"
#include "checkpoint/integer_reader.h"
#include "heddle/error.h"

namespace heddle {
namespace {

constexpr int kNarrow = 4;  // up to this width a table of a group's values is worth making

IntegerTensors read_tensors(const LayerSource& source, LayerName::Kind kind) {
  if (kind == LayerName::Kind::kPacked) return read_compressed_layer(source);
  if (source.config.method == CheckpointConfig::Method::kAwq) return read_awq_layer(source);
  if (source.config.method == CheckpointConfig::Method::kGptq) return read_gptq_layer(source);
  throw Error(ErrorCategory::kUnsupported, "checkpoint.layer",
              fmt::format("layer \"{}\" has packed weights, but the config's quant_method is "
                          "neither awq nor gptq",
                          source.name));
}

}  // namespace

IntegerLayer IntegerLayer::read(const Checkpoint& checkpoint, const LayerName& layer,
                                const CheckpointConfig& config, Load load) {
  return IntegerLayer(read_tensors({checkpoint, layer.name, config, load}, layer.kind));
}

WeightSpec IntegerLayer::weight() const {
  WeightSpec weight;
  weight.bits = tensors_.codes.bits;
  weight.group_size = tensors_.group_size;
  weight.zero_point = tensors_.symmetric ? ZeroPoint::kNone : ZeroPoint::kInt;
  weight.scale_dtype = tensors_.scale_type == TensorType::kF32 ? DType::kFp32 : native_dtype();
  return weight;
}

DType IntegerLayer::native_dtype() const {
  return tensors_.scale_type == TensorType::kBf16 ? DType::kBf16 : DType::kFp16;
}

void IntegerLayer::codes(std::int64_t first, std::int64_t count, std::uint8_t* out) const {
  PackedCodes packed = tensors_.codes;
  packed.words = tensors_.words.get();
  unpack_codes(packed, first, count, out);
}

void IntegerLayer::scales(std::int64_t first, std::int64_t count, std::uint8_t* out) const {
  const std::int64_t bytes = tensors_.groups * bytes_of(tensors_.scale_type);
  std::memcpy(out, tensors_.scales.data() + first * bytes, static_cast<std::size_t>(count * bytes));
}

void IntegerLayer::zeros(std::int64_t first, std::int64_t count, std::uint8_t* out) const {
  const std::int64_t groups = tensors_.groups;
  std::memcpy(out, tensors_.zeros.data() + first * groups,
              static_cast<std::size_t>(count * groups));
}

void IntegerLayer::rows(std::int64_t first, std::int64_t count, DType dtype,
                        std::uint16_t* out) const {
  const auto width = static_cast<std::size_t>(k());
  const auto groups = static_cast<std::size_t>(tensors_.groups);
  const int bits = tensors_.codes.bits;
  const std::size_t levels = std::size_t{1} << bits;
  const std::size_t run =
      tensors_.group_size == kPerChannel ? width : static_cast<std::size_t>(tensors_.group_size);
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(count) * width);
  this->codes(first, count, codes.data());
  const bool use_table = bits <= kNarrow || !tensors_.group_index.empty() || run >= 2 * levels;
  std::vector<std::uint16_t> table(use_table ? groups * levels : 0);
  for (std::int64_t r = 0; r < count; ++r) {
    const std::size_t meta = static_cast<std::size_t>(first + r) * groups;
    const std::uint8_t* from = codes.data() + static_cast<std::size_t>(r) * width;
    std::uint16_t* to = out + static_cast<std::size_t>(r) * width;
    const auto value = [&](std::size_t group, std::size_t code) {
      const double scale = float_element(tensors_.scale_type, tensors_.scales.data(), meta + group);
      return round_to_16(dtype, (static_cast<int>(code) - tensors_.zeros[meta + group]) * scale);
    };
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = value(i / levels, i % levels);
    for (std::size_t k = 0; k < width; ++k) {
      const std::size_t group = tensors_.group_index.empty()
                                    ? k / run
                                    : static_cast<std::size_t>(tensors_.group_index[k]);
      to[k] = use_table ? table[group * levels + from[k]] : value(group, from[k]);
    }
  }
}

}  // namespace heddle

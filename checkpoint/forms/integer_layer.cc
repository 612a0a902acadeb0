#include "checkpoint/forms/integer_layer.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "checkpoint/codes/half_convert.h"
#include "checkpoint/forms/integer_reader.h"
#include "checkpoint/modules/layer_error.h"
#include "checkpoint/modules/module_roles.h"

namespace heddle {
namespace {

constexpr int kWidestTable = 4;  // up to this width a table of a group's values is worth making

bool fits(LayerName::Kind kind, Storage storage) {
  switch (kind) {
    case LayerName::Kind::kQweight:
      return storage == Storage::kAwq || storage == Storage::kAwqGemv || storage == Storage::kGptq;
    case LayerName::Kind::kPacked:
      return storage == Storage::kPacked;
    case LayerName::Kind::kQuarkPacked:
      return storage == Storage::kQuarkPacked;
    default:
      return false;
  }
}

IntegerTensors read_tensors(const LayerSource& source) {
  switch (source.scheme.storage) {
    case Storage::kAwq:
      return read_awq_layer(source);
    case Storage::kAwqGemv:
      return read_awq_gemv_layer(source);
    case Storage::kGptq:
      return read_gptq_layer(source);
    case Storage::kQuarkPacked:
      return read_quark_layer(source);
    case Storage::kPacked:
    case Storage::kPlain:
      break;
  }
  return read_compressed_layer(source);
}

}  // namespace

IntegerLayer IntegerLayer::read(const Checkpoint& checkpoint, const LayerName& layer,
                                const CheckpointConfig& config, Load load) {
  const Quantization& quantization = config.quantization;
  if (quantization.method().empty()) {
    refuse_layer(layer.name,
                 "it has packed weights, but the config does not say how: it has no "
                 "quantization_config, and there is no "
                 "hf_quant_config.json, quantize_config.json or quant_config.json beside it");
  }
  const Scheme* scheme = scheme_of_layer(config, layer);
  if (scheme == nullptr)
    refuse_layer(layer.name, "it has packed weights, but the config says that it is not quantised");
  if (!fits(layer.kind, scheme->storage)) {
    refuse_layer(layer.name,
                 fmt::format("whose names are not those of the config's quant_method \"{}\"",
                             quantization.method()));
  }
  IntegerTensors tensors = read_tensors({checkpoint, layer.module(), *scheme, load});
  tensors.name = layer.name;
  return IntegerLayer(std::move(tensors));
}

WeightSpec IntegerLayer::weight() const {
  WeightSpec weight;
  weight.bits = tensors_.codes.bits;
  weight.group_size = tensors_.group_size;
  weight.zero_point = tensors_.symmetric ? ZeroPoint::kNone : ZeroPoint::kInt;
  // A zero point for the whole tensor is one for each row.
  if (!tensors_.symmetric && weight.group_size == kPerTensor) weight.group_size = kPerChannel;
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
      tensors_.group_size > 0 ? static_cast<std::size_t>(tensors_.group_size) : width;
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(count) * width);
  this->codes(first, count, codes.data());
  const bool use_table = bits <= kWidestTable || !tensors_.group_index.empty() || run >= 2 * levels;
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

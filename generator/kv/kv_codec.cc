// Rounding to the nearest code, in FP32, step by step as templates/kv_append/ does it.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "generator/decode/float16.h"
#include "generator/kv/kv_rule.h"
#include "heddle/kv_cache.h"
#include "heddle/spec.h"
#include "heddle/weights.h"

namespace heddle {
namespace {

constexpr float kMagic = 12582912;  // 1.5 * 2^23: FP32 numbers near it are the integers
constexpr std::uint32_t kFp8Nan = 0x7F;

// A group's scale and zero point, as they are stored and as they are used.
struct GroupScale {
  std::uint32_t bits = 0;
  float scale = 0;  // 0: all codes are those of zero
  float inverse = 0;
  float zero = 0;
};

std::uint16_t to_16_bits(DType dtype, float value) {
  return float16_from_double(float16_format(dtype), static_cast<double>(value));
}
float from_16_bits(DType dtype, std::uint32_t bits) {
  return static_cast<float>(
      float16_to_double(float16_format(dtype), static_cast<std::uint16_t>(bits)));
}

class Codec {
 public:
  Codec(const KvTensor& tensor, const KvGivenScale& given)
      : tensor_(tensor), rule_(kv_rule(tensor)), given_(given) {}

  const KvRule& rule() const { return rule_; }

  GroupScale given_scale() const {
    GroupScale group = usable({0, given_.scale});
    group.zero = tensor_.symmetric ? static_cast<float>(rule_.bias) : limited(given_.zero);
    return group;
  }

  // The scale that the values `members` share.
  GroupScale scale_of(const float* values, const std::vector<std::size_t>& members) const {
    float high = 0;
    float low = 0;
    bool finite = true;
    for (const std::size_t i : members) {
      finite = finite && std::isfinite(values[i]);
      high = std::max(high, values[i]);
      low = std::min(low, values[i]);
    }
    if (!finite) {
      GroupScale group{nan_scale(*tensor_.scale_dtype), 0, 0, 0};
      if (tensor_.symmetric) group.zero = static_cast<float>(rule_.bias);
      return group;
    }
    const float width = tensor_.symmetric ? std::max(high, -low) : high - low;
    float wanted = width * (1 / rule_.divisor);
    if (tensor_.dtype == KvDtype::kNvfp4) {
      wanted = is_usable_kv_scale(given_.scale) ? wanted * (1 / given_.scale) : 0;
    }
    RoundedScale scale = round_scale(*tensor_.scale_dtype, std::min(wanted, kLargestKvScale));
    if (tensor_.dtype == KvDtype::kNvfp4) scale.value *= given_.scale;
    GroupScale group = usable(scale);
    if (tensor_.symmetric) {
      group.zero = static_cast<float>(rule_.bias);
    } else if (group.scale != 0) {
      group.zero = limited(std::fma(-low, group.inverse, kMagic) - kMagic);
    }
    return group;
  }

  std::uint32_t code(float value, const GroupScale& group) const {
    if (rule_.is_float) return group.scale == 0 ? 0 : float_code(value * group.inverse);
    if (group.scale == 0 || std::isnan(value)) return static_cast<std::uint32_t>(group.zero);
    const float rounded = std::fma(value, group.inverse, kMagic + group.zero) - kMagic;
    return static_cast<std::uint32_t>(limited(rounded));
  }

  float value(std::uint32_t code, float scale, float zero) const {
    if (!rule_.is_float) return (static_cast<float>(code) - zero) * scale;
    const std::uint32_t sign = 1u << (rule_.bits - 1);
    const std::uint32_t magnitude = code & (sign - 1);
    float number = rule_.code_float.value(magnitude);
    if (rule_.bits == 8 && magnitude > rule_.code_float.largest) {
      const bool infinite = tensor_.dtype == KvDtype::kFp8E5m2 && magnitude == 0x7C;
      number = infinite ? std::numeric_limits<float>::infinity()
                        : std::numeric_limits<float>::quiet_NaN();
    }
    return ((code & sign) != 0 ? -number : number) * scale;
  }

  // What is stored of a scale, and read again.
  void store(const GroupScale& group, std::uint8_t* to) const {
    const auto bytes = static_cast<std::size_t>(bytes_of(*tensor_.scale_dtype));
    std::memcpy(to, &group.bits, bytes);
    if (tensor_.symmetric) return;
    const std::uint32_t zero = *tensor_.scale_dtype == DType::kFp32
                                   ? std::bit_cast<std::uint32_t>(group.zero)
                                   : to_16_bits(*tensor_.scale_dtype, group.zero);
    std::memcpy(to + bytes, &zero, bytes);
  }
  GroupScale load(const std::uint8_t* from) const {
    const auto bytes = static_cast<std::size_t>(bytes_of(*tensor_.scale_dtype));
    GroupScale group;
    group.scale = stored_value(from, bytes);
    if (tensor_.dtype == KvDtype::kNvfp4) group.scale *= given_.scale;
    group.zero =
        tensor_.symmetric ? static_cast<float>(rule_.bias) : stored_value(from + bytes, bytes);
    return group;
  }

 private:
  static GroupScale usable(const RoundedScale& scale) {
    if (!is_usable_kv_scale(scale.value)) return {};
    return {scale.bits, scale.value, 1 / scale.value, 0};
  }

  float limited(float code) const {
    const float rounded = std::nearbyint(std::isnan(code) ? 0 : code);
    return std::clamp(rounded, static_cast<float>(rule_.low), static_cast<float>(rule_.high));
  }

  std::uint32_t float_code(float value) const {
    if (std::isnan(value)) return kFp8Nan;
    const std::uint32_t sign = std::signbit(value) ? 1u << (rule_.bits - 1) : 0;
    return sign | rule_.code_float.nearest(std::fabs(value));
  }

  float stored_value(const std::uint8_t* from, std::size_t bytes) const {
    std::uint32_t bits = 0;
    std::memcpy(&bits, from, bytes);
    switch (*tensor_.scale_dtype) {
      case DType::kFp32:
        return std::bit_cast<float>(bits);
      case DType::kE4m3:
        return bits == kFp8Nan ? std::numeric_limits<float>::quiet_NaN()
                               : SmallFloat{4, 3, 0x7E}.value(bits);
      case DType::kFp16:
      case DType::kBf16:
      case DType::kE8m0:
      case DType::kInt8:
      case DType::kFp8E4m3:
      case DType::kFp8E5m2:
        break;
    }
    return from_16_bits(*tensor_.scale_dtype, bits);
  }

  const KvTensor& tensor_;
  const KvRule rule_;
  const KvGivenScale given_;
};

std::size_t values_of(const KvTensor& tensor, int heads, int head_dim) {
  return static_cast<std::size_t>(kv_block_tokens(tensor)) * static_cast<std::size_t>(heads) *
         static_cast<std::size_t>(head_dim);
}

// The elements [tokens][heads][head_dim] that share each scale, in the order of the scales.
std::vector<std::vector<std::size_t>> scale_groups(const KvTensor& tensor, int heads,
                                                   int head_dim) {
  const auto row = static_cast<std::size_t>(head_dim);
  const std::size_t all = values_of(tensor, heads, head_dim);
  if (tensor.granularity == KvGranularity::kChannel) {
    std::vector<std::vector<std::size_t>> channels(static_cast<std::size_t>(heads) * row);
    for (std::size_t i = 0; i < all; ++i) channels[i % channels.size()].push_back(i);
    return channels;
  }
  std::size_t size = all;
  if (tensor.granularity == KvGranularity::kHead) size = row;
  if (tensor.granularity == KvGranularity::kGroup) {
    size = static_cast<std::size_t>(tensor.group_size);
  }
  std::vector<std::vector<std::size_t>> groups(all / size);
  for (std::size_t i = 0; i < all; ++i) groups[i / size].push_back(i);
  return groups;
}

DType dtype_of(KvDtype dtype) { return dtype == KvDtype::kBf16 ? DType::kBf16 : DType::kFp16; }

}  // namespace

int kv_block_tokens(const KvTensor& tensor) noexcept {
  return tensor.granularity == KvGranularity::kChannel ? tensor.group_size : 1;
}

KvToken quantize_kv(const KvTensor& tensor, int heads, int head_dim, const float* values,
                    const KvGivenScale& given) {
  const Codec codec(tensor, given);
  const auto bits = static_cast<std::size_t>(codec.rule().bits);
  const std::size_t count = values_of(tensor, heads, head_dim);
  KvToken token;
  token.codes.resize(count * bits / 8);
  if (codec.rule().is_16_bit) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint16_t value = to_16_bits(dtype_of(tensor.dtype), values[i]);
      std::memcpy(&token.codes[2 * i], &value, 2);
    }
    return token;
  }
  const bool stored = tensor.granularity != KvGranularity::kTensor;
  for (const auto& members : scale_groups(tensor, heads, head_dim)) {
    const GroupScale group = stored ? codec.scale_of(values, members) : codec.given_scale();
    if (stored) {
      const std::size_t at = token.scales.size();
      const int width = bytes_of(*tensor.scale_dtype) * (tensor.symmetric ? 1 : 2);
      token.scales.resize(at + static_cast<std::size_t>(width));
      codec.store(group, &token.scales[at]);
    }
    for (const std::size_t i : members) {
      const std::uint32_t code = codec.code(values[i], group);
      token.codes[i * bits / 8] |= static_cast<std::uint8_t>(code << (i * bits % 8));
    }
  }
  return token;
}

std::vector<float> dequantize_kv(const KvTensor& tensor, int heads, int head_dim,
                                 const KvToken& token, const KvGivenScale& given) {
  const Codec codec(tensor, given);
  const auto bits = static_cast<std::size_t>(codec.rule().bits);
  std::vector<float> values(values_of(tensor, heads, head_dim));
  if (codec.rule().is_16_bit) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::uint16_t value = 0;
      std::memcpy(&value, &token.codes[2 * i], 2);
      values[i] = from_16_bits(dtype_of(tensor.dtype), value);
    }
    return values;
  }
  const bool stored = tensor.granularity != KvGranularity::kTensor;
  const std::uint8_t* scale = token.scales.data();
  for (const auto& members : scale_groups(tensor, heads, head_dim)) {
    GroupScale group;
    if (stored) {
      group = codec.load(scale);
      scale += bytes_of(*tensor.scale_dtype) * (tensor.symmetric ? 1 : 2);
    } else {
      group.scale = given.scale;
      group.zero = codec.given_scale().zero;
    }
    for (const std::size_t i : members) {
      const std::uint32_t code = token.codes[i * bits / 8] >> (i * bits % 8) & ((1u << bits) - 1);
      values[i] = codec.value(code, group.scale, group.zero);
    }
  }
  return values;
}

}  // namespace heddle

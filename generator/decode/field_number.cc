#include "generator/decode/field_number.h"

#include <fmt/format.h>

#include <algorithm>

#include "generator/decode/derivation.h"

namespace heddle {
namespace {

template <class F>
std::uint32_t each_half(Position p, const F& f) {
  return static_cast<std::uint32_t>(f(p.high)) << 16 | static_cast<std::uint32_t>(f(p.low));
}

// The exponent of the smallest subnormal.
int lowest_weight(Float16Format format) { return 1 - format.bias() - format.mantissa_bits; }

// The lowest bit of a bare field has the weight 2^(1 - bias - M + p), in a field at the top p = M +
// 1
// - bits, and the largest factor is 2^bias.
int unit_exponent(const DecodeRequest& request, FieldNumber::Bare bare) {
  switch (bare) {
    case FieldNumber::Bare::kNone:
      break;
    case FieldNumber::Bare::kTop:
      return std::max(0, request.bits - 2);
    case FieldNumber::Bare::kAll:
      return -lowest_weight(float16_format(request.dtype)) / 2;
  }
  return 0;
}

}  // namespace

FieldNumber::FieldNumber(const DecodeRequest& request, Bare bare)
    : format_(float16_format(request.dtype)),
      bits_(request.bits),
      exponent_(unit_exponent(request, bare)),
      bare_(bare) {}

std::uint32_t FieldNumber::magic(Position p) const {
  return each_half(
      p, [&](int bit) { return lies_bare(bit) ? 0 : format_.power_of_two(magic_exponent(bit)); });
}

std::uint32_t FieldNumber::factor(Position p) const {
  return each_half(p, [&](int bit) {
    return format_.power_of_two(lies_bare(bit) ? -exponent_ - lowest_weight(format_) - bit : 0);
  });
}

std::uint32_t FieldNumber::bias(Position p) const {
  const int half_range = 1 << (bits_ - 1);
  return each_half(p, [&](int bit) {
    return lies_bare(bit) ? format_.power_of_two(bits_ - 1 - exponent_)
                          : format_.power_of_two(magic_exponent(bit)) | half_range << bit;
  });
}

std::string FieldNumber::magic_text(Position p) const {
  const auto text = [&](int bit) {
    return fmt::format("{}", lies_bare(bit) ? 0 : 1 << magic_exponent(bit));
  };
  if (p.low == p.high) return text(p.low);
  return fmt::format("{{{}, {}}}", text(p.low), text(p.high));
}

std::string FieldNumber::unit_text() const {
  return exponent_ == 0 ? "1" : fmt::format("2^-{}", exponent_);
}

}  // namespace heddle

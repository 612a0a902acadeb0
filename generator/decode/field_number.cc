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

}  // namespace

// The lowest bit of a bare field has the weight 2^(1 - bias - M + p), p = M + 1 - bits, and the
// largest factor is 2^bias.
FieldNumber::FieldNumber(const DecodeRequest& request, bool may_be_bare)
    : format_(float16_format(request.dtype)),
      bits_(request.bits),
      exponent_(may_be_bare ? std::max(0, request.bits - 2) : 0),
      may_be_bare_(may_be_bare) {}

std::uint32_t FieldNumber::magic(Position p) const {
  return each_half(p, [&](int bit) {
    return bit == bare_bit() ? 0 : format_.power_of_two(magic_exponent(bit));
  });
}

std::uint32_t FieldNumber::factor(Position p) const {
  const int subnormal = 1 - format_.bias() - format_.mantissa_bits;
  return each_half(p, [&](int bit) {
    return format_.power_of_two(bit == bare_bit() ? -exponent_ - subnormal - bit : 0);
  });
}

std::uint32_t FieldNumber::bias(Position p) const {
  const int half_range = 1 << (bits_ - 1);
  return each_half(p, [&](int bit) {
    return bit == bare_bit() ? format_.power_of_two(bits_ - 1 - exponent_)
                             : format_.power_of_two(magic_exponent(bit)) | half_range << bit;
  });
}

std::string FieldNumber::magic_text(Position p) const {
  const auto text = [&](int bit) {
    return fmt::format("{}", bit == bare_bit() ? 0 : 1 << magic_exponent(bit));
  };
  if (p.low == p.high) return text(p.low);
  return fmt::format("{{{}, {}}}", text(p.low), text(p.high));
}

std::string FieldNumber::unit_text() const {
  return exponent_ == 0 ? "1" : fmt::format("2^-{}", exponent_);
}

}  // namespace heddle

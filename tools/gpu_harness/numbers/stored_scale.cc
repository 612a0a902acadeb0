#include "tools/gpu_harness/numbers/stored_scale.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "generator/decode/float16.h"

namespace heddle {

float stored_scale(DType dtype, std::uint32_t bits) {
  switch (dtype) {
    case DType::kFp16:
      return static_cast<float>(float16_to_double(kBinary16, static_cast<std::uint16_t>(bits)));
    case DType::kBf16:
      return static_cast<float>(float16_to_double(kBfloat16, static_cast<std::uint16_t>(bits)));
    case DType::kFp32: {
      float value = 0;
      std::memcpy(&value, &bits, sizeof value);
      return value;
    }
    case DType::kE8m0:
      return bits == 255 ? std::numeric_limits<float>::quiet_NaN()
                         : std::ldexp(1.0F, static_cast<int>(bits) - 127);
    case DType::kInt8:
      return static_cast<float>(bits);
    case DType::kE4m3:
    case DType::kFp8E4m3:
    case DType::kFp8E5m2:
      break;
  }
  if ((bits & 0x7F) == 0x7F) return std::numeric_limits<float>::quiet_NaN();
  const int exponent = static_cast<int>(bits >> 3 & 0xF);
  const auto mantissa = static_cast<float>(bits & 0x7);
  const float magnitude =
      exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

std::uint32_t read_bits(const std::vector<std::uint8_t>& values, std::size_t index, int bytes) {
  std::uint32_t bits = 0;  // little-endian
  std::memcpy(&bits, &values[index * static_cast<std::size_t>(bytes)],
              static_cast<std::size_t>(bytes));
  return bits;
}

void append_bits(std::vector<std::uint8_t>& values, std::uint32_t bits, int bytes) {
  for (int i = 0; i < bytes; ++i) values.push_back(static_cast<std::uint8_t>(bits >> (8 * i)));
}

}  // namespace heddle

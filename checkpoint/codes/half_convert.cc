#include "checkpoint/codes/half_convert.h"

#include "generator/decode/float16.h"

namespace heddle {

double float_element(TensorType type, const std::uint8_t* data, std::size_t index) {
  if (type == TensorType::kF32) {
    float value = 0;
    std::memcpy(&value, data + index * 4, 4);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, data + index * 2, 2);
  return float16_to_double(type == TensorType::kBf16 ? kBfloat16 : kBinary16, bits);
}

}  // namespace heddle

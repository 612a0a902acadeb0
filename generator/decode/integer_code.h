// What a code of an integer means.
#ifndef HEDDLE_GENERATOR_DECODE_INTEGER_CODE_H_
#define HEDDLE_GENERATOR_DECODE_INTEGER_CODE_H_

#include "generator/decode/decode_plan.h"

namespace heddle {

constexpr int kLargestByteScale = 127;

inline int integer_value(const DecodeRequest& request, unsigned code) {
  const int value = static_cast<int>(code);
  const int half_range = 1 << (request.bits - 1);
  return request.type == WeightType::kInt && value >= half_range ? value - 2 * half_range : value;
}

// The code less its zero point, which is fixed where the request has none.
inline int integer_weight(const DecodeRequest& request, unsigned code, unsigned zero) {
  if (request.zero_point == ZeroPoint::kInt) {
    return integer_value(request, code) - integer_value(request, zero);
  }
  const int fixed = request.type == WeightType::kUint ? 1 << (request.bits - 1) : 0;
  return integer_value(request, code) - fixed;
}

// Whether that times an integer scale is an INT8.
inline bool fits_int8(const DecodeRequest& request, unsigned code, unsigned zero, int scale) {
  const int product = scale * integer_weight(request, code, zero);
  return product >= -128 && product <= 127;
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_DECODE_INTEGER_CODE_H_

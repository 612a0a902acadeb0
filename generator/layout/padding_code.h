// The code of rows and columns that pad W.
#ifndef HEDDLE_GENERATOR_LAYOUT_PADDING_CODE_H_
#define HEDDLE_GENERATOR_LAYOUT_PADDING_CODE_H_

#include <cstdint>

#include "heddle/spec.h"

namespace heddle {

// Decodes to zero, given zero points of zero; a table's zero is wherever it is: scales of zero do
// the rest.
inline std::uint32_t padding_code(const WeightSpec& weight) {
  const bool biased = weight.type == WeightType::kUint && weight.zero_point == ZeroPoint::kNone;
  return biased ? 1u << (weight.bits - 1) : 0;
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_LAYOUT_PADDING_CODE_H_

// The codes of an lm_head that Heddle itself quantises: one scheme for the kernels of a config, for
// those of a checkpoint and for the packed weights.
#ifndef HEDDLE_GENERATOR_MODEL_HEAD_WEIGHT_H_
#define HEDDLE_GENERATOR_MODEL_HEAD_WEIGHT_H_

#include <cstdint>

#include "generator/model/group_size.h"
#include "heddle/spec.h"

namespace heddle {

inline bool is_head_bits(int bits) { return bits == 4 || bits == 8; }

// Groups of 128 columns, or of the largest size that divides 128 and K. 8 bits: signed codes around
// zero. 4 bits: codes with zero points, since a range of 15 steps should end where the weights do.
// Precondition: is_head_bits(bits).
inline WeightSpec head_weight(int bits, std::int64_t k, DType scale_dtype) {
  constexpr int kGroup = 128;
  WeightSpec weight;
  weight.bits = bits;
  weight.type = bits == 8 ? WeightType::kInt : WeightType::kUint;
  weight.zero_point = bits == 8 ? ZeroPoint::kNone : ZeroPoint::kInt;
  weight.group_size = kernel_group_size(k, kGroup);
  weight.scale_dtype = scale_dtype;
  return weight;
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_MODEL_HEAD_WEIGHT_H_

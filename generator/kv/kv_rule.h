// How values of a cache are rounded: the constants that kv_append's kernel and quantize_kv() share.
#ifndef HEDDLE_GENERATOR_KV_KV_RULE_H_
#define HEDDLE_GENERATOR_KV_KV_RULE_H_

#include "generator/layout/rounding_rule.h"
#include "heddle/kv_spec.h"

namespace heddle {

struct KvRule {
  int bits = 8;
  bool is_16_bit = false;
  bool is_float = false;  // codes are `code_float`, else integers
  SmallFloat code_float;
  // Integers: code = round(x / scale) + zero, from low to high; zero is `bias` where symmetric.
  int low = 0;
  int high = 0;
  int bias = 0;
  float divisor = 1;  // a scale is the largest magnitude, or the width of the range, over this
};

KvRule kv_rule(const KvTensor& tensor);

// Other scales divide nothing: their values count as zeros. Below are no normal FP32 numbers, and
// from 2^126 on the inverse is none. Scales that are found stop at kLargestKvScale.
inline constexpr float kLargestKvScale = 0x1.FEp125F;
inline bool is_usable_kv_scale(float scale) { return scale >= 0x1p-126F && scale < 0x1p126F; }

// Whether the caller gives a number for the whole tensor: KvCacheTensor::given.
inline bool takes_given(const KvTensor& tensor) noexcept {
  return tensor.granularity == KvGranularity::kTensor || tensor.dtype == KvDtype::kNvfp4;
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_KV_KV_RULE_H_

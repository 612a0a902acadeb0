// Sizes of the plain arrays that weights are packed from.
#ifndef HEDDLE_GENERATOR_LAYOUT_PLAIN_SIZES_H_
#define HEDDLE_GENERATOR_LAYOUT_PLAIN_SIZES_H_

#include <cstddef>

#include "heddle/spec.h"

namespace heddle {

// Bytes of one code in QuantizedWeights.
inline std::size_t code_bytes(const WeightSpec& weight) { return weight.bits > 8 ? 2 : 1; }

// Bytes, as in QuantizedWeights.
struct PlainSizes {
  std::size_t codes = 0;
  std::size_t scales = 0;
  std::size_t zeros = 0;
  std::size_t channel_scales = 0;
};

// What the spec asks for. Throws as pack_weights() for a spec that cannot be packed.
PlainSizes plain_sizes(const GemmSpec& spec);

// Throws Error(kUsage, "weights.size") unless both are the same; `what`: the array's name.
void expect_size(const char* what, std::size_t got, std::size_t want);

// Throws Error(kUsage, "weights.size") for the first array that has not the size that the spec asks
// for. Looks at nothing but the numbers, so that callers may ask before they read an array.
void expect_plain_sizes(const GemmSpec& spec, const PlainSizes& given);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_LAYOUT_PLAIN_SIZES_H_

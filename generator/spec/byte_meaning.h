// The rules of a gemm whose matrix instruction multiplies codes of eight bits.
#ifndef HEDDLE_GENERATOR_SPEC_BYTE_MEANING_H_
#define HEDDLE_GENERATOR_SPEC_BYTE_MEANING_H_

#include "generator/spec/weight_meaning.h"
#include "heddle/spec.h"

namespace heddle {

// Whether codes of W become those that X of eight bits is multiplied by: they have fewer bits.
bool decodes_to_bytes(const GemmSpec& gemm);

// Whether the kernel finds the scales of Y, of 128 columns of a row each.
inline bool finds_output_scales(const GemmSpec& spec) {
  return spec.output_scale.granularity == RowGranularity::kGroup;
}

// The order of the gemm's packed codes: with X of eight bits kFragment stands for kSwizzle128b or,
// of codes that are decoded, for kByteFragment.
Interleave settled_interleave(const GemmSpec& gemm);

// With X of eight bits: what weights, scales and output may be. With 16: that the fields of the
// other are not set.
void check_byte_activations(const GemmSpec& gemm, Problems& problems);

// A gemm that multiplies the weights of an operation on weights as they are.
GemmSpec byte_gemm_of(const WeightOpSpec& spec);

// What operations on such weights ask for: that a gemm takes them, and columns in order. One that
// `reads_codes` has those of a checkpoint.
void check_order_of_op(bool reads_codes, const WeightOpSpec& spec, Problems& problems);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_SPEC_BYTE_MEANING_H_

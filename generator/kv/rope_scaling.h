// Angles of rotary position embeddings, scaled for sequences that are longer than those that the
// model was trained with.
#ifndef HEDDLE_GENERATOR_KV_ROPE_SCALING_H_
#define HEDDLE_GENERATOR_KV_ROPE_SCALING_H_

#include <vector>

#include "heddle/kv_spec.h"

namespace heddle {

// What pair i turns by from one position to the next, in radians: t = base^(-2i / dim) without
// scaling. docs/kv-caches-and-attention.md has the formulas of the others, which are those of
// Hugging Face's "Utilities for Rotary Embedding":
//   linear  t / factor (arXiv:2306.15595)
//   llama3  t / factor of slow pairs, t of fast ones, in between a mean of both whose weights are
//           linear in the turns that the pair makes in the original positions
//   yarn    the same with weights that are linear in the pair's number (arXiv:2309.00071)
// Precondition: check_meaning() finds nothing; a pairing, and dim is not 0.
std::vector<double> rope_radians(const RopeSpec& rope);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_KV_ROPE_SCALING_H_

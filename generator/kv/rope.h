// Rotary position embeddings on the host, with the bits that kv_append's kernel makes.
#ifndef HEDDLE_GENERATOR_KV_ROPE_H_
#define HEDDLE_GENERATOR_KV_ROPE_H_

#include <cstdint>
#include <vector>

#include "heddle/kv_spec.h"

namespace heddle {

// What pair i turns by from one position to the next, in units of 2^-64 turns: 2^64 / (2 pi) *
// base^(-2i / dim). Products with a position wrap around where whole turns are complete, so that no
// position is too large. Precondition: a pairing, and dim is not 0.
std::vector<std::uint64_t> rope_frequencies(const RopeSpec& rope);

struct Rotation {
  float cosine = 1;
  float sine = 0;
};
// FP32 polynomials on an eighth of a turn to both sides: within 1e-7 of the true values.
Rotation rope_rotation(std::uint64_t frequency, std::uint32_t position);

// Turns the first rope.dim elements of a row in place, pair i by rotations[i].
void rotate_row(const RopeSpec& rope, const std::vector<Rotation>& rotations, float* row);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_KV_ROPE_H_

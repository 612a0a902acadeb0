// Rotary position embeddings on the host, with the bits that kv_append's kernel makes.
#ifndef HEDDLE_GENERATOR_KV_ROPE_H_
#define HEDDLE_GENERATOR_KV_ROPE_H_

#include <cstdint>
#include <vector>

#include "heddle/kv_spec.h"

namespace heddle {

// What pair i turns by from one position to the next, in units of 2^-64 turns: 2^64 / (2 pi) *
// base^(-2i / dim), or what rope.scaling makes of that angle. Products with a position wrap around
// where whole turns are complete, so that no position is too large. Precondition: a pairing, and
// dim is not 0.
std::vector<std::uint64_t> rope_frequencies(const RopeSpec& rope);

struct Rotation {
  float cosine = 1;
  float sine = 0;
};
// What cosines and sines are multiplied by: the attention factor of YaRN, else 1.
float rope_factor(const RopeSpec& rope);
// FP32 polynomials on an eighth of a turn to both sides: within 1e-7 of the true values.
Rotation rope_rotation(std::uint64_t frequency, std::uint32_t position);
// Both multiplied by rope_factor(), each rounded once.
Rotation scaled(const Rotation& rotation, float factor);

// Turns the first rope.dim elements of a row in place, pair i by rotations[i].
void rotate_row(const RopeSpec& rope, const std::vector<Rotation>& rotations, float* row);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_KV_ROPE_H_

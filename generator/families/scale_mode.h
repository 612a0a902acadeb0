// Where the scale of a group of weights goes, and what decoding leaves to it.
#ifndef HEDDLE_GENERATOR_FAMILIES_SCALE_MODE_H_
#define HEDDLE_GENERATOR_FAMILIES_SCALE_MODE_H_

#include "generator/families/gemm_variant.h"
#include "heddle/decode_plan.h"
#include "heddle/plan.h"

namespace heddle {

// Whether the activation's type holds every scale, so that a scaled weight is rounded once.
bool scales_weights_exactly(const GemmSpec& spec);

// Whether the registers of a warp that multiplies by mma.sync hold the sums of a group beside all
// others, as scales on sums want.
bool has_room_for_partial_sums(const GemmVariant& variant);

// The same of a tile that bulk copies feed.
bool has_room_for_bulk_sums(const GemmVariant& variant);

// Where the scale goes for this tile: see ScaleMode.
ScaleMode choose_scale_mode(const GemmSpec& spec, const WeightLayout& layout,
                            const GemmVariant& variant);

// Sets where the scale goes, and whether decoding multiplies by it or leaves a power of two to it.
void settle_scale(const GemmSpec& spec, const WeightLayout& layout, GemmVariant& variant);

// Of that power, `decode`'s, what is in the scales that multiply weights; the sums take the rest.
int power_of_scale(const GemmSpec& spec, const GemmVariant& variant, const DecodePlan& decode);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_SCALE_MODE_H_

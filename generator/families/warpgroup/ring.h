// The ring of stages of a GEMM with wgmma: how long it is, and how much of it is asked for before
// the tokens are there.
#ifndef HEDDLE_GENERATOR_FAMILIES_WARPGROUP_RING_H_
#define HEDDLE_GENERATOR_FAMILIES_WARPGROUP_RING_H_

#include "generator/families/gemm_variant.h"
#include "heddle/plan.h"

namespace heddle {

// As many stages as fit, of the length that the variant has.
int wgmma_stages_that_fit(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                          const GemmVariant& variant);

// Sets so many, or as many as the user wants, how many of them are ahead of the tokens, and the
// shared memory that this takes.
void set_wgmma_ring(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                    GemmVariant& variant);

// The same once it is known how tiles are shared.
void settle_wgmma_ring(const GemmSpec& spec, const Target& target, const WeightLayout& layout,
                       GemmVariant& variant);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_WARPGROUP_RING_H_

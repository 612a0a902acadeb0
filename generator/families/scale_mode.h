// Where the scale of a group of weights goes, and what decoding leaves to it.
#ifndef HEDDLE_GENERATOR_FAMILIES_SCALE_MODE_H_
#define HEDDLE_GENERATOR_FAMILIES_SCALE_MODE_H_

#include <optional>
#include <string>
#include <string_view>

#include "generator/decode/decode_plan.h"
#include "generator/families/fields.h"
#include "generator/families/gemm_request.h"
#include "heddle/inspect/plan.h"
#include "steps/config.h"

namespace heddle {

using device::ScaleMode;

// Whether the activation's type holds every scale, so that a scaled weight is rounded once.
bool scales_weights_exactly(const GemmSpec& spec);

// Whether decoding multiplies by the scale where it meets weights (DecodeRequest::fold_scale).
bool folds_scale(const GemmSpec& spec);

// Precondition: X has eight bits.
ScaleMode scale_mode_of_bytes(const GemmSpec& spec);

// Where the types alone say where the scale goes.
std::optional<ScaleMode> scale_mode_of_types(const GemmSpec& spec, const WeightLayout& layout);

// The scale mode of a kernel whose warps apply a whole entry of scales at a time, to `tokens`
// tokens: where the types leave it open, the mode that takes fewer operations. `sums_are_hidden`:
// as many operations on sums cost less than on weights. All kernels of a batch-invariant spec have
// the mode of its most tokens.
ScaleMode scale_mode_of_entries(const GemmSpec& spec, const WeightLayout& layout, int tokens,
                                bool sums_are_hidden = false);

// What a kernel with this mode decodes by: plan.decode, or the same but for a power of two of the
// codes that is left to the scale, or for the product with the scale.
DecodePlan decode_plan_of(const GemmRequest& gemm, ScaleMode mode);

// The mode with the powers of two that this decode plan leaves to scales and sums.
device::Scaling scaling_of(const GemmRequest& gemm, ScaleMode mode);

std::string_view to_string(ScaleMode mode) noexcept;
// "scale on weight", "no scales": for a kernel's description.
std::string scale_text(ScaleMode mode);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_SCALE_MODE_H_

// Where scales and the powers of two that decoded weights may lack are multiplied.
#ifndef HEDDLE_GENERATOR_PLAN_SCALE_POWER_H_
#define HEDDLE_GENERATOR_PLAN_SCALE_POWER_H_

#include "heddle/decode_plan.h"
#include "heddle/plan.h"

namespace heddle {

// Whether the scale takes over the power of two of the codes (DecodeRequest::fold_power).
bool folds_power(const GemmSpec& spec, ScaleMode mode);

// Whether it does so only where it multiplies weights.
bool weights_alone_fold_power(const GemmSpec& spec);

// Whether the scale is multiplied by decoding where it meets weights (DecodeRequest::fold_scale).
bool folds_scale(const GemmSpec& spec);

// Sets where the scale goes, and what goes with it.
void settle_scale(const GemmSpec& spec, const WeightLayout& layout, GemmVariant& variant);

// Of that power, `decode`'s, what is in the scales that multiply weights; the sums take the rest.
int power_of_scale(const GemmSpec& spec, const GemmVariant& variant, const DecodePlan& decode);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLAN_SCALE_POWER_H_

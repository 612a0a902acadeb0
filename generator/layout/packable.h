// Whether weights of a spec can be packed. Specs are parsed without the rules between their fields,
// which resolve() has, and structs need not have been parsed at all.
#ifndef HEDDLE_GENERATOR_LAYOUT_PACKABLE_H_
#define HEDDLE_GENERATOR_LAYOUT_PACKABLE_H_

#include "heddle/spec.h"

namespace heddle {

// All throw Error(kSpec) for values that no spec has, as Spec::from_gemm() does, and
// Error(kUnsupported, "weights.unsupported") with every rule that is broken.
void expect_packable(const GemmSpec& spec);
// `op` is one on weights alone.
void expect_packable(Op op, const WeightOpSpec& spec);
// Precondition: spec.has_weight().
void expect_packable(const Spec& spec);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_LAYOUT_PACKABLE_H_

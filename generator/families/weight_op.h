// Operations on weights: what is refused, how kernels are named.
#ifndef HEDDLE_GENERATOR_FAMILIES_WEIGHT_OP_H_
#define HEDDLE_GENERATOR_FAMILIES_WEIGHT_OP_H_

#include <string>
#include <string_view>
#include <vector>

#include "heddle/error.h"
#include "heddle/inspect/plan.h"

namespace heddle {

// Why this target does not serve an operation on weights.
// `computed`: the field of the type that the kernel computes in; empty where it computes nothing.
std::vector<Problem> refuse_weight_op(const WeightOpSpec& op, const Target& target,
                                      std::string_view computed);

// "heddle_<operation>_<types>_<weight>_n<N>_k<K>"; `types`: the format or dtype that is read, then
// the one that is written, where the operation leaves it open.
std::string weight_op_kernel_name(const Spec& spec, std::string_view types);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_WEIGHT_OP_H_

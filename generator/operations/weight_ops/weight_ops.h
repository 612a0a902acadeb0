// The fields of the three operations that read or make packed weights.
#ifndef HEDDLE_GENERATOR_OPERATIONS_WEIGHT_OPS_WEIGHT_OPS_H_
#define HEDDLE_GENERATOR_OPERATIONS_WEIGHT_OPS_WEIGHT_OPS_H_

#include <vector>

#include "generator/spec/fields.h"
#include "heddle/error.h"
#include "heddle/spec.h"

namespace heddle {

const FieldTable& dequantize_fields();
const FieldTable& repack_fields();
const FieldTable& quantize_weight_fields();
// Operation::problems() of a struct. Precondition: `op` is one of the three.
std::vector<Problem> check_meaning(Op op, const WeightOpSpec& spec);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_OPERATIONS_WEIGHT_OPS_WEIGHT_OPS_H_

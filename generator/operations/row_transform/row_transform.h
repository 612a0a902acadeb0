// The fields of row_transform and the rules between them.
#ifndef HEDDLE_GENERATOR_OPERATIONS_ROW_TRANSFORM_ROW_TRANSFORM_H_
#define HEDDLE_GENERATOR_OPERATIONS_ROW_TRANSFORM_ROW_TRANSFORM_H_

#include <vector>

#include "generator/spec/fields.h"
#include "heddle/error.h"
#include "heddle/spec.h"

namespace heddle {

const FieldTable& row_transform_fields();
// Operation::problems() of a struct.
std::vector<Problem> check_meaning(const RowTransformSpec& spec);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_OPERATIONS_ROW_TRANSFORM_ROW_TRANSFORM_H_

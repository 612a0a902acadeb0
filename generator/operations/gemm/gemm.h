// The fields of a gemm and the rules between them.
#ifndef HEDDLE_GENERATOR_OPERATIONS_GEMM_GEMM_H_
#define HEDDLE_GENERATOR_OPERATIONS_GEMM_GEMM_H_

#include <string>
#include <vector>

#include "generator/spec/fields.h"
#include "heddle/error.h"
#include "heddle/spec.h"

namespace heddle {

const FieldTable& gemm_fields();
// Operation::problems() of a struct.
std::vector<Problem> check_meaning(const GemmSpec& gemm);
// Operation::describe() of a struct.
std::string describe(const GemmSpec& gemm);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_OPERATIONS_GEMM_GEMM_H_

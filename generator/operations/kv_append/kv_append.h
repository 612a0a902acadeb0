// The fields of kv_append and the rules between them.
#ifndef HEDDLE_GENERATOR_OPERATIONS_KV_APPEND_KV_APPEND_H_
#define HEDDLE_GENERATOR_OPERATIONS_KV_APPEND_KV_APPEND_H_

#include <vector>

#include "generator/spec/fields.h"
#include "heddle/error.h"
#include "heddle/spec.h"

namespace heddle {

const FieldTable& kv_append_fields();
// Operation::problems() of a struct.
std::vector<Problem> check_meaning(const KvAppendSpec& spec);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_OPERATIONS_KV_APPEND_KV_APPEND_H_

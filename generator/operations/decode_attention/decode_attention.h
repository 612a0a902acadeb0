// The fields of decode_attention and the rules between them.
#ifndef HEDDLE_GENERATOR_OPERATIONS_DECODE_ATTENTION_DECODE_ATTENTION_H_
#define HEDDLE_GENERATOR_OPERATIONS_DECODE_ATTENTION_DECODE_ATTENTION_H_

#include <vector>

#include "generator/spec/fields.h"
#include "heddle/error.h"
#include "heddle/spec.h"

namespace heddle {

const FieldTable& decode_attention_fields();
// Operation::problems() of a struct.
std::vector<Problem> check_meaning(const DecodeAttentionSpec& spec);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_OPERATIONS_DECODE_ATTENTION_DECODE_ATTENTION_H_

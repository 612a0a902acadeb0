// Meaning: the rules between fields, which JSON Schema cannot say and parse() does not check.
#ifndef HEDDLE_GENERATOR_SPEC_MEANING_H_
#define HEDDLE_GENERATOR_SPEC_MEANING_H_

#include <vector>

#include "heddle/error.h"
#include "heddle/spec.h"

namespace heddle {

// Everything that makes the spec senseless or not servable on any target, each with its pointer
// and the reason; empty if there is nothing. What depends on the target or on which kernels exist
// is the planner's. Pure; precondition: every value is inside its field's range.
std::vector<Problem> check_meaning(const GemmSpec& gemm);
// The same for the operation `op`, one on weights alone.
std::vector<Problem> check_meaning(Op op, const WeightOpSpec& spec);
// The same for operations on a cache and on rows. Precondition: the spec's cache is complete, as
// Spec has it.
std::vector<Problem> check_meaning(const KvAppendSpec& spec);
std::vector<Problem> check_meaning(const DecodeAttentionSpec& spec);
std::vector<Problem> check_meaning(const RowTransformSpec& spec);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_SPEC_MEANING_H_

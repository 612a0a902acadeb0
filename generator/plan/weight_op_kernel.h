// What the resolvers of operations on weights share.
#ifndef HEDDLE_GENERATOR_PLAN_WEIGHT_OP_KERNEL_H_
#define HEDDLE_GENERATOR_PLAN_WEIGHT_OP_KERNEL_H_

#include <string>

#include "heddle/plan.h"

namespace heddle {

// "heddle_<operation>_<source>_<codes>_n<N>_k<K>_<group>"
std::string weight_op_kernel_name(const Spec& spec, std::string_view source);

// How many blocks of the kernel an SM holds, at most `most`, by its threads and shared memory.
int blocks_that_fit(const Target& target, const TileKernel& kernel, int most);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLAN_WEIGHT_OP_KERNEL_H_

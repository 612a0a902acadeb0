// What the resolvers of operations on weights share.
#ifndef HEDDLE_GENERATOR_PLAN_WEIGHT_OP_KERNEL_H_
#define HEDDLE_GENERATOR_PLAN_WEIGHT_OP_KERNEL_H_

#include <string>
#include <string_view>
#include <vector>

#include "generator/families/tile_kernel.h"
#include "heddle/error.h"
#include "heddle/plan.h"

namespace heddle {

// What is wrong with the spec of every operation on weights, on any target and on this one.
std::vector<Problem> refuse_weight_op(const Spec& spec, const Target& target);

// "heddle_<operation>_<types>_<weight>_n<N>_k<K>"; `types`: the format or dtype that is read, then
// the one that is written, where the operation leaves it open.
std::string weight_op_kernel_name(const Spec& spec, std::string_view types);

// How many blocks of the kernel an SM holds, at most `most`, by its threads and shared memory.
int blocks_that_fit(const Target& target, const TileKernel& kernel, int most);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_PLAN_WEIGHT_OP_KERNEL_H_

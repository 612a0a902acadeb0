// Every family of kernels, by operation; the list is generator/spec/operation_list.h.
#ifndef HEDDLE_GENERATOR_FAMILIES_REGISTRY_H_
#define HEDDLE_GENERATOR_FAMILIES_REGISTRY_H_

#include <vector>

#include "generator/families/family.h"
#include "generator/families/gemm_family.h"

namespace heddle {

// Those that an operation's kernels are chosen from. Never empty.
const std::vector<const Family*>& families_of(Op op);
// Those whose kernels run before the chosen one.
const std::vector<const Family*>& families_before(Op op);
// All families of GEMMs, in the same order.
const std::vector<const GemmFamily*>& gemm_families();

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_REGISTRY_H_

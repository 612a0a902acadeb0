// Every family of kernels.
#ifndef HEDDLE_GENERATOR_FAMILIES_REGISTRY_H_
#define HEDDLE_GENERATOR_FAMILIES_REGISTRY_H_

#include <vector>

#include "generator/families/family.h"
#include "generator/families/gemm_family.h"

namespace heddle {

const std::vector<const Family*>& kernel_families();
// Those of them that multiply.
const std::vector<const GemmFamily*>& gemm_families();

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_REGISTRY_H_

// Every family of kernels.
#ifndef HEDDLE_GENERATOR_FAMILIES_REGISTRY_H_
#define HEDDLE_GENERATOR_FAMILIES_REGISTRY_H_

#include <string_view>
#include <vector>

#include "generator/families/family.h"

namespace heddle {

const std::vector<const Family*>& kernel_families();

// The one of that name. Throws Error(kInternal, "families.unknown").
const Family& family_named(std::string_view name);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_REGISTRY_H_

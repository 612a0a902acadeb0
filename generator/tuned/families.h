#ifndef HEDDLE_GENERATOR_TUNED_FAMILIES_H_
#define HEDDLE_GENERATOR_TUNED_FAMILIES_H_

#include <string_view>
#include <vector>

#include "generator/families/gemm_family.h"

namespace heddle {

// The names that a table may have for families.
std::vector<std::string_view> tuned_family_names();

// Precondition: the family is one of tuned_family_names().
const GemmFamily& tuned_family(std::string_view name);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_TUNED_FAMILIES_H_

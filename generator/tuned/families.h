#ifndef HEDDLE_GENERATOR_TUNED_FAMILIES_H_
#define HEDDLE_GENERATOR_TUNED_FAMILIES_H_

#include <span>
#include <string_view>
#include <vector>

#include "generator/families/costs.h"

namespace heddle {

// The names that a table may have for families.
std::vector<std::string_view> tuned_family_names();

// The costs that this version of the library has for a family.
struct TunedFamilyCosts {
  int version = 1;
  std::span<const CostParameter> parameters;
};

// Precondition: the family is one of tuned_family_names().
TunedFamilyCosts tuned_family_costs(std::string_view name);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_TUNED_FAMILIES_H_
